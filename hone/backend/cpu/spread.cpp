#include "hone/backend/cpu/spread.h"

#include <algorithm>
#include <cstring>

namespace hone {
void repeat(std::byte* to, const std::byte* from, size_t item, int64_t n) {
  const size_t total = static_cast<size_t>(n) * item;
  std::memcpy(to, from, item);
  for (size_t done = item; done < total; done *= 2) std::memcpy(to + done, to, std::min(done, total - done));
}

// Axes of extent 1 vanish; neighbours that one stride walks become one.
void Spreader::collapse(const Shape& shape, const Ints& strides) {
  FixedVector<Axis, kMaxRank> axes;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const Axis axis{shape[i].number(), strides[i]};
    if (axis.extent == 1) continue;
    if (!axes.empty() && axes.back().extent * axes.back().stride == axis.stride) {
      axes.back().extent *= axis.extent;
    } else {
      axes.push_back(axis);
    }
  }
  int64_t elements = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    elements *= axes[i].extent;
    if (axes[i].stride != 0) period_ = elements;
    i == 0 ? static_cast<void>(inner_ = axes[0]) : outer_.push_back(axes[i]);
  }
}

const std::byte* Spreader::address(int64_t element) const {
  int64_t offset = element % inner_.extent * inner_.stride;
  element /= inner_.extent;
  for (const Axis& axis : outer_) {
    offset += element % axis.extent * axis.stride;
    element /= axis.extent;
  }
  return base_ + offset * static_cast<int64_t>(item_);
}

std::optional<int64_t> Spreader::step(int64_t n) const {
  const auto item = static_cast<int64_t>(item_);
  if (outer_.empty()) return inner_.extent == n ? 0 : n * inner_.stride * item;
  if (inner_.extent != n || outer_.size() > 1) return {};
  return outer_[0].stride * item;
}

const std::byte* Spreader::block(std::byte* scratch, int64_t begin, int64_t n) {
  const int64_t at = begin % inner_.extent;
  if (at + n <= inner_.extent && inner_.stride <= 1 && inner_.stride >= 0) {
    const std::byte* from = address(begin);
    if (inner_.stride == 1) return from;
    if (from != held_ || n > held_count_) {
      repeat(scratch, from, item_, n);
      held_ = from, held_count_ = n;
    }
    return scratch;
  }
  const bool whole_periods = begin % period_ == 0;
  if (whole_periods && held_ == base_ && n <= held_count_) return scratch;
  copy(scratch, begin, n);
  held_ = whole_periods ? base_ : nullptr, held_count_ = n;
  return scratch;
}

void Spreader::copy(std::byte* to, int64_t begin, int64_t n) const {
  while (n > 0) {
    const int64_t run = std::min(n, inner_.extent - begin % inner_.extent);
    const std::byte* from = address(begin);
    if (inner_.stride == 1) {
      std::memcpy(to, from, static_cast<size_t>(run) * item_);
    } else if (inner_.stride == 0) {
      repeat(to, from, item_, run);
    } else {
      const int64_t step = inner_.stride * static_cast<int64_t>(item_);
      for (int64_t i = 0; i < run; ++i) std::memcpy(to + i * static_cast<int64_t>(item_), from + i * step, item_);
    }
    to += run * static_cast<int64_t>(item_);
    begin += run, n -= run;
  }
}

BlockCuts::BlockCuts(std::span<const Tensor> operands, int64_t block) : block_(block) {
  int64_t period = 1;
  for (const Tensor& operand : operands) {
    if (operand.layout().dense) continue;
    const Spreader spreader(operand, size_of(operand.dtype()));
    if (spreader.run() >= kLongRun) row_ = std::max(row_, spreader.run());
    if (spreader.period() <= block) period = std::max(period, spreader.period());
  }
  if (row_ == 0) block_ = block / period * period;
}

}  // namespace hone
