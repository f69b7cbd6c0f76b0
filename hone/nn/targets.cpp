#include "hone/nn/targets.h"

#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/tensor/interpreter.h"

namespace hone::nn {
namespace {

bool ends_in_one(const Tensor& x) { return x.rank() > 0 && x.shape().dim(-1) == Dim(1); }

[[noreturn]] void fail(std::string what, const char* a_name, const Tensor& a, const char* b_name, const Tensor& b,
                       std::string fix, Location location) {
  throw Error(Code::kInvalidArgument,
              {.what = std::move(what),
               .location = LocationScope::resolve(location),
               .details = {fmt::format("{}: {}   {}: {}", a_name, to_string(a.type()), b_name, to_string(b.type()))},
               .fix = std::move(fix)});
}

void match_longer(Tensor& longer, Tensor& shorter) {
  if (!ends_in_one(longer)) return;
  if (shorter.rank() == 1)
    shorter = expand_dims(shorter, -1);
  else
    longer = squeeze(longer, {-1});
}

}  // namespace

void match_ranks(Tensor& a, Tensor& b) {
  if (a.rank() == b.rank() + 1)
    match_longer(a, b);
  else if (b.rank() == a.rank() + 1)
    match_longer(b, a);
}

void check_same_shape(const Tensor& y_true, const Tensor& y_pred, const char* what, Location location) {
  if (y_true.shape() == y_pred.shape()) return;
  fail(fmt::format("shape mismatch in {}", what), "y_true", y_true, "y_pred", y_pred,
       "give y_true the shape of the model's output", location);
}

Tensor sparse_labels(const Tensor& y_true, const Tensor& y_pred, const char* what, Location location) {
  if (y_pred.rank() < 1)
    fail(fmt::format("rank mismatch in {}", what), "y_true", y_true, "y_pred", y_pred, "y_pred must be [..., classes]",
         location);
  Shape wanted;
  for (int i = 0; i + 1 < y_pred.rank(); ++i) wanted.push_back(y_pred.shape()[static_cast<size_t>(i)]);
  Tensor labels = y_true;
  if (labels.rank() == y_pred.rank() && ends_in_one(labels)) labels = squeeze(labels, {-1});
  if (!(labels.shape() == wanted)) {
    const bool one_hot = y_true.shape() == y_pred.shape();
    fail(fmt::format("shape mismatch in {}", what), "y_true", y_true, "y_pred", y_pred,
         one_hot ? "labels are class numbers here; use the categorical form for one-hot labels"
                 : "labels must be " + to_string(wanted) + ", one for each row of y_pred",
         location);
  }
  if (is_floating(labels.dtype())) labels = where(is_nan(labels), -1, labels);
  return is_integer(labels.dtype()) ? labels : cast(labels, i64);
}

Tensor match_weights(const Tensor& values, Tensor weights, Location location) {
  if (weights.rank() == values.rank() + 1 && ends_in_one(weights)) weights = squeeze(weights, {-1});
  const auto prefix = [&] {
    if (weights.rank() > values.rank()) return false;
    for (int i = 0; i < weights.rank(); ++i) {
      const Dim extent = weights.shape()[static_cast<size_t>(i)];
      if (!(extent == values.shape()[static_cast<size_t>(i)]) && !(extent == Dim(1))) return false;
    }
    return true;
  };
  if (!prefix()) {
    fail("the sample weights do not fit", "values", values, "sample_weight", weights,
         "give one weight a sample, [n], or one a value", location);
  }
  while (weights.rank() < values.rank()) weights = expand_dims(weights, -1);
  return broadcast_to(cast(weights, values.dtype()), values.shape());
}

Tensor in_float(const Tensor& x) { return x.dtype() == f64 ? x : cast(x, f32); }

}  // namespace hone::nn
