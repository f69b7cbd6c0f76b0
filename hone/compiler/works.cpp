#include "hone/compiler/works.h"

#include <algorithm>

#include "hone/ops/box.h"
#include "hone/ops/views.h"

namespace hone {

Work box_work(const Box& box, size_t item, WorkMemory from, WorkMemory to) {
  constexpr int64_t kGrainBytes = 128 << 10;  // what is worth a thread
  const math::BoxLoops loops = box_loops(box, item);
  Work work = Work::of(math::WorkId::Copy, loops);
  work.memory = {from, to};
  work.count = loops.outer * loops.rows;
  work.grain = std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(loops.columns * loops.item, 1));
  return work;
}

Works copy_works(const Tensor& from) {
  Works works;
  works.works.push_back(box_work({from.shape().numbers(), dense_strides(from.shape()), strides_of(from)},
                                 size_of(from.dtype()), {WorkMemory::Input, 0}, {WorkMemory::Output, 0}));
  return works;
}

}  // namespace hone
