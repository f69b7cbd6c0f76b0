// cpu.small_contraction: the types no library serves (f64, integers), single terms and small products, by own loops
// whose order is part of the definition: terms ascending, one accumulator an element, fma for floats, bias last.
#include <algorithm>
#include <cstring>

#include "hone/backend/cpu/gemm_plan.h"
#include "hone/backend/cpu/in_f32.h"
#include "hone/backend/cpu/install.h"
#include "hone/backend/cpu/isa.h"
#include "hone/base/parallel.h"
#include "hone/ops/dot_axes.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

constexpr int64_t kSmall = 4096;       // products of a whole call
constexpr int64_t kGrain = 64 * 1024;  // products worth a thread

int64_t terms_of(const KernelQuery& query) {
  return (&query.op == &ops::dense ? query.inputs[1].shape()[0]
                                   : extent(query.inputs[0].shape(), query.attrs.as<DotAttrs>().lhs_contract))
      .number();
}

const char* refuses(const KernelQuery& query) {
  const DType dtype = query.inputs[0].dtype();
  if (is_integer(dtype) || dtype == f64) return nullptr;
  const int64_t k = terms_of(query);
  return k <= 1 || query.outputs[0].shape.count() * k <= kSmall
             ? nullptr
             : "more than 4096 products: the library's order is free";
}

int panel_of(DType dtype) {
  if (dtype == f32) return 0;
  if (dtype == f64) return 1;
  return size_of(dtype) == 1 ? 2 : size_of(dtype) == 2 ? 3 : size_of(dtype) == 4 ? 4 : 5;
}

// Rows of one panel of b with its columns side by side, zeros beyond the last column.
void pack_panel(std::byte* to, const std::byte* b, const GemmPlan& p, int64_t columns, size_t item) {
  const auto size = static_cast<int64_t>(item);
  for (int64_t k = 0; k < p.k; ++k, to += math::kPanelBytes) {
    const std::byte* from = b + k * p.b_k * size;
    if (p.b_column == 1) {
      std::memcpy(to, from, static_cast<size_t>(columns) * item);
    } else {
      for (int64_t j = 0; j < columns; ++j) std::memcpy(to + j * size, from + j * p.b_column * size, item);
    }
    std::memset(to + columns * size, 0, static_cast<size_t>(math::kPanelBytes - columns * size));
  }
}

void run(const KernelCall& call) {
  if (is_half(call.dtype())) return run_in_f32(call, run);
  const Gemm gemm = plan_gemm(call, false);
  const GemmPlan& p = gemm.plan;
  const auto item = static_cast<int64_t>(size_of(call.dtype())), width = math::kPanelBytes / item;
  const int64_t panels = (p.n + width - 1) / width;
  const std::byte *a = gemm.a.mutable_bytes(), *b = gemm.b.mutable_bytes();
  const Tensor packed_bias = call.inputs.size() == 3 ? call.inputs[2].dense() : Tensor();
  const std::byte* bias = packed_bias.defined() ? packed_bias.mutable_bytes() : nullptr;
  std::byte* c = call.outputs[0].mutable_bytes();
  const auto panel = kernels().contraction.panel[panel_of(call.dtype())];
  const int64_t work = std::max<int64_t>(p.m * width * p.k, 1);
  if (p.m == 0 || p.count == 0) return;
  parallel_for(
      p.count * panels, std::max<int64_t>(kGrain / work, 1),
      [&](int64_t begin, int64_t end) {
        alignas(64) std::byte local[16 * math::kPanelBytes];
        Ref<Buffer> block;
        std::byte* scratch = local;
        if (p.k > 16) block = cpu().allocate(static_cast<size_t>(p.k) * math::kPanelBytes), scratch = block->data();
        for (int64_t i = begin; i < end; ++i) {
          const GemmPlan::Offsets at = p.at(i / panels);
          const int64_t column = i % panels * width, columns = std::min(width, p.n - column);
          const std::byte* from = b + (at.b + column * p.b_column) * item;
          math::PanelArgs args{.a = a + at.a * item,
                               .a_row = p.a_row,
                               .a_k = p.a_k,
                               .b = from,
                               .b_k = p.b_k,
                               .c = c + (at.c + column) * item,
                               .c_row = p.c_row,
                               .rows = p.m,
                               .columns = columns,
                               .k = p.k,
                               .bias = bias ? bias + column * item : nullptr};
          if (p.b_column != 1 || columns < width) {
            pack_panel(scratch, from, p, columns, static_cast<size_t>(item));
            args.b = scratch;
            args.b_k = width;
          }
          panel(args);
        }
      },
      1);
}

}  // namespace

void install_cpu_contraction() {
  for (const Op* op : {&ops::dot_general, &ops::dense}) {
    add_kernels(*op, {{.name = "cpu.small_contraction", .refuses = refuses, .run = run, .reads_strides = true}});
  }
}

}  // namespace hone
