// Sort, top_k and running reductions (math/sort_works.h): lanes in parallel, each in sequence.
#include <algorithm>

#include "hone/backend/cpu/movement.h"
#include "hone/compiler/works.h"
#include "hone/math/sort_works.h"
#include "hone/ops/attrs.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

using math::WorkId;

// A shape seen from one axis: [outer, extent, inner].
struct Lanes {
  int64_t outer = 1;
  math::LaneParams params{1, 1, 0, 0};
  Lanes(const Shape& shape, int64_t axis, bool backwards) {
    for (int i = 0; i < shape.rank(); ++i)
      (i < axis ? outer : i == axis ? params.extent : params.inner) *= shape[i].number();
    params.backwards = backwards;
  }
};

Works cumulative_works(const KernelQuery& query) {
  const auto& attrs = query.attrs.as<CumulativeAttrs>();
  const Lanes lanes(query.outputs[0].shape, attrs.axis, attrs.reverse);
  const math::LaneParams& p = lanes.params;
  const int64_t blocks = (p.inner + math::kLaneColumns - 1) / math::kLaneColumns;
  const int64_t work = std::max<int64_t>(1, p.extent * std::min(math::kLaneColumns, p.inner));
  return one_work(
      query, combined_work(WorkId::CumulativeSumF32, WorkId::CumulativeProdF32, attrs.combine, query.inputs[0].dtype()),
      p, lanes.outer * blocks, std::max<int64_t>(1, 16384 / work));
}

const char* refuses_sort(const KernelQuery& query) {
  return query.outputs[0].shape[query.attrs.as<SortAttrs>().axis].number() > UINT32_MAX
             ? "axis of 2^32 elements or more"
             : nullptr;
}

// One array is sorted as it is; of several the first gives the order.
Works sort_works(const KernelQuery& query) {
  const auto& attrs = query.attrs.as<SortAttrs>();
  const Shape& shape = query.outputs[0].shape;
  if (shape.count() == 0) return {};
  const Lanes lanes(shape, attrs.axis, attrs.descending);
  math::LaneParams p = lanes.params;
  const DType keys = query.inputs[0].dtype();
  const int64_t count = lanes.outer * p.inner, grain = std::max<int64_t>(1, 4096 / p.extent);
  if (query.inputs.size() == 1) {
    Works works = one_work(query, typed_work(WorkId::SortF32, keys), p, count, grain);
    works.works[0].scratch = 2 * p.extent * static_cast<int64_t>(size_of(compute_type(keys)));
    return works;
  }
  Works works;
  const WorkMemory order{WorkMemory::Temporary, 0};
  works.temporaries.push_back(shape.count() * static_cast<int64_t>(sizeof(uint32_t)));
  Work find = Work::of(typed_work(WorkId::SortOrderF32, keys), p);
  find.memory = {{WorkMemory::Input, 0}, order};
  find.count = count, find.grain = grain;
  find.scratch = 2 * p.extent * math::kMostSortEntry;
  works.works.push_back(std::move(find));
  for (size_t i = 0; i < query.inputs.size(); ++i) {
    p.item = static_cast<int32_t>(size_of(query.inputs[i].dtype()));
    Work move = Work::of(WorkId::Permute, p);
    move.memory = {order, {WorkMemory::Input, static_cast<int32_t>(i)}, {WorkMemory::Output, static_cast<int32_t>(i)}};
    move.count = count, move.grain = 4 * grain;
    works.works.push_back(std::move(move));
  }
  return works;
}

Works top_k_works(const KernelQuery& query) {
  const Shape& shape = query.inputs[0].shape();
  const math::TopKParams p{shape.back().number(), query.attrs.as<TopKAttrs>().k};
  if (query.outputs[0].shape.count() == 0) return {};
  Works works = one_work(query, typed_work(WorkId::TopKF32, query.inputs[0].dtype()), p, shape.count() / p.n,
                         std::max<int64_t>(1, 4096 / p.n));
  works.works[0].scratch = p.k * static_cast<int64_t>(sizeof(int32_t));
  return works;
}

}  // namespace

void install_cpu_sorting() {
  Kernel cumulative = works_kernel<cumulative_works>("cpu.cumulative", nullptr);
  cumulative.in_place = true;
  add_kernels(ops::cumulative, {cumulative});
  add_kernels(ops::sort, {works_kernel<sort_works>("cpu.sort", refuses_sort)});
  add_kernels(ops::top_k, {works_kernel<top_k_works>("cpu.top_k", nullptr)});
}

}  // namespace hone
