// data::from_tensor_slices: all arguments must be Tensors
#include <vector>

#include "hone/data/data.h"

void slices(const hone::Tensor& images, const std::vector<int>& labels) {
  hone::data::from_tensor_slices(images, labels);
}
