#include "hone/optim/clipping.h"

#include <fmt/format.h>

#include <cmath>

#include "hone/base/error.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/reduction.h"

namespace hone::optim {
namespace {

Tensor squared_norm(const Tensor& gradient) { return sum(square(cast(gradient, compute_type(gradient.dtype())))); }

void scale(Tensor& gradient, const Tensor& factor) {
  const Tensor same_type = cast(factor, gradient.dtype());
  gradient = std::move(gradient) * same_type;
}

// factor = limit min(1 / norm, 1 / limit); a norm that is not finite makes all gradients NaN, so that it is noticed.
void clip_global(double limit, std::span<Tensor> gradients) {
  Tensor total;
  for (const Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    const Tensor part = squared_norm(gradient);
    total = total.defined() ? total + part : part;
  }
  const Tensor norm = sqrt(total);
  const Tensor factor = minimum(reciprocal(norm), 1 / limit) * limit + (norm - norm);
  for (Tensor& gradient : gradients) {
    if (gradient.defined()) scale(gradient, factor);
  }
}

}  // namespace

void check_clipping(const Clipping& clipping) {
  int set = 0;
  const auto check = [&](const char* name, const std::optional<double>& value) {
    if (!value) return;
    ++set;
    if (!(std::isfinite(*value) && *value > 0)) {
      throw Error(Code::kInvalidArgument, fmt::format("{} is {}", name, *value), "it must be a finite number > 0");
    }
  };
  check("clipnorm", clipping.clipnorm), check("clipvalue", clipping.clipvalue),
      check("global_clipnorm", clipping.global_clipnorm);
  if (set > 1) throw Error(Code::kInvalidArgument, "only one of clipnorm, clipvalue and global_clipnorm can be set");
}

void clip(const Clipping& clipping, std::span<Tensor> gradients) {
  if (clipping.global_clipnorm) return clip_global(*clipping.global_clipnorm, gradients);
  for (Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    if (clipping.clipvalue) gradient = clamp(-*clipping.clipvalue, std::move(gradient), *clipping.clipvalue);
    if (const std::optional<double>& limit = clipping.clipnorm)
      scale(gradient, *limit / maximum(sqrt(squared_norm(gradient)), *limit));
  }
}

}  // namespace hone::optim
