// Dataset::map: the function must take the components of an element in their order, as f(Tensor, Tensor) for a Dataset<Tensor, Tensor>
#include "hone/data/data.h"

void normalize(const hone::Tensor& images, const hone::Tensor& labels) {
  hone::data::from_tensor_slices(images, labels).map([](hone::Tensor image) { return image; });
}
