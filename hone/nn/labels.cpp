// check_labels: what is wrong with labels, before a loss turns it into NaN.
#include <fmt/format.h>

#include <cmath>

#include "hone/base/error.h"
#include "hone/nn/loss.h"
#include "hone/tensor/half.h"
#include "hone/tensor/interpreter.h"

namespace hone::nn {
namespace {

// "[3, 0]", the place of element i.
std::string place(const Shape& shape, int64_t i) {
  const Ints dims = shape.numbers();
  std::string text;
  for (size_t axis = dims.size(); axis-- > 0;) {
    text = std::to_string(i % dims[axis]) + (text.empty() ? "" : ", ") + text;
    i /= dims[axis];
  }
  return "[" + text + "]";
}

[[noreturn]] void fail(const Tensor& labels, int64_t i, double value, int64_t classes, Location location) {
  ErrorParts parts{.location = LocationScope::resolve(location)};
  parts.details = {fmt::format("labels: {}", to_string(labels.type())),
                   fmt::format("expected: integers from 0 to {}", classes - 1)};
  const std::string at = place(labels.shape(), i);
  Code code = Code::kOutOfRange;
  if (std::isnan(value)) {
    code = Code::kNumerical;
    parts.what = fmt::format("label {} is NaN", at);
    parts.fix = "drop rows without a label, or repair the file that they come from";
  } else if (std::isfinite(value) && value != std::floor(value)) {
    code = Code::kInvalidArgument;
    parts.what = fmt::format("label {} is {}, a fraction", at, value);
    parts.fix = "class labels are integers; for a regression use MeanSquaredError";
  } else {
    parts.what = fmt::format("label {} is {}, but the model has {} classes", at, value, classes);
    if (value == static_cast<double>(classes))
      parts.fix = "labels that count from 1 need labels - 1; otherwise give the last layer one more unit";
    else if (value < 0)
      parts.fix = "labels count from 0; drop such rows, or use ignore_class to skip them";
    else
      parts.fix = fmt::format("give the last layer more than {} units, or map the labels to 0..{}",
                              static_cast<int64_t>(value), classes - 1);
  }
  throw Error(code, std::move(parts));
}

}  // namespace

void check_labels(const Tensor& labels, int64_t classes, std::optional<int64_t> ignore, Location location) {
  const Tensor packed = labels.dense();
  const void* data = packed.raw();
  visit_dtype(packed.dtype(), [&](auto kind) {
    using T = decltype(kind);
    const T* values = static_cast<const T*>(data);
    const int64_t count = packed.size();
    for (int64_t i = 0; i < count; ++i) {
      const double value = to_double(values[i]);
      if (value >= 0 && value < static_cast<double>(classes) && value == std::floor(value)) continue;
      if (ignore && value == static_cast<double>(*ignore)) continue;
      fail(packed, i, value, classes, location);
    }
  });
}

}  // namespace hone::nn
