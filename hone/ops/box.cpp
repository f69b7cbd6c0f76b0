#include "hone/ops/box.h"

#include <algorithm>

namespace hone {

using math::BoxLoops;

namespace {

// Target order, neighbours joined where both sides run on.
void merge(Box& box) {
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
void widen(Box& box, int64_t& item) {
  if (box.size.size() < 2 || box.to.back() != 1 || box.from.back() != 1) return;
  const int64_t n = box.size.back(), bytes = n * item;
  if (bytes > 8 || (bytes & (bytes - 1)) != 0) return;
  for (size_t i = 0; i + 1 < box.size.size(); ++i) {
    if (box.to[i] % n != 0 || box.from[i] % n != 0) return;
  }
  const size_t rank = box.size.size() - 1;
  box.size.resize(rank), box.to.resize(rank), box.from.resize(rank);
  for (size_t i = 0; i < rank; ++i) box.to[i] /= n, box.from[i] /= n;
  item = bytes;
}

}  // namespace

math::BoxLoops box_loops(Box box, size_t item) {
  BoxLoops loops;
  loops.item = static_cast<int64_t>(item);
  if (box.size.contains(0)) {
    loops.outer = 0;
    return loops;
  }
  merge(box);
  widen(box, loops.item);
  size_t rank = box.size.size();
  if (rank == 0) box.size.push_back(1), box.to.push_back(1), box.from.push_back(1), ++rank;
  const size_t last = rank - 1;
  size_t row = rank;  // the axis of rows: where the source runs on, else the one before the last
  if (box.to[last] == 1 && box.from[last] == 1) {
    loops.inner = BoxLoops::Run;
  } else if (box.to[last] == 1 && box.from[last] == 0) {
    loops.inner = BoxLoops::Fill;
  } else {
    loops.inner = BoxLoops::Strided;
    for (size_t i = 0; i < last; ++i) {
      if (box.to[last] == 1 && box.from[i] == 1) row = i, loops.inner = BoxLoops::Tile;
    }
  }
  if (row == rank && rank > 1) row = rank - 2;
  for (size_t i = 0; i < last; ++i) {
    if (i == row) continue;
    loops.outer_size[loops.outer_rank] = box.size[i];
    loops.outer_to[loops.outer_rank] = box.to[i] * loops.item;
    loops.outer_from[loops.outer_rank++] = box.from[i] * loops.item;
    loops.outer *= box.size[i];
  }
  if (row < rank)
    loops.rows = box.size[row], loops.row_to = box.to[row] * loops.item, loops.row_from = box.from[row] * loops.item;
  loops.columns = box.size[last];
  loops.column_to = box.to[last] * loops.item;
  loops.column_from = box.from[last] * loops.item;
  return loops;
}

}  // namespace hone
