#include "hone/ops/spatial.h"

#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/ops/window_bound.h"

namespace hone {

Ints Sizes::expand(int axes, const char* what) const {
  const bool fits = values_.size() == 1 || static_cast<int>(values_.size()) == axes;
  bool positive = true;
  for (int64_t value : values_) positive = positive && value >= 1 && value <= kMaxWindow;
  if (!fits || !positive) {
    throw Error(Code::kInvalidArgument,
                {.what = fmt::format("invalid {}", what),
                 .details = {fmt::format("expected: one number from 1 to 2^30, or {}, got: [{}]", axes,
                                         fmt::join(values_.begin(), values_.end(), ", "))},
                 .fix = "give one number for all spatial axes or one for each"});
  }
  return values_.size() == 1 ? Ints(static_cast<size_t>(axes), values_[0]) : values_;
}

Padding::Padding(std::string_view name) : kind_(name == "same" || name == "SAME" ? Kind::Same : Kind::Valid) {
  if (kind_ == Kind::Valid && name != "valid" && name != "VALID") {
    throw Error(Code::kInvalidArgument, fmt::format("unknown padding \"{}\"", name),
                "use \"same\", \"valid\", or pairs {before, after}");
  }
}

Padding::Padding(std::initializer_list<std::pair<int64_t, int64_t>> each) : kind_(Kind::Explicit) {
  for (const auto& [low, high] : each) {
    if (std::min(low, high) < -kMaxWindow || std::max(low, high) > kMaxWindow) {
      throw Error(Code::kInvalidArgument, fmt::format("padding {{{}, {}}} is beyond 2^30", low, high),
                  "pad by less, or cut with a slice");
    }
    low_.push_back(low), high_.push_back(high);
  }
}

void Padding::resolve(std::span<const Dim> input, const Ints& window, const Ints& strides, Ints& low,
                      Ints& high) const {
  const size_t axes = input.size();
  if (kind_ == Kind::Explicit && low_.size() != axes) {
    throw Error(Code::kInvalidArgument, fmt::format("padding has {} pairs for {} spatial axes", low_.size(), axes),
                "give one pair {before, after} for each spatial axis");
  }
  low = high = Ints(axes, 0);
  if (kind_ == Kind::Explicit) low = low_, high = high_;
  if (kind_ != Kind::Same) return;
  for (size_t i = 0; i < axes; ++i) {
    int64_t total = window[i] - 1;  // with stride 1 it does not depend on the input
    if (strides[i] != 1) {
      if (!input[i].is_number()) {
        throw Error(Code::kInvalidArgument,
                    fmt::format("padding \"same\" with stride {} needs a known extent, got {}", strides[i],
                                to_string(input[i])),
                    "give the padding as pairs, or fix the spatial size");
      }
      const int64_t n = input[i].number(), results = (n + strides[i] - 1) / strides[i];
      total = std::max<int64_t>((results - 1) * strides[i] + window[i] - n, 0);
    }
    low[i] = total / 2;
    high[i] = total - low[i];
  }
}

}  // namespace hone
