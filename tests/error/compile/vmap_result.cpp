// a function under vmap returns a Tensor, or a pair, tuple, array or vector of Tensors
#include "hone/function/vmap.h"

void total(const hone::Tensor& x) {
  hone::vmap([](const hone::Tensor& v) { return v.item<float>(); })(x);
}
