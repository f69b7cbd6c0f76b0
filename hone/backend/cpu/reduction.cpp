// Reductions: which part of the canonical order (math/reduce_kernels.h) each thread computes.
#include <algorithm>
#include <cstring>
#include <limits>

#include "hone/backend/cpu/fused.h"
#include "hone/backend/cpu/install.h"
#include "hone/backend/cpu/isa.h"
#include "hone/backend/cpu/map_works.h"
#include "hone/backend/cpu/reduction.h"
#include "hone/backend/cpu/scratch.h"
#include "hone/base/parallel.h"
#include "hone/compiler/plan.h"
#include "hone/math/index_works.h"
#include "hone/math/reduce_work.h"
#include "hone/ops/attrs.h"
#include "hone/ops/kernel.h"
#include "hone/ops/reduce_steps.h"
#include "hone/ops/table.h"
#include "hone/tensor/half.h"

namespace hone {

void fill_identity(int kind, DType accumulator, void* to, int64_t n) {
  visit_dtype(accumulator, [&](auto type) {
    using T = decltype(type);
    if constexpr (!std::is_same_v<T, Float16> && !std::is_same_v<T, BFloat16>) {
      using L = std::numeric_limits<T>;
      T value{};
      if (kind == math::kReduceSum && std::is_floating_point_v<T>) value = static_cast<T>(-0.0);
      if (kind == math::kReduceProd) value = T(1);
      if (kind == math::kReduceMax) value = L::has_infinity ? static_cast<T>(-L::infinity()) : L::lowest();
      if (kind == math::kReduceMin) value = L::has_infinity ? L::infinity() : L::max();
      if constexpr (std::is_integral_v<T>) {
        if (kind == math::kReduceAnd) value = std::is_same_v<T, bool> ? T(1) : static_cast<T>(-1);
      }
      std::fill_n(static_cast<T*>(to), n, value);
    }
  });
}

namespace {

using math::kReduceBlock;
using math::kReduceColumns;
using math::kReduceGroup;
using math::kReduceRows;

constexpr int64_t kGrain = 32768;  // elements that are worth a thread

int64_t pieces(int64_t n, int64_t size) { return (n + size - 1) / size; }

/// One pass over elements of a type, results in its accumulator's type.
struct Pass {
  const math::ReduceKernels& kernels;
  int64_t item, accumulator;  ///< bytes
  const std::byte* x;
  std::byte* result;

  /// Combines `count` arrays of n that lie one after another into the first: neighbours first.
  void fold(std::byte* parts, int64_t count, int64_t n) const {
    const int64_t bytes = n * accumulator;
    for (int64_t step = 1; step < count; step *= 2) {
      for (int64_t i = 0; i + step < count; i += 2 * step)
        kernels.combine(parts + i * bytes, parts + (i + step) * bytes, n);
    }
  }

  void rows(int64_t outer, int64_t extent) const {
    const int64_t part = kReduceBlock * subtree(outer * pieces(extent, kReduceBlock), kReduceGroup),
                  parts = pieces(extent, part);
    if (parts == 1) {
      parallel_for(
          outer, std::max<int64_t>(1, kGrain / extent),
          [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) kernels.row(x + i * extent * item, extent, result + i * accumulator);
          },
          1);
      return;
    }
    const Scratch<std::byte> partial(outer * parts * accumulator);
    parallel_for(
        outer * parts, std::max<int64_t>(1, kGrain / part),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t from = i % parts * part;
            kernels.row(x + (i / parts * extent + from) * item, std::min(part, extent - from),
                        partial.data() + i * accumulator);
          }
        },
        1);
    for (int64_t i = 0; i < outer; ++i) {
      std::byte* row = partial.data() + i * parts * accumulator;
      fold(row, parts, 1);
      std::memcpy(result + i * accumulator, row, static_cast<size_t>(accumulator));
    }
  }

  void columns(int64_t outer, int64_t extent, int64_t inner) const {
    const int64_t tiles = pieces(inner, kReduceColumns),
                  part_rows = kReduceRows * subtree(outer * tiles * pieces(extent, kReduceRows), kReduceGroup);
    const int64_t parts = pieces(extent, part_rows);
    const Scratch<std::byte> partial(parts == 1 ? 0 : outer * parts * inner * accumulator);
    std::byte* const to = parts == 1 ? result : partial.data();
    const int64_t work = std::min(extent, part_rows) * std::min(inner, kReduceColumns);
    parallel_for(
        outer * parts * tiles, std::max<int64_t>(1, kGrain / work),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t column = i % tiles * kReduceColumns, row = i / tiles % parts * part_rows,
                          block = i / tiles / parts;
            const std::byte* from = x + ((block * extent + row) * inner + column) * item;
            kernels.columns(from, std::min(part_rows, extent - row), inner, std::min(kReduceColumns, inner - column),
                            to + (i / tiles * inner + column) * accumulator);
          }
        },
        1);
    if (parts == 1) return;
    for (int64_t i = 0; i < outer; ++i) {
      std::byte* part = partial.data() + i * parts * inner * accumulator;
      fold(part, parts, inner);
      std::memcpy(result + i * inner * accumulator, part, static_cast<size_t>(inner * accumulator));
    }
  }
};

/// Results of a reduction of nothing: the identity, but +0 for sums.
void fill_empty(int kind, DType dtype, void* to, int64_t count) {
  if (kind == math::kReduceSum)
    std::memset(to, 0, static_cast<size_t>(count) * size_of(dtype));
  else
    fill_identity(kind, dtype, to, count);
}

void run_step(int kind, DType dtype, const ReduceStep& step, const void* x, void* result) {
  const DType accumulator = compute_type(dtype);
  if (step.outer * step.inner == 0) return;
  if (step.extent == 0) return fill_empty(kind, accumulator, result, step.outer * step.inner);
  const Pass pass{kernels().reduce[kind][static_cast<int>(dtype)], static_cast<int64_t>(size_of(dtype)),
                  static_cast<int64_t>(size_of(accumulator)), static_cast<const std::byte*>(x),
                  static_cast<std::byte*>(result)};
  if (step.inner == 1)
    pass.rows(step.outer, step.extent);
  else
    pass.columns(step.outer, step.extent, step.inner);
}

void run_reduce(const KernelCall& call) {
  const int kind = reduce_kind(call.op);
  const DType dtype = call.dtype(), accumulator = compute_type(dtype);
  const int64_t item = static_cast<int64_t>(size_of(accumulator));
  const ReduceSteps steps = reduce_steps(call.in_shape(0), call.attrs.as<AxesAttrs>().axes);
  const int64_t count = call.out_shape().count();
  const bool rounds = accumulator != dtype;
  int64_t largest = 0;  // of the passes' results: the first, unless it is empty
  for (const ReduceStep& step : steps) largest = std::max(largest, step.outer * step.inner * item);
  const size_t buffers = steps.size() - (rounds ? 0 : 1);
  const Scratch<std::byte> a(buffers > 0 ? largest : 0), b(buffers > 1 ? largest : 0);
  const void* from = call.in<std::byte>(0);
  DType type = dtype;
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool last = i + 1 == steps.size();
    void* to = last && !rounds ? call.out<std::byte>() : i % 2 == 0 ? a.data() : b.data();
    run_step(kind, type, steps[i], from, to);
    from = to, type = accumulator;
  }
  if (!rounds) return;
  const math::TileArgs args{{from, nullptr, nullptr}, call.out<std::byte>(), {}};
  kernels().convert[static_cast<int>(accumulator)][static_cast<int>(dtype)](args, 0, count);
}

math::WorkId reduce_work_id(int kind, DType dtype) {
  using math::WorkId;
  if (kind == math::kReduceAnd) return int_work(WorkId::ReduceAndI8, dtype);
  if (kind == math::kReduceOr) return int_work(WorkId::ReduceOrI8, dtype);
  return combined_work(WorkId::ReduceSumF32, WorkId::ReduceProdF32, kind + static_cast<int64_t>(Combine::Sum), dtype);
}

// What a reduction of nothing gives, in all places.
Works fill_works(const KernelQuery& query, int kind) {
  const TensorType& out = query.outputs[0];
  math::FillParams p{static_cast<int64_t>(size_of(out.dtype)), 0};
  if (is_half(out.dtype)) {
    float value = 0;
    fill_empty(kind, f32, &value, 1);
    p.bits = out.dtype == f16 ? to_float16(value).bits : to_bfloat16(value).bits;
  } else {
    fill_empty(kind, out.dtype, &p.bits, 1);
  }
  Work work = Work::of(math::WorkId::Fill, p);
  work.memory.push_back({WorkMemory::Output, 0});
  work.count = out.shape.count(), work.grain = kGrain;
  Works works;
  works.works.push_back(std::move(work));
  return works;
}

Works reduce_works(const KernelQuery& query) {
  const int kind = reduce_kind(query.op);
  const DType dtype = query.inputs[0].dtype(), accumulator = compute_type(dtype);
  const ReduceSteps steps = reduce_steps(query.inputs[0].shape(), query.attrs.as<AxesAttrs>().axes);
  if (query.inputs[0].shape().count() == 0) return fill_works(query, kind);
  Works works;
  WorkMemory from{WorkMemory::Input, 0};
  DType type = dtype;
  for (size_t i = 0; i < steps.size(); ++i) {
    const ReduceStep& step = steps[i];
    const math::ReduceParams params{step.extent, step.inner};
    Work work = Work::of(reduce_work_id(kind, type), params);
    WorkMemory to{WorkMemory::Output, 0};
    if (i + 1 < steps.size() || accumulator != dtype) {
      to = {WorkMemory::Temporary, static_cast<int32_t>(works.temporaries.size())};
      works.temporaries.push_back(step.outer * step.inner * static_cast<int64_t>(size_of(accumulator)));
    }
    work.memory = {from, to};
    work.count = step.outer * math::reduce_tiles(params);
    work.grain = std::max<int64_t>(1, kGrain / (step.extent * std::min(step.inner, kReduceColumns)));
    work.scratch = math::reduce_scratch(params);
    works.works.push_back(std::move(work));
    from = to, type = accumulator;
  }
  if (accumulator == dtype) return works;
  works.works.push_back(convert_work({accumulator, query.outputs[0].shape}, dtype, from, {WorkMemory::Output, 0}));
  return works;
}

// --- argmax, argmin ---

template <class S, bool kLargest>
int64_t best_of(const S* x, int64_t extent, int64_t stride) {
  const auto at = [&](int64_t i) {
    if constexpr (std::is_same_v<S, Float16> || std::is_same_v<S, BFloat16>)
      return to_float(x[i * stride]);
    else
      return x[i * stride];
  };
  int64_t best = 0;
  auto value = at(0);
  for (int64_t i = 1; i < extent && value == value; ++i) {
    const auto other = at(i);
    if (other != other || (kLargest ? other > value : other < value)) best = i, value = other;
  }
  return best;
}

// Contiguous elements: the extremum by vectors, then its first place.
template <class T, bool kLargest>
int64_t best_of_row(const T* x, int64_t n) {
  const math::ReduceKernels& extremum =
      kernels().reduce[kLargest ? math::kReduceMax : math::kReduceMin][static_cast<int>(dtype_of<T>())];
  T best;
  extremum.row(x, n, &best);
  return std::find_if(x, x + n, [best](T value) { return best == best ? value == best : value != value; }) - x;
}

template <bool kLargest>
void run_arg(const KernelCall& call) {
  const Shape& shape = call.in_shape(0);
  const int64_t axis = call.attrs.as<AxisAttrs>().axis, extent = shape[axis].number();
  int64_t inner = 1;
  for (int i = static_cast<int>(axis) + 1; i < shape.rank(); ++i) inner *= shape[i].number();
  visit_dtype(call.dtype(), [&](auto type) {
    using T = decltype(type);
    const T* x = call.in<T>(0);
    int64_t* out = call.out<int64_t>();
    parallel_for(call.outputs[0].size(), std::max<int64_t>(1, kGrain / extent), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
          if (inner == 1 && extent >= 16) {
            out[i] = best_of_row<T, kLargest>(x + i * extent, extent);
            continue;
          }
        }
        out[i] = best_of<T, kLargest>(x + i / inner * extent * inner + i % inner, extent, inner);
      }
    });
  });
}

template <bool kLargest>
Works arg_works(const KernelQuery& query) {
  const Shape& shape = query.inputs[0].shape();
  const int64_t axis = query.attrs.as<AxisAttrs>().axis;
  math::AxisParams p{shape[axis].number(), 1};
  for (int i = static_cast<int>(axis) + 1; i < shape.rank(); ++i) p.inner *= shape[i].number();
  const auto first = kLargest ? math::WorkId::ArgMaxF32 : math::WorkId::ArgMinF32;
  return one_work(query, wide_work(first, query.inputs[0].dtype()), p, query.outputs[0].shape.count(),
                  std::max<int64_t>(1, kGrain / p.extent));
}

}  // namespace

void install_cpu_reductions() {
  for (const Op* op :
       {&ops::reduce_sum, &ops::reduce_prod, &ops::reduce_max, &ops::reduce_min, &ops::reduce_and, &ops::reduce_or}) {
    add_kernels(*op, {{.name = "cpu.reduce", .run = run_reduce, .works = reduce_works}});
  }
  add_kernels(ops::argmax, {{.name = "cpu.argmax", .run = run_arg<true>, .works = fused_works<arg_works<true>>}});
  add_kernels(ops::argmin, {{.name = "cpu.argmin", .run = run_arg<false>, .works = fused_works<arg_works<false>>}});
}

}  // namespace hone
