// What the tests of bundles share.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "hone/data/data.h"
#include "hone/formats/damage_test.h"
#include "hone/function/tape.h"
#include "hone/nn/core.h"
#include "hone/ops/creation.h"
#include "hone/ops/movement.h"
#include "hone/train/model.h"

namespace hone::nn {

/// 0, 1, ... scaled into [-1, 1): values that differ from one another.
inline Tensor ramp(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.count()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 101) / 50.5F - 1;
  return Tensor::from(values, shape);
}

inline bool same_weights(const Layer& a, const Layer& b) {
  const auto x = a.named_variables(), y = b.named_variables();
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i].first != y[i].first || !formats::same(x[i].second, y[i].second)) return false;
  }
  return true;
}

using BundleTest = formats::FormatTest;

}  // namespace hone::nn
