#include "hone/ops/contraction.h"

#include <gtest/gtest.h>

#include "hone/base/error.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"

namespace hone {
namespace {

// A constant is one element of memory; the bias must not be read beyond it.
TEST(Dense, TakesAConstantForItsBias) {
  for (int64_t k : {3, 70}) {  // small products and the library's
    const Tensor x = ones({k, k}), w = ones({k, k});
    const std::vector<float> expected(static_cast<size_t>(k * k), static_cast<float>(k) + 2);
    EXPECT_EQ(dense(x, w, full({k}, 2, f32)).to_vector<float>(), expected);
    EXPECT_EQ(dense(x, w, broadcast_to(Tensor::of<float>({2}), {k})).to_vector<float>(), expected);
  }
}

TEST(ReducePrecision, RefusesFormatsThatDoNotExist) {
  const Tensor x = Tensor::of<float>({1.2345F});
  for (const auto& [exponent, mantissa] : {std::pair(0, 3), std::pair(-1, 3), std::pair(5, -1), std::pair(65, 3)})
    EXPECT_THROW(reduce_precision(x, exponent, mantissa), Error);
  EXPECT_EQ(reduce_precision(x, 8, 7).item<float>(), cast(cast(x, bf16), f32).item<float>());
}

}  // namespace
}  // namespace hone
