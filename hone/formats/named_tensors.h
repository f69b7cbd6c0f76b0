// What files of several arrays hold.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hone/tensor/tensor.h"

namespace hone::formats {

/// Names and arrays in the order of the file.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// The array with this name; Error kNotFound lists the names there are.
const Tensor& find(const NamedTensors& tensors, std::string_view name);

}  // namespace hone::formats
