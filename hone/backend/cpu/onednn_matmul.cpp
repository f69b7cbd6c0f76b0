// dot_general and dense by oneDNN's sgemm: on CPUs without AVX-512 it is what its matmul primitive calls, without the
// primitive's bookkeeping, and strides say transposes.
#include <algorithm>

#include "hone/backend/cpu/box.h"
#include "hone/backend/cpu/gemm_plan.h"
#include "hone/backend/cpu/in_f32.h"
#include "hone/backend/cpu/install.h"
#include "hone/backend/cpu/onednn.h"
#include "hone/backend/cpu/scratch.h"
#include "hone/base/error.h"
#include "hone/base/parallel.h"
#include "hone/ops/table.h"
#include "hone/ops/views.h"

namespace hone {
namespace {

constexpr int64_t kThreaded = (1 << 18) + 1;  // multiply-adds below which one thread is as fast
constexpr int64_t kPieces = 8;

const char* refuses(const KernelQuery& query) {
  if (const char* why = onednn::refuses_library()) return why;
  const DType dtype = query.inputs[0].dtype();
  if (dtype != f32 && !is_half(dtype)) return "oneDNN multiplies floats of 16 and 32 bits";
  return query.inputs[0].size() == 0 || query.inputs[1].size() == 0 ? "an operand is empty" : nullptr;
}

// sgemm packs a transposed right operand anew for each few rows and barely shares the work between threads: 32 rows of
// 512 terms run at 55 GFLOP/s of 236 on two threads, at 200 where the operand lies row by row. Copying it there first,
// by own tiles, is the faster by up to 2x (docs/performance.md, "Transposed weights").
bool pays(int64_t m, int64_t n, int64_t k) { return m >= 16 && m <= 128 && n >= 64 && k >= 256; }

// One matrix on the right, terms next to each other in memory: a gradient's product with transposed weights.
const char* refuses_to_transpose(const KernelQuery& query) {
  const char* const kNo = "the right operand is no transposed matrix of a size that is worth a copy";
  const Tensor& b = query.inputs[1];
  if (const char* why = refuses(query)) return why;
  if (query.inputs[0].dtype() != f32 || b.rank() != 2) return kNo;
  const Ints& contract = query.attrs.as<DotAttrs>().rhs_contract;
  if (contract.size() != 1) return kNo;
  const auto term = static_cast<size_t>(contract[0]);
  const Ints strides = strides_of(b);
  const int64_t k = b.shape()[term].number(), n = b.shape()[1 - term].number();
  if (strides[term] != 1 || strides[1 - term] < k) return kNo;
  return pays(query.outputs[0].shape.count() / n, n, k) ? nullptr : kNo;
}

struct Matrices {
  const float *a, *b, *bias;
  float* c;
};

// Rows [row, row + rows) and columns [column, column + columns) of one product of the plan, on library_threads()
// threads.
void multiply(const GemmPlan& p, const Matrices& x, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  const bool a_plain = (p.k == 1 || p.a_k == 1) && (p.m == 1 || p.a_row >= p.k);
  const bool b_plain = (p.n == 1 || p.b_column == 1) && (p.k == 1 || p.b_k >= p.n);
  const int64_t lda = a_plain ? (p.m == 1 ? p.k : p.a_row) : (p.k == 1 ? p.m : p.a_k);
  const int64_t ldb = b_plain ? (p.k == 1 ? p.n : p.b_k) : (p.n == 1 ? p.k : p.b_column);
  float* c = x.c + row * p.c_row + column;
  const dnnl_status_t status =
      dnnl_sgemm(a_plain ? 'N' : 'T', b_plain ? 'N' : 'T', rows, columns, p.k, 1.0F, x.a + row * (a_plain ? lda : 1),
                 lda, x.b + column * (b_plain ? 1 : ldb), ldb, 0.0F, c, p.c_row);
  if (status != dnnl_success) throw Error(Code::kInternal, "oneDNN's sgemm failed");
}

void add_bias(const GemmPlan& p, const Matrices& x, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  for (int64_t i = row; i < row + rows; ++i) {
    float* c = x.c + i * p.c_row + column;
    for (int64_t j = 0; j < columns; ++j) c[j] += x.bias[column + j];
  }
}

// On this thread alone, wherever it is called.
void multiply_here(const GemmPlan& p, const Matrices& x, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  parallel_tasks(1, [&](int64_t) { run_library([&] { multiply(p, x, row, rows, column, columns); }); });
  if (x.bias) add_bias(p, x, row, rows, column, columns);
}

void multiply_pieces(const GemmPlan& p, const Matrices& x) {
  const bool by_rows = p.m >= p.n;
  const int64_t extent = by_rows ? p.m : p.n, size = ((extent + kPieces - 1) / kPieces + 15) / 16 * 16;
  parallel_tasks((extent + size - 1) / size, [&](int64_t i) {
    const int64_t begin = i * size, count = std::min(size, extent - begin);
    by_rows ? multiply_here(p, x, begin, count, 0, p.n) : multiply_here(p, x, 0, p.m, begin, count);
  });
}

void multiply_one(const GemmPlan& p, const Matrices& x) {
  const bool large = p.m * p.n * p.k >= kThreaded;
  if (large && onednn::fixed_partitions()) return multiply_pieces(p, x);
  if (!large || threads() == 1) return multiply_here(p, x, 0, p.m, 0, p.n);
  run_library([&] { multiply(p, x, 0, p.m, 0, p.n); });
  if (x.bias) {
    parallel_for(
        p.m, std::max<int64_t>(32768 / p.n, 1),
        [&](int64_t begin, int64_t end) { add_bias(p, x, begin, end - begin, 0, p.n); }, 1);
  }
}

float* floats(const Tensor& x) { return static_cast<float*>(static_cast<void*>(x.mutable_bytes())); }

void multiply_all(const KernelCall& call, const GemmPlan& p, const float* a, const float* b) {
  const Tensor bias = call.inputs.size() == 3 ? call.inputs[2].dense() : Tensor();
  const Matrices base{a, b, bias.defined() ? floats(bias) : nullptr, floats(call.outputs[0])};
  const auto product = [&](int64_t i) {
    const GemmPlan::Offsets at = p.at(i);
    return Matrices{base.a + at.a, base.b + at.b, base.bias, base.c + at.c};
  };
  const int64_t each = p.m * p.n * p.k;
  if (p.count == 1) return multiply_one(p, base);
  if (each >= kThreaded && p.count < 4) {  // few large products: threads inside each
    for (int64_t i = 0; i < p.count; ++i) multiply_one(p, product(i));
    return;
  }
  parallel_for(
      p.count, std::max<int64_t>(kThreaded / 4 / std::max<int64_t>(each, 1), 1),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) multiply_here(p, product(i), 0, p.m, 0, p.n);
      },
      1);
}

void run(const KernelCall& call) {
  if (is_half(call.dtype())) return run_in_f32(call, run);
  const Gemm gemm = plan_gemm(call, true);
  multiply_all(call, gemm.plan, floats(gemm.a), floats(gemm.b));
}

void run_transposed(const KernelCall& call) {
  Gemm gemm = plan_gemm(call, true);
  GemmPlan& p = gemm.plan;
  const Scratch<float> rows(p.k * p.n);
  copy_box(static_cast<std::byte*>(static_cast<void*>(rows.data())), gemm.b.mutable_bytes(),
           {{p.k, p.n}, {p.n, 1}, {p.b_k, p.b_column}}, sizeof(float));
  p.b_k = p.n, p.b_column = 1;
  multiply_all(call, p, floats(gemm.a), rows.data());
}

}  // namespace

void onednn::matmul(const KernelCall& call) { run(call); }

void install_onednn_contraction() {
  add_kernels(ops::dot_general,
              {{.name = "onednn.matmul_transposed",
                .refuses = refuses_to_transpose,
                .run = run_transposed,
                .reads_strides = true,
                .library = true,
                .transposes = 1},
               {.name = "onednn.matmul", .refuses = refuses, .run = run, .reads_strides = true, .library = true}});
  add_kernels(ops::dense,
              {{.name = "onednn.dense", .refuses = refuses, .run = run, .reads_strides = true, .library = true}});
}

}  // namespace hone
