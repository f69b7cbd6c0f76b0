#include "hone/function/check_numerics.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "hone/base/error.h"
#include "hone/tensor/half.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;  // of the finite elements
  int64_t nan = 0, infinite = 0, first = -1, size = 0;
  bool finite() const { return nan == 0 && infinite == 0; }
};

Range range_of(const Tensor& x) {
  Range range;
  range.size = x.size();
  if (x.size() == 0) return range;
  const void* data = x.raw();
  visit_dtype(x.dtype(), [&](auto kind) {
    using T = decltype(kind);
    const auto* elements = static_cast<const T*>(data);
    for (int64_t i = 0; i < range.size; ++i) {
      const double value = to_double(elements[i]);
      if (std::isfinite(value)) {
        range.low = std::min(range.low, value), range.high = std::max(range.high, value);
        continue;
      }
      if (range.first < 0) range.first = i;
      ++(std::isnan(value) ? range.nan : range.infinite);
    }
  });
  return range;
}

std::string text_of(const Tensor& x, const Range& range) {
  const std::string type = to_string(x.type());
  return range.low <= range.high ? fmt::format("{} in [{:g}, {:g}]", type, range.low, range.high) : type;
}

}  // namespace

void check_numerics(const Call& call, std::span<const Tensor> operands) {
  if (operands.empty()) return;
  std::vector<Range> ranges;
  for (const Tensor& operand : operands) {
    ranges.push_back(range_of(operand));
    if (!ranges.back().finite()) return;
  }
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const Tensor& result = call.outputs[i];
    if (!result.defined() || !is_floating(result.dtype())) continue;
    const Range range = range_of(result);
    if (range.finite()) continue;
    ErrorParts parts{.what = fmt::format("{} in the result of {}", range.nan ? "NaN" : "an infinity", call.op.name),
                     .location = call.location};
    parts.details.push_back(fmt::format("result: {}, {} NaN and {} infinite of {} elements, first at flat index {}",
                                        text_of(result, range), range.nan, range.infinite, range.size, range.first));
    std::string_view names = call.op.operands;
    for (size_t k = 0; k < operands.size(); ++k) {
      const auto end = names.find(' ');
      const std::string_view name = names.substr(0, end);
      parts.details.push_back(
          fmt::format("{}: {}", name.empty() ? fmt::format("operand {}", k) : name, text_of(operands[k], ranges[k])));
      if (end != std::string_view::npos) names.remove_prefix(end + 1);
    }
    if (std::string path = LocationScope::path(); !path.empty()) parts.details.push_back("in layer " + path);
    parts.fix = "all operands are finite: bound them before this call, or compute in a wider dtype";
    throw Error(Code::kNumerical, std::move(parts));
  }
}

}  // namespace hone
