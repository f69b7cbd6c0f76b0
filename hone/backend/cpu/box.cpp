#include "hone/backend/cpu/box.h"

#include <algorithm>
#include <utility>

#include "hone/base/parallel.h"

namespace hone {

using math::BoxLoops;
using math::level::copy_box;

namespace {

constexpr int64_t kGrainBytes = 128 << 10;  // what is worth a thread

}  // namespace

void BoxCopy::run(std::byte* to, const std::byte* from) const {
  if (loops_.inner == BoxLoops::Run && loops_.outer * loops_.rows == 1)
    math::level::box_detail::copy_run(to, from, loops_.columns * loops_.item);
  else if (loops_.outer > 0)
    copy_box(loops_, to, from, {0, loops_.outer * loops_.rows, 0, loops_.columns});
}

void BoxCopy::run_parallel(std::byte* to, const std::byte* from) const {
  if (bytes() <= kGrainBytes) return run(to, from);
  const int64_t rows = loops_.outer * loops_.rows;
  if (rows >= 4 * threads()) {
    const int64_t grain = std::max<int64_t>(1, kGrainBytes / (loops_.columns * loops_.item));
    parallel_for(
        rows, grain, [&](int64_t begin, int64_t end) { copy_box(loops_, to, from, {begin, end, 0, loops_.columns}); },
        loops_.inner == BoxLoops::Tile ? 16 : 1);
  } else {
    const int64_t grain = std::max<int64_t>(1, kGrainBytes / (rows * loops_.item));
    parallel_for(loops_.columns, grain,
                 [&](int64_t begin, int64_t end) { copy_box(loops_, to, from, {0, rows, begin, end}); });
  }
}

void fill_box(std::byte* to, const std::byte* element, const Ints& size, const Ints& strides, size_t item) {
  copy_box(to, element, {size, strides, Ints(size.size(), 0)}, item);
}

}  // namespace hone
