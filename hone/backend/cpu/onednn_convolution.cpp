// Convolution and its gradients by oneDNN: NHWC data at both ends (a plain source with a free destination falls to the
// reference implementation where there are 1 or 3 channels), the kernel in the layout the primitive prefers.
#include <algorithm>
#include <cstring>

#include "hone/backend/cpu/in_f32.h"
#include "hone/backend/cpu/install.h"
#include "hone/backend/cpu/onednn.h"
#include "hone/backend/cpu/onednn_descriptors.h"
#include "hone/base/parallel.h"
#include "hone/ops/conv_geometry.h"
#include "hone/ops/kernel.h"

namespace hone {
namespace {

using dnnl::memory;
enum class Role : int32_t { Forward = 1, InputGrad, KernelGrad };

Role role_of(const Op& op) {
  return &op == &ops::convolution              ? Role::Forward
         : &op == &ops::convolution_input_grad ? Role::InputGrad
                                               : Role::KernelGrad;
}
ConvGeometry geometry(const KernelCall& call) {
  return ConvGeometry::of(call.op, call.attrs, call.in_shape(0), call.in_shape(1), call.out_shape());
}

const char* refuses(const KernelQuery& query) {
  if (const char* why = onednn::refuses_library()) return why;
  const DType dtype = query.inputs[0].dtype();
  if (dtype != f32 && !is_half(dtype)) return "oneDNN convolves floats of 16 and 32 bits";
  for (const Tensor& input : query.inputs) {
    if (input.size() == 0) return "an operand is empty";
    if (input.size() > INT32_MAX) return "an operand has more than 2^31 elements";
  }
  const int64_t results = query.outputs[0].shape.count();
  return results == 0          ? "the result is empty"
         : results > INT32_MAX ? "the result has more than 2^31 elements"
                               : nullptr;
}

template <class PrimitiveDesc>
void finish(onednn::Primitive& p, const PrimitiveDesc& pd, const memory::desc& plain, const memory::desc& kernel) {
  p.implementation = pd.impl_info_str();
  p.scratch_bytes = pd.scratchpad_desc().get_size();
  if (p.scratch_bytes) p.scratch = memory(pd.scratchpad_desc(), onednn::engine(), nullptr);
  if (kernel == plain) {
    p.packed = -1;
    return;
  }
  const bool back = p.packed == p.count - 1;
  p.packed_bytes = kernel.get_size();
  p.plain = memory(plain, onednn::engine(), nullptr);
  const memory& packed = p.arguments[static_cast<size_t>(p.packed)];
  p.reorder = back ? dnnl::reorder(packed, p.plain) : dnnl::reorder(p.plain, packed);
}

void make(onednn::Primitive& p, Role role, const ConvGeometry& g, bool bias, memory::data_type type) {
  using namespace dnnl;
  const engine& e = onednn::engine();
  const onednn::ConvDescriptors d = onednn::descriptors(g, bias, type);
  primitive_attr attr;
  attr.set_scratchpad_mode(scratchpad_mode::user);
  const auto kind = algorithm::convolution_direct;
  const auto forward = bias ? convolution_forward::desc(prop_kind::forward_training, kind, d.source, d.kernel, d.bias,
                                                        d.result, d.strides, d.dilates, d.low, d.high)
                            : convolution_forward::desc(prop_kind::forward_training, kind, d.source, d.kernel, d.result,
                                                        d.strides, d.dilates, d.low, d.high);
  const convolution_forward::primitive_desc forward_pd(forward, attr, e);
  const auto empty = [&](const memory::desc& desc) { return memory(desc, e, nullptr); };
  if (role == Role::Forward) {
    p.add(DNNL_ARG_SRC, empty(d.source));
    p.packed = p.count;
    p.add(DNNL_ARG_WEIGHTS, empty(forward_pd.weights_desc()));
    if (bias) p.add(DNNL_ARG_BIAS, empty(d.bias));
    p.add(DNNL_ARG_DST, empty(d.result));
    p.primitive = convolution_forward(forward_pd);
    finish(p, forward_pd, d.plain, forward_pd.weights_desc());
  } else if (role == Role::InputGrad) {
    const convolution_backward_data::primitive_desc pd(
        convolution_backward_data::desc(kind, d.source, d.kernel, d.result, d.strides, d.dilates, d.low, d.high), attr,
        e, forward_pd);
    p.add(DNNL_ARG_DIFF_DST, empty(d.result));
    p.packed = p.count;
    p.add(DNNL_ARG_WEIGHTS, empty(pd.weights_desc()));
    p.add(DNNL_ARG_DIFF_SRC, empty(d.source));
    p.primitive = convolution_backward_data(pd);
    finish(p, pd, d.plain, pd.weights_desc());
  } else {
    const convolution_backward_weights::primitive_desc pd(
        convolution_backward_weights::desc(kind, d.source, d.kernel, d.result, d.strides, d.dilates, d.low, d.high),
        attr, e, forward_pd);
    p.add(DNNL_ARG_SRC, empty(d.source));
    p.add(DNNL_ARG_DIFF_DST, empty(d.result));
    p.packed = p.count;
    p.add(DNNL_ARG_DIFF_WEIGHTS, empty(pd.diff_weights_desc()));
    p.primitive = convolution_backward_weights(pd);
    finish(p, pd, d.plain, pd.diff_weights_desc());
  }
}

onednn::Key key_of(Role role, const ConvGeometry& g, bool bias, DType dtype) {
  onednn::Key key;
  size_t at = 0;
  const auto put = [&](int64_t value) { key.fields[at++] = static_cast<int32_t>(value); };
  put(static_cast<int64_t>(role) | static_cast<int64_t>(dtype) << 4 | static_cast<int64_t>(bias) << 8 |
      static_cast<int64_t>(g.axes) << 9);
  put(library_threads());
  put(g.batch), put(g.in), put(g.out), put(g.groups);
  for (size_t i = 0; i < 3; ++i) {
    put(g.input[i]), put(g.kernel[i]), put(g.result[i]), put(g.stride[i]), put(g.low[i]), put(g.high[i]),
        put(g.dilation[i]);
  }
  return key;
}

void run_primitive(const KernelCall& call, const ConvGeometry& g) {
  const Role role = role_of(call.op);
  const bool bias = call.inputs.size() == 3;
  const auto type = call.dtype() == bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  onednn::Primitive& p = onednn::find(key_of(role, g, bias, call.dtype()), [&](onednn::Primitive& fresh) {
    run_library([&] { make(fresh, role, g, bias, type); });  // a primitive is made for the threads it finds
  });
  std::array<void*, onednn::Primitive::kMaxArguments> pointers{};
  for (size_t i = 0; i < call.inputs.size(); ++i) pointers[i] = call.inputs[i].mutable_bytes();
  pointers[call.inputs.size()] = call.outputs[0].mutable_bytes();
  onednn::execute(p, pointers, role == Role::KernelGrad ? 0 : call.inputs[1].id());
}

void run(const KernelCall& call);

// --- base dilation and negative padding: the input is spread out first ---

// The input with zeros between its elements and its padding as part of it (Spread), or the way back (Gather).
enum class Direction { Spread, Gather };
void move_elements(const ConvGeometry& g, const std::array<int64_t, 3>& wide, const Tensor& narrow_tensor,
                   const Tensor& wide_tensor, Direction direction) {
  const size_t bytes = static_cast<size_t>(g.in) * size_of(narrow_tensor.dtype());
  std::byte *narrow = narrow_tensor.mutable_bytes(), *spread = wide_tensor.mutable_bytes();
  std::memset(direction == Direction::Spread ? spread : narrow, 0,
              direction == Direction::Spread ? wide_tensor.bytes() : narrow_tensor.bytes());
  const auto place = [&](size_t axis, int64_t i) {
    const int64_t at = i * g.base[axis] + g.low[axis];
    return at < wide[axis] ? at : -1;
  };
  for (int64_t n = 0; n < g.batch; ++n) {
    for (int64_t i = 0; i < g.input[0]; ++i) {
      for (int64_t j = 0; j < g.input[1]; ++j) {
        for (int64_t k = 0; k < g.input[2]; ++k) {
          const int64_t x = place(0, i), y = place(1, j), z = place(2, k);
          if (x < 0 || y < 0 || z < 0) continue;
          std::byte* from =
              narrow + static_cast<size_t>(((n * g.input[0] + i) * g.input[1] + j) * g.input[2] + k) * bytes;
          std::byte* to = spread + static_cast<size_t>(((n * wide[0] + x) * wide[1] + y) * wide[2] + z) * bytes;
          if (direction == Direction::Spread)
            std::memcpy(to, from, bytes);
          else
            std::memcpy(from, to, bytes);
        }
      }
    }
  }
}

void run_spread(const KernelCall& call, const ConvGeometry& g) {
  std::array<int64_t, 3> wide;
  for (size_t i = 0; i < 3; ++i) wide[i] = (g.input[i] - 1) * g.base[i] + 1 + g.low[i] + g.high[i];
  TensorType type{call.dtype(), {g.batch}};
  for (size_t i = 3 - static_cast<size_t>(g.axes); i < 3; ++i) type.shape.push_back(wide[i]);
  type.shape.push_back(g.in);
  ConvAttrs attrs = call.attrs.as<ConvAttrs>();
  const auto axes = static_cast<size_t>(g.axes);
  attrs.low = attrs.high = Ints(axes, 0);
  attrs.base_dilation = Ints(axes, 1);
  const Tensor spread = Tensor::empty(type);
  if (role_of(call.op) == Role::InputGrad) {
    attrs.shape = type.shape;
    run({call.op, attrs, call.inputs, {&spread, 1}});
    return move_elements(g, wide, call.outputs[0], spread, Direction::Gather);
  }
  move_elements(g, wide, call.inputs[0], spread, Direction::Spread);
  Tensor inputs[3];
  for (size_t i = 0; i < call.inputs.size(); ++i) inputs[i] = i == 0 ? spread : call.inputs[i];
  run({call.op, attrs, {inputs, call.inputs.size()}, call.outputs});
}

// --- fixed pieces of the batch, one single-threaded call each ---

constexpr int64_t kPieces = 8;

Tensor samples(const Tensor& x, int64_t begin, int64_t end) {
  TensorType type = x.type();
  const size_t each = x.bytes() / static_cast<size_t>(type.shape[0].number());
  type.shape[0] = end - begin;
  return x.alias(type, static_cast<size_t>(begin) * each);
}

void add_to(const Tensor& sum, const Tensor& other) {
  auto* to = static_cast<float*>(static_cast<void*>(sum.mutable_bytes()));
  const auto* from = static_cast<const float*>(static_cast<const void*>(other.mutable_bytes()));
  parallel_for(sum.size(), 16384, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] += from[i];
  });
}

void run_pieces(const KernelCall& call, const ConvGeometry& g) {
  const int64_t pieces = std::min(kPieces, g.batch);
  const bool kernel_grad = role_of(call.op) == Role::KernelGrad;
  std::array<Tensor, kPieces> partial;
  for (int64_t i = 0; i < pieces && kernel_grad; ++i) {
    partial[static_cast<size_t>(i)] = i == 0 ? call.outputs[0] : Tensor::empty(call.outputs[0].type());
  }
  parallel_tasks(pieces, [&](int64_t i) {
    const int64_t begin = g.batch * i / pieces, end = g.batch * (i + 1) / pieces;
    Tensor inputs[3];
    for (size_t j = 0; j < call.inputs.size(); ++j)
      inputs[j] = j == 0 || (kernel_grad && j == 1) ? samples(call.inputs[j], begin, end) : call.inputs[j];
    const Tensor out = kernel_grad ? partial[static_cast<size_t>(i)] : samples(call.outputs[0], begin, end);
    const KernelCall piece{call.op, call.attrs, {inputs, call.inputs.size()}, {&out, 1}};
    run_primitive(piece, geometry(piece));
  });
  for (int64_t step = 1; step < pieces && kernel_grad; step *= 2) {
    for (int64_t i = 0; i + step < pieces; i += 2 * step)
      add_to(partial[static_cast<size_t>(i)], partial[static_cast<size_t>(i + step)]);
  }
}

// The kernel gradient of a 1x1 convolution is one matrix product, which sgemm computes 1.3 to 1.6 times faster than the
// 1x1 primitive where the kernel is not tiny (measured on AVX2).
bool is_product(const ConvGeometry& g) {
  constexpr int64_t kKernel = 64 * 64;
  for (size_t i = 0; i < 3; ++i) {
    if (g.kernel[i] != 1 || g.stride[i] != 1 || g.low[i] != 0 || g.high[i] != 0 || g.base[i] != 1) return false;
  }
  return g.groups == 1 && g.in * g.out >= kKernel;
}

void run_product(const KernelCall& call, const ConvGeometry& g) {
  Ints positions;
  for (int64_t axis = 0; axis <= g.axes; ++axis) positions.push_back(axis);
  const DotAttrs attrs{.lhs_batch = {}, .rhs_batch = {}, .lhs_contract = positions, .rhs_contract = positions};
  onednn::matmul({ops::dot_general, attrs, call.inputs, call.outputs});
}

void run(const KernelCall& call) {
  const bool pieces = onednn::fixed_partitions();
  if (is_half(call.dtype()) && (call.dtype() == f16 || !onednn::native_bf16() || pieces)) return run_in_f32(call, run);
  const ConvGeometry g = geometry(call);
  if (onednn::needs_spreading(g)) return run_spread(call, g);
  if (role_of(call.op) == Role::KernelGrad && call.dtype() == f32 && is_product(g)) return run_product(call, g);
  pieces ? run_pieces(call, g) : run_primitive(call, g);
}

}  // namespace

void install_onednn_convolution() {
  add_kernels(ops::convolution, {{.name = "onednn.convolution", .refuses = refuses, .run = run, .library = true}});
  add_kernels(ops::convolution_input_grad,
              {{.name = "onednn.convolution_input_grad", .refuses = refuses, .run = run, .library = true}});
  add_kernels(ops::convolution_kernel_grad,
              {{.name = "onednn.convolution_kernel_grad", .refuses = refuses, .run = run, .library = true}});
}

}  // namespace hone
