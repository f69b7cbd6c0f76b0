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

BoxCopy::BoxCopy(const Box& box, size_t item) {
  loops_.item = static_cast<int64_t>(item);
  normalize(box);
}

// Target order, neighbours joined where both sides run on.
void BoxCopy::merge(Box& box) const {
  Box out;
  for (size_t i = 0; i < box.size.size(); ++i) {
    if (box.size[i] == 1) continue;
    size_t at = out.size.size();
    while (at > 0 && out.to[at - 1] < box.to[i]) --at;
    out.size.insert(at, box.size[i]);
    out.to.insert(at, box.to[i]);
    out.from.insert(at, box.from[i]);
  }
  for (size_t i = out.size.size(); i-- > 1;) {
    if (out.to[i - 1] != out.to[i] * out.size[i] || out.from[i - 1] != out.from[i] * out.size[i]) continue;
    out.to[i - 1] = out.to[i];
    out.from[i - 1] = out.from[i];
    out.size[i - 1] *= out.size[i];
    out.size.erase(i);
    out.to.erase(i);
    out.from.erase(i);
  }
  box = out;
}

// A last axis that is one machine word becomes the element.
void BoxCopy::widen(Box& box) {
  if (box.size.size() < 2 || box.to.back() != 1 || box.from.back() != 1) return;
  const int64_t n = box.size.back(), bytes = n * loops_.item;
  if (bytes > 8 || (bytes & (bytes - 1)) != 0) return;
  for (size_t i = 0; i + 1 < box.size.size(); ++i) {
    if (box.to[i] % n != 0 || box.from[i] % n != 0) return;
  }
  const size_t rank = box.size.size() - 1;
  box.size.resize(rank), box.to.resize(rank), box.from.resize(rank);
  for (size_t i = 0; i < rank; ++i) box.to[i] /= n, box.from[i] /= n;
  loops_.item = bytes;
}

void BoxCopy::normalize(Box box) {
  if (box.size.contains(0)) {
    loops_.outer = 0;
    return;
  }
  merge(box);
  widen(box);
  size_t rank = box.size.size();
  if (rank == 0) box.size.push_back(1), box.to.push_back(1), box.from.push_back(1), ++rank;
  const size_t last = rank - 1;
  size_t row = rank;  // the axis of rows: where the source runs on, else the one before the last
  if (box.to[last] == 1 && box.from[last] == 1) {
    loops_.inner = BoxLoops::Run;
  } else if (box.to[last] == 1 && box.from[last] == 0) {
    loops_.inner = BoxLoops::Fill;
  } else {
    loops_.inner = BoxLoops::Strided;
    for (size_t i = 0; i < last; ++i) {
      if (box.to[last] == 1 && box.from[i] == 1) row = i, loops_.inner = BoxLoops::Tile;
    }
  }
  if (row == rank && rank > 1) row = rank - 2;
  for (size_t i = 0; i < last; ++i) {
    if (i == row) continue;
    loops_.outer_size[loops_.outer_rank] = box.size[i];
    loops_.outer_to[loops_.outer_rank] = box.to[i] * loops_.item;
    loops_.outer_from[loops_.outer_rank++] = box.from[i] * loops_.item;
    loops_.outer *= box.size[i];
  }
  if (row < rank)
    loops_.rows = box.size[row], loops_.row_to = box.to[row] * loops_.item,
    loops_.row_from = box.from[row] * loops_.item;
  loops_.columns = box.size[last];
  loops_.column_to = box.to[last] * loops_.item;
  loops_.column_from = box.from[last] * loops_.item;
}

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
