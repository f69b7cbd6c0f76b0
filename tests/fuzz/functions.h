// The public functions of ops/, each with a way to draw its arguments.
#pragma once
#include <string>
#include <vector>

#include "tests/fuzz/draw.h"

namespace hone::fuzz {

struct Entry {
  std::string name;
  Call call;
};

std::vector<Entry> elementwise_functions();
std::vector<Entry> shape_functions();    ///< creation, movement, indexing, sorting, reductions
std::vector<Entry> network_functions();  ///< products, convolutions, normalisation, losses, cells, updates

}  // namespace hone::fuzz
