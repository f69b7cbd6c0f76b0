// Dataset::filter: the predicate must return bool or a bool Tensor
#include <string>

#include "hone/data/data.h"

void keep(const hone::Tensor& images) {
  hone::data::from_tensor_slices(images).filter([](const hone::Tensor&) { return std::string("yes"); });
}
