// Works of a kernel call: what it does as loops over plain memory (math/work.h), for whoever runs calls without
// tensors.
#pragma once
#include <cstring>
#include <memory>
#include <vector>

#include "hone/base/small_vector.h"
#include "hone/compiler/map_description.h"
#include "hone/math/work.h"
#include "hone/ops/attrs.h"
#include "hone/ops/kernel.h"

namespace hone {

/// Bytes of an operand, a result, or a temporary of the call.
struct WorkMemory {
  enum Kind : uint8_t { Input, Output, Temporary } kind = Input;
  int32_t index = 0;
  int64_t offset = 0;  ///< bytes
};

/// One loop. Loops of a call run one after another; the ranges of one in any order.
struct Work {
  math::WorkId function;
  std::vector<std::byte> params;  ///< the function's struct
  SmallVector<WorkMemory, 4> memory;
  int64_t count = 1;                                          ///< items
  int64_t grain = 1;                                          ///< items that are worth a thread
  int64_t scratch = 0;                                        ///< bytes for each thread at work
  std::shared_ptr<const compiler::MapDescription> cluster{};  ///< of math::WorkId::Map: what its code computes

  template <class Params>
  static Work of(math::WorkId function, const Params& params) {
    static_assert(std::is_trivially_copyable_v<Params>);
    Work work{function, std::vector<std::byte>(sizeof params), {}};
    std::memcpy(work.params.data(), &params, sizeof params);
    return work;
  }
};

/// Functions of clusters need code (WorkArgs::code), which the evaluator has not: their kernels run otherwise.
struct Works {
  std::vector<Work> works;
  std::vector<int64_t> temporaries;  ///< bytes of each; 64-byte aligned, of no content at first
};

/// One loop over all operands and results of a call.
template <class Params>
Works one_work(const KernelQuery& query, math::WorkId function, const Params& params, int64_t count, int64_t grain) {
  Works works;
  if (count == 0) return works;
  Work work = Work::of(function, params);
  for (size_t i = 0; i < query.inputs.size(); ++i) work.memory.push_back({WorkMemory::Input, static_cast<int32_t>(i)});
  for (size_t i = 0; i < query.outputs.size(); ++i)
    work.memory.push_back({WorkMemory::Output, static_cast<int32_t>(i)});
  work.count = count, work.grain = grain;
  works.works.push_back(std::move(work));
  return works;
}

/// Of the functions that works.def lists by TYPES or NUMBERS, from the one of f32 on.
inline math::WorkId typed_work(math::WorkId of_f32, DType dtype) {
  return static_cast<math::WorkId>(static_cast<int>(of_f32) + static_cast<int>(dtype));
}
/// By INTS, from i8 on (bool follows u64), and by WIDE, which has no 16-bit floats.
inline math::WorkId int_work(math::WorkId of_i8, DType dtype) {
  return static_cast<math::WorkId>(static_cast<int>(of_i8) + static_cast<int>(dtype) - static_cast<int>(i8));
}
inline math::WorkId wide_work(math::WorkId of_f32, DType dtype) {
  return static_cast<math::WorkId>(static_cast<int>(of_f32) + static_cast<int>(dtype) -
                                   (is_floating(dtype) ? 0 : static_cast<int>(i8) - 2));
}
/// By PANELS: integers by their bytes.
inline math::WorkId panel_work(math::WorkId of_f32, DType dtype) {
  const size_t item = size_of(dtype);
  const int place = is_floating(dtype) ? static_cast<int>(dtype) : item == 1 ? 2 : item == 2 ? 3 : item == 4 ? 4 : 5;
  return static_cast<math::WorkId>(static_cast<int>(of_f32) + place);
}
/// By COMBINED: `combine` is an op's attribute, Sum or behind it.
inline math::WorkId combined_work(math::WorkId sum_of_f32, math::WorkId prod_of_f32, int64_t combine, DType dtype) {
  const int each = static_cast<int>(prod_of_f32) - static_cast<int>(sum_of_f32);
  const int kind = static_cast<int>(combine) - static_cast<int>(Combine::Sum);
  return static_cast<math::WorkId>(static_cast<int>(sum_of_f32) + kind * each + static_cast<int>(dtype));
}

/// A dense copy of a tensor, which has a layout and no elements: the call's operand 0 into its result 0.
Works copy_works(const Tensor& from);
/// A box between any places; `item`: bytes of an element.
struct Box;
Work box_work(const Box& box, size_t item, WorkMemory from, WorkMemory to);

/// Runs call.prepared, which is Works.
void run_works(const KernelCall& call);
/// The same by the functions of a level (Kernels::works).
void run_works(const KernelCall& call, const math::WorkFn* functions);

/// A kernel that is nothing but its works.
template <Works (*kWorks)(const KernelQuery&)>
Kernel works_kernel(const char* name, const char* (*refuses)(const KernelQuery&)) {
  return {
      .name = name,
      .refuses = refuses,
      .run = static_cast<void (*)(const KernelCall&)>(run_works),
      .prepare =
          [](const KernelQuery& query) { return std::shared_ptr<const void>(std::make_shared<Works>(kWorks(query))); },
      .works = kWorks};
}
}  // namespace hone
