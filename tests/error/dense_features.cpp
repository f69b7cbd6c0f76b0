// error: shape mismatch in dense
//   at tests/error/dense_features.cpp:LINE   dense(zeros({32, 512}));
//   x: f32[32,512]   w: f32[784,10]   bias: f32[10]
//   contracting sizes differ: x axis 1 is 512, w axis 0 is 784
//   in layer dense
//   fix: the layer before gives 512 features; build w as [512, n]
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_dense_features(__FILE__, [](const std::string&) {
  const nn::Dense dense(10);
  dense(zeros({32, 784}));
  dense(zeros({32, 512}));
});
}  // namespace hone::test
