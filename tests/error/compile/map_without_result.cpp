// Dataset::map: the function must return the new element: a value, or a std::tuple of values
#include "hone/data/data.h"

void count(const hone::Tensor& images) {
  int seen = 0;
  hone::data::from_tensor_slices(images).map([seen](hone::Tensor) mutable { ++seen; });
}
