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
#include "hone/ops/views.h"

namespace hone {
namespace {

constexpr int64_t kSmall = 4096;  // products of a whole call
// With so few rows 8192, as in a step of an LSTM of 40 units: oneDNN's sgemm locks a mutex, which real-time calls must
// not (docs/real-time.md). Own loops are faster from two rows on.
constexpr int64_t kFewRows = 16;
constexpr int64_t kSmallRows = 8192;
constexpr int64_t kGrain = 64 * 1024;  // products worth a thread
constexpr int64_t kRows = 12;          // of a block of an outer product: what the widest panel kernel takes at once

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

// Products of one call: operands, packed memory for a panel, and the kernel of its type.
class Panels {
 public:
  Panels(const KernelCall& call, const Gemm& gemm)
      : p_(gemm.plan),
        item_(static_cast<int64_t>(size_of(call.dtype()))),
        a_(gemm.a.mutable_bytes()),
        b_(gemm.b.mutable_bytes()),
        bias_(call.inputs.size() == 3 ? call.inputs[2].dense() : Tensor()),
        c_(call.outputs[0].mutable_bytes()),
        panel_(kernels().contraction.panel[panel_of(call.dtype())]) {}

  int64_t width() const { return math::kPanelBytes / item_; }
  /// Whether run needs its scratch for some panel.
  bool packs() const { return p_.b_column != 1 || p_.n % width() != 0; }

  /// How many panels from `index` on one call of `run` may take, at most `most`: one row runs through whole panels.
  int64_t together(int64_t index, int64_t most) const {
    if (p_.m != 1 || p_.b_column != 1) return 1;
    return std::max<int64_t>(std::min(most, p_.n / width() - index), 1);
  }

  /// Rows [row, row + rows) of `count` panels of one product, from `index` on. `scratch` holds a panel of k rows.
  void run(const GemmPlan::Offsets& at, int64_t row, int64_t rows, int64_t index, int64_t count,
           std::byte* scratch) const {
    const int64_t column = index * width(), columns = std::min(count * width(), p_.n - column);
    const std::byte* from = b_ + (at.b + column * p_.b_column) * item_;
    math::PanelArgs args{.a = a_ + (at.a + row * p_.a_row) * item_,
                         .a_row = p_.a_row,
                         .a_k = p_.a_k,
                         .b = from,
                         .b_k = p_.b_k,
                         .c = c_ + (at.c + row * p_.c_row + column) * item_,
                         .c_row = p_.c_row,
                         .rows = rows,
                         .columns = columns,
                         .k = p_.k,
                         .bias = bias_.defined() ? bias_.mutable_bytes() + column * item_ : nullptr};
    if (p_.b_column != 1 || columns < width()) {
      pack_panel(scratch, from, p_, columns, static_cast<size_t>(item_));
      args.b = scratch;
      args.b_k = width();
    }
    panel_(args);
  }

 private:
  const GemmPlan& p_;
  int64_t item_;
  const std::byte *a_, *b_;
  Tensor bias_;
  std::byte* c_;
  void (*panel_)(const math::PanelArgs&);
};

void run(const KernelCall& call) {
  if (is_half(call.dtype())) return run_in_f32(call, run);
  const Gemm gemm = plan_gemm(call, false);
  const GemmPlan& p = gemm.plan;
  const Panels panels(call, gemm);
  const int64_t width = panels.width(), across = (p.n + width - 1) / width;
  if (p.m == 0 || p.count == 0) return;
  if (p.k == 1) {  // outer products: nothing but writing, so row by row
    const int64_t blocks = (p.m + kRows - 1) / kRows;
    parallel_for(
        p.count * blocks, std::max<int64_t>(kGrain / std::max<int64_t>(kRows * p.n, 1), 1),
        [&](int64_t begin, int64_t end) {
          alignas(64) std::byte scratch[math::kPanelBytes];
          for (int64_t i = begin; i < end; ++i) {
            const GemmPlan::Offsets at = p.at(i / blocks);
            const int64_t row = i % blocks * kRows;
            for (int64_t j = 0; j < across; ++j) panels.run(at, row, std::min(kRows, p.m - row), j, 1, scratch);
          }
        },
        1);
    return;
  }
  const int64_t work = std::max<int64_t>(p.m * width * p.k, 1);
  parallel_for(
      p.count * across, std::max<int64_t>(kGrain / work, 1),
      [&](int64_t begin, int64_t end) {
        alignas(64) std::byte local[16 * math::kPanelBytes];
        Ref<Buffer> block;
        std::byte* scratch = local;
        if (p.k > 16 && panels.packs())
          block = cpu().allocate(static_cast<size_t>(p.k) * math::kPanelBytes), scratch = block->data();
        for (int64_t i = begin; i < end;) {
          const int64_t index = i % across, count = panels.together(index, end - i);
          panels.run(p.at(i / across), 0, p.m, index, count, scratch);
          i += count;
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
