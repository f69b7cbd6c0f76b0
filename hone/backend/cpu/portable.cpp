// portable.*: products and convolutions of settings.reproducible = Portable, by works whose order of accumulation is
// part of their definition (math/packed_contraction.h, math/direct_convolution.h). cpu.plain_convolution: likewise for
// types and shapes that no library serves, under any setting (math/plain_contraction.h).
#include <algorithm>

#include "hone/backend/cpu/fused.h"
#include "hone/backend/cpu/gemm_plan.h"
#include "hone/backend/cpu/install.h"
#include "hone/base/settings.h"
#include "hone/math/plain_contraction.h"
#include "hone/ops/conv_geometry.h"

namespace hone {
namespace {

using math::ConvParams;
using math::FloatKind;
using math::ProductBlocks;
using math::ProductParams;
using math::WorkId;

constexpr int64_t kGrain = 1 << 16;  // multiply-adds worth a thread

const char* refuses(const KernelQuery& query) {
  if (settings.reproducible != Reproducible::Portable) return "settings.reproducible is not Portable";
  const DType dtype = query.inputs[0].dtype();
  if (dtype != f32 && !is_half(dtype)) return "floats of 16 and 32 bits only";
  for (const Tensor& input : query.inputs) {
    if (input.size() == 0) return "an operand is empty";
  }
  return query.outputs[0].shape.count() == 0 ? "the result is empty" : nullptr;
}

FloatKind kind_of(DType dtype) {
  return dtype == f32 ? FloatKind::F32 : dtype == f16 ? FloatKind::F16 : FloatKind::BF16;
}

int64_t grain_of(int64_t products_of_item) {
  return std::max<int64_t>(kGrain / std::max<int64_t>(products_of_item, 1), 1);
}

constexpr WorkMemory input(int32_t index) { return {WorkMemory::Input, index, 0}; }
constexpr WorkMemory output() { return {WorkMemory::Output, 0, 0}; }

void add_memory(Work& work, std::initializer_list<WorkMemory> memory) {
  for (const WorkMemory& m : memory) work.memory.push_back(m);
}

// --- products ---

Works product_works(const KernelQuery& query) {
  const GemmLayout layout = layout_gemm(query.op, query.attrs, query.inputs, false);
  const GemmPlan& plan = layout.plan;
  Works works;
  ProductParams p = product_params(plan, query.inputs.size() == 3);
  p.kind = kind_of(query.inputs[0].dtype());
  p.blocks = ProductBlocks::of(plan.count, plan.m, plan.n, plan.k);
  Work work = Work::of(WorkId::Product, p);
  work.memory = product_operands(works, query, layout);
  work.count = plan.count * p.blocks.row_blocks(p.m) * p.blocks.column_blocks(p.n);
  work.grain = grain_of(p.blocks.rows * p.blocks.columns * p.k);
  work.scratch = ProductBlocks::kScratch;
  works.works.push_back(std::move(work));
  return works;
}

// --- convolutions ---

bool is_depthwise(const ConvGeometry& g) { return g.groups > 1 && g.in == g.groups && g.out == g.groups; }

ConvParams forward_params(const ConvGeometry& g, FloatKind kind) {
  ConvParams p{.kind = kind, .batch = g.batch, .groups = g.groups};
  for (size_t i = 0; i < 3; ++i) {
    p.axes[i] = {.positions = g.result[i],
                 .taps = g.kernel[i],
                 .source = g.input[i],
                 .step = g.stride[i],
                 .tap_step = g.dilation[i],
                 .origin = -g.low[i],
                 .divide = g.base[i]};
  }
  p.channels = g.in_per_group(), p.columns = g.out_per_group();
  p.w_tap = g.in_per_group() * g.out, p.w_channel = g.out, p.w_column = 1, p.w_group = g.out_per_group();
  return p;
}

ConvParams input_grad_params(const ConvGeometry& g, FloatKind kind) {
  ConvParams p{.kind = kind, .batch = g.batch, .groups = g.groups};
  for (size_t i = 0; i < 3; ++i) {
    p.axes[i] = {.positions = g.input[i],
                 .taps = g.kernel[i],
                 .source = g.result[i],
                 .step = g.base[i],
                 .tap_step = -g.dilation[i],
                 .origin = g.low[i],
                 .divide = g.stride[i]};
  }
  p.channels = g.out_per_group(), p.columns = g.in_per_group();
  p.w_tap = g.in_per_group() * g.out, p.w_channel = 1, p.w_column = g.out, p.w_group = g.out_per_group();
  return p;
}

Works convolution_works(const KernelQuery& query) {
  const ConvGeometry g =
      ConvGeometry::of(query.op, query.attrs, query.inputs[0].shape(), query.inputs[1].shape(), query.outputs[0].shape);
  const FloatKind kind = kind_of(query.inputs[0].dtype());
  ConvParams p = &query.op == &ops::convolution ? forward_params(g, kind) : input_grad_params(g, kind);
  const bool bias = query.inputs.size() == 3;
  p.bias = bias;
  const int64_t rows = p.batch * p.most_places(), terms = p.taps() * p.channels;
  p.blocks = ProductBlocks::of(p.groups * p.phases(), rows, p.columns, terms);
  const bool depthwise = is_depthwise(g);
  Work work = Work::of(depthwise ? WorkId::Depthwise : WorkId::Convolution, p);
  add_memory(work, {input(0), input(1), output()});
  if (bias) work.memory.push_back(input(2));
  if (depthwise) {
    const math::WindowAxis& line = p.axes[2];
    work.count = rows / ((line.positions + line.divide - 1) / line.divide) * p.phases();
    work.grain = grain_of(line.positions * p.groups * p.taps());
  } else {
    work.count = p.groups * p.phases() * p.blocks.row_blocks(rows) * p.blocks.column_blocks(p.columns);
    work.grain = grain_of(p.blocks.rows * p.blocks.columns * terms);
    work.scratch = ProductBlocks::kScratch;
  }
  Works works;
  works.works.push_back(std::move(work));
  return works;
}

// Pieces that give several threads work where the kernel is small. By sizes alone: bits depend on them.
int32_t pieces_of(const ConvGeometry& g, int64_t kernel_size) {
  constexpr int64_t kPieces = 16, kLarge = 1 << 17;
  return static_cast<int32_t>(std::clamp<int64_t>(kLarge / kernel_size, 1, std::min(kPieces, g.batch)));
}

Works kernel_grad_works(const KernelQuery& query) {
  const ConvGeometry g =
      ConvGeometry::of(query.op, query.attrs, query.inputs[0].shape(), query.inputs[1].shape(), query.outputs[0].shape);
  const FloatKind kind = kind_of(query.inputs[0].dtype());
  const int64_t size = query.outputs[0].shape.count();
  ConvParams p = forward_params(g, kind);
  p.pieces = pieces_of(g, size);
  const int64_t height = p.taps() * p.channels, terms = p.batch * p.places() / p.pieces;
  p.blocks = ProductBlocks::of(p.groups * p.pieces, height, p.columns, terms);
  Works works;
  const bool folds = p.pieces > 1 || kind != FloatKind::F32;
  if (folds) works.temporaries.push_back(p.pieces * size * 4);
  const WorkMemory result = folds ? WorkMemory{WorkMemory::Temporary, 0, 0} : output();
  const bool depthwise = is_depthwise(g);
  Work work = Work::of(depthwise ? WorkId::DepthwiseGradient : WorkId::KernelGradient, p);
  add_memory(work, {input(0), input(1), result});
  if (depthwise) {
    constexpr int64_t kWidth = 16;
    work.count = (p.groups + kWidth - 1) / kWidth * p.pieces;
    work.grain = grain_of(kWidth * p.taps() * terms);
    work.scratch = p.taps() * kWidth * 4;
  } else {
    work.count = p.groups * p.pieces * p.blocks.row_blocks(height) * p.blocks.column_blocks(p.columns);
    work.grain = grain_of(p.blocks.rows * p.blocks.columns * terms);
    work.scratch = ProductBlocks::kScratch;
  }
  works.works.push_back(std::move(work));
  if (!folds) return works;
  Work fold = Work::of(WorkId::FoldPieces, math::FoldParams{.kind = kind, .pieces = p.pieces, .size = size});
  add_memory(fold, {result, output()});
  fold.count = size;
  fold.grain = std::max<int64_t>(16384 / p.pieces, 1);
  works.works.push_back(std::move(fold));
  return works;
}

// --- convolutions of what no library serves ---

template <bool kKernelGradient>
Works plain_works(const KernelQuery& query) {
  const ConvGeometry g =
      ConvGeometry::of(query.op, query.attrs, query.inputs[0].shape(), query.inputs[1].shape(), query.outputs[0].shape);
  const bool by_input = &query.op == &ops::convolution_input_grad;
  ConvParams p = by_input ? input_grad_params(g, FloatKind::F32) : forward_params(g, FloatKind::F32);
  p.bias = query.inputs.size() == 3;
  const WorkId function = kKernelGradient ? WorkId::PlainKernelGradientF32 : WorkId::PlainConvolutionF32;
  const int64_t items = kKernelGradient ? p.taps() * p.channels : p.batch * p.places();
  const int64_t terms = kKernelGradient ? p.batch * p.places() : p.taps() * p.channels;
  return one_work(query, panel_work(function, query.inputs[0].dtype()), p,
                  query.outputs[0].shape.count() == 0 ? 0 : items, grain_of(terms * p.groups * p.columns));
}

}  // namespace

void install_cpu_plain_convolution() {
  const Kernel plain = fused_kernel<plain_works<false>>("cpu.plain_convolution", nullptr);
  for (const Op* op : {&ops::convolution, &ops::convolution_input_grad}) add_kernels(*op, {plain});
  add_kernels(ops::convolution_kernel_grad, {fused_kernel<plain_works<true>>("cpu.plain_convolution", nullptr)});
}

void install_cpu_portable() {
  Kernel product = works_kernel<product_works>("portable.contraction", refuses);
  product.reads_strides = true;
  for (const Op* op : {&ops::dot_general, &ops::dense}) add_kernels(*op, {product});
  const Kernel convolution = works_kernel<convolution_works>("portable.convolution", refuses);
  for (const Op* op : {&ops::convolution, &ops::convolution_input_grad}) add_kernels(*op, {convolution});
  add_kernels(ops::convolution_kernel_grad,
              {works_kernel<kernel_grad_works>("portable.convolution_kernel_grad", refuses)});
}

}  // namespace hone
