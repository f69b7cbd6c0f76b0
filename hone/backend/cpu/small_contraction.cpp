// cpu.small_contraction: the types no library serves (f64, integers), single terms and small products, by own loops
// whose order is part of the definition: terms ascending, one accumulator an element, fma for floats, bias last.
#include <algorithm>

#include "hone/backend/cpu/fused.h"
#include "hone/backend/cpu/gemm_plan.h"
#include "hone/backend/cpu/install.h"
#include "hone/math/plain_contraction.h"
#include "hone/ops/dot_axes.h"
#include "hone/ops/views.h"

namespace hone {
namespace {

using math::ProductParams;

constexpr int64_t kSmall = 4096;  // products of a whole call
// With so few rows 8192, as in a step of an LSTM of 40 units: oneDNN's sgemm locks a mutex, which real-time calls must
// not (docs/real-time.md). Own loops are faster from two rows on.
constexpr int64_t kFewRows = 16;
constexpr int64_t kSmallRows = 8192;
constexpr int64_t kGrain = 64 * 1024;  // products worth a thread

int64_t terms_of(const KernelQuery& query) {
  return (&query.op == &ops::dense ? query.inputs[1].shape()[0]
                                   : extent(query.inputs[0].shape(), query.attrs.as<DotAttrs>().lhs_contract))
      .number();
}

// A few rows times a matrix that lies row by row, so that panels need no packing.
bool few_rows(const KernelQuery& query) {
  const Tensor& b = query.inputs[1];
  if (b.rank() != 2 || b.shape()[1].number() == 0) return false;
  if (&query.op == &ops::dot_general && query.attrs.as<DotAttrs>().rhs_contract != Ints{0}) return false;
  return strides_of(b)[1] == 1 && query.outputs[0].shape.count() <= kFewRows * b.shape()[1].number();
}

const char* refuses(const KernelQuery& query) {
  const DType dtype = query.inputs[0].dtype();
  if (is_integer(dtype) || dtype == f64) return nullptr;
  const int64_t k = terms_of(query), products = query.outputs[0].shape.count() * k;
  if (k <= 1 || products <= kSmall) return nullptr;
  if (products > kSmallRows) return "more than 8192 products: the library's order is free";
  return few_rows(query) ? nullptr : "more than 4096 products in many rows: the library's order is free";
}

// Items of the call and how many of them are worth a thread.
struct Split {
  int64_t count, grain;
};
Split split_of(const GemmPlan& plan, const ProductParams& p, int64_t item) {
  const int64_t width = math::kPanelBytes / item;
  const int64_t each = p.k == 1 ? math::kPlainRows * p.n : p.m * width * p.k;  // products of an item
  return {p.m == 0 ? 0 : plan.count * small_product_items(p, item),
          std::max<int64_t>(kGrain / std::max<int64_t>(each, 1), 1)};
}

void run(const KernelCall& call) {
  if (is_half(call.dtype())) return run_in_f32(call, run);
  const Gemm gemm = plan_gemm(call, false);
  const bool bias = call.inputs.size() == 3;
  const Tensor dense_bias = bias ? call.inputs[2].dense() : Tensor();
  const ProductParams p = product_params(gemm.plan, bias);
  std::byte* const memory[] = {gemm.a.mutable_bytes(), gemm.b.mutable_bytes(), call.outputs[0].mutable_bytes(),
                               bias ? dense_bias.mutable_bytes() : nullptr};
  const auto item = static_cast<int64_t>(size_of(call.dtype()));
  const math::WorkFn function =
      kernels().works[static_cast<int>(panel_work(math::WorkId::SmallProductF32, call.dtype()))];
  const int64_t scratch = small_product_scratch(p, item);
  const Split split = split_of(gemm.plan, p, item);
  parallel_for(
      split.count, split.grain,
      [&](int64_t begin, int64_t end) {
        constexpr int64_t kLocal = 16 * math::kPanelBytes;
        if (scratch <= kLocal) {
          alignas(64) std::byte local[kLocal];
          return function({&p, memory, local, nullptr}, begin, end);
        }
        const Scratch<std::byte> packed(scratch);
        function({&p, memory, packed.data(), nullptr}, begin, end);
      },
      1);
}

Works small_product_works(const KernelQuery& query) {
  const GemmLayout layout = layout_gemm(query.op, query.attrs, query.inputs, false);
  const ProductParams p = product_params(layout.plan, query.inputs.size() == 3);
  const DType dtype = query.inputs[0].dtype();
  const auto item = static_cast<int64_t>(size_of(dtype));
  const Split split = split_of(layout.plan, p, item);
  Works works;
  Work work = Work::of(panel_work(math::WorkId::SmallProductF32, dtype), p);
  work.memory = product_operands(works, query, layout);
  work.count = split.count, work.grain = split.grain;
  work.scratch = small_product_scratch(p, item);
  if (work.count > 0) works.works.push_back(std::move(work));
  return works;
}

}  // namespace

void install_cpu_contraction() {
  for (const Op* op : {&ops::dot_general, &ops::dense}) {
    add_kernels(*op, {{.name = "cpu.small_contraction",
                       .refuses = refuses,
                       .run = run,
                       .works = fused_works<small_product_works>,
                       .reads_strides = true}});
  }
}

}  // namespace hone
