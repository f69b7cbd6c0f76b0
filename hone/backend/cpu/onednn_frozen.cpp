// frozen_convolution and frozen_dense by oneDNN: bias, residual and activation inside the call, weights packed once.
#include "hone/backend/cpu/onednn_frozen.h"

#include <algorithm>
#include <cstring>

#include "hone/backend/cpu/install.h"
#include "hone/backend/cpu/onednn_descriptors.h"
#include "hone/base/probe.h"
#include "hone/base/small_vector.h"
#include "hone/device/device.h"
#include "hone/ops/frozen.h"

namespace hone {
namespace onednn {
namespace {

using dnnl::memory;

struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha, beta;
};

Eltwise eltwise_of(const FrozenAttrs& attrs) {
  using dnnl::algorithm;
  switch (static_cast<Activation>(attrs.activation)) {
    case Activation::Relu:
      return {algorithm::eltwise_relu, 0, 0};
    case Activation::LeakyRelu:
      return {algorithm::eltwise_relu, static_cast<float>(attrs.alpha), 0};
    case Activation::Relu6:
      return {algorithm::eltwise_clip, 0, 6};
    case Activation::Gelu:
      return {algorithm::eltwise_gelu_erf, 0, 0};
    case Activation::GeluTanh:
      return {algorithm::eltwise_gelu_tanh, 0, 0};
    case Activation::Silu:
      return {algorithm::eltwise_swish, 1, 0};
    case Activation::Hardswish:
      return {algorithm::eltwise_hardswish, 1.0F / 6, 0.5F};
    case Activation::Logistic:
      return {algorithm::eltwise_logistic, 0, 0};
    case Activation::Tanh:
    case Activation::None:
      break;
  }
  return {algorithm::eltwise_tanh, 0, 0};
}

void set(const memory& memory, const void* pointer) {
  dnnl_memory_set_data_handle(memory.get(), const_cast<void*>(pointer));
}

}  // namespace

dnnl::primitive_attr ending(const FrozenAttrs& attrs, bool residual) {
  dnnl::post_ops ops;
  if (residual) ops.append_sum(1.0F);
  if (static_cast<Activation>(attrs.activation) != Activation::None) {
    const Eltwise end = eltwise_of(attrs);
    ops.append_eltwise(1.0F, end.algorithm, end.alpha, end.beta);
  }
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

// Memory objects carry the pointers of a running call, so each call at a time has its own.
struct FrozenPrimitive::Arguments {
  explicit Arguments(const Parts& p)
      : source(p.source, engine(), nullptr),
        plain(p.plain, engine(), nullptr),
        weights(p.weights, engine(), nullptr),
        bias(p.bias, engine(), nullptr),
        result(p.result, engine(), nullptr),
        scratch(p.scratch, engine(), nullptr) {
    if (!p.enter) return;
    blocked_source = memory(p.blocked_source, engine(), nullptr);
    blocked_result = memory(p.blocked_result, engine(), nullptr);
  }
  dnnl::stream stream{engine()};
  memory source, plain, weights, bias, result, scratch, blocked_source, blocked_result;
};

FrozenPrimitive::FrozenPrimitive(Parts parts, int64_t rows, int threads)
    : parts_(std::move(parts)), rows_(rows), threads_(threads) {}

FrozenPrimitive::~FrozenPrimitive() {
  delete packed_.load();
  delete spare_.load();
}

size_t FrozenPrimitive::packed_bytes() const {
  const Packed* packed = packed_.load(std::memory_order_acquire);
  return packed ? packed->data->bytes() : 0;
}

Ref<Buffer> FrozenPrimitive::pack(Arguments& arguments, const std::byte* weights) const {
  Ref<Buffer> data = cpu().allocate(parts_.weights.get_size());
  set(arguments.plain, weights);
  set(arguments.weights, data->data());
  run_library([&] {
    dnnl::reorder(arguments.plain, arguments.weights).execute(arguments.stream, arguments.plain, arguments.weights);
  });
  return data;
}

// Packed once for weights with an identity; each time for those whose elements change.
Ref<Buffer> FrozenPrimitive::packed(Arguments& arguments, const Tensor& weights) const {
  const Packed* known = packed_.load(std::memory_order_acquire);
  if (known && known->tensor == weights.id()) return known->data;
  Ref<Buffer> data = pack(arguments, weights.mutable_bytes());
  if (known || weights.id() == 0) return data;
  const auto* const fresh = new Packed{weights.id(), data};
  if (!packed_.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) delete fresh;  // another was first
  return data;
}

void FrozenPrimitive::run(const std::byte* source, const Tensor& weights, const Tensor& bias, std::byte* result) const {
  std::unique_ptr<Arguments> arguments(spare_.exchange(nullptr, std::memory_order_acq_rel));
  if (!arguments) arguments = std::make_unique<Arguments>(parts_);
  SmallVector<Ref<Buffer>, 4> held;  // for the time of the call
  const auto lend = [&](memory& to, const memory::desc& desc) {
    held.push_back(cpu().allocate(desc.get_size()));
    set(to, held.back()->data());
  };
  if (parts_.weights == parts_.plain) {
    set(arguments->weights, weights.mutable_bytes());
  } else {
    held.push_back(packed(*arguments, weights));
    set(arguments->weights, held.back()->data());
  }
  set(arguments->source, source);
  set(arguments->bias, bias.mutable_bytes());
  set(arguments->result, result);
  const memory *from = &arguments->source, *to = &arguments->result;
  const bool blocked = static_cast<bool>(parts_.enter);
  if (blocked) {
    lend(arguments->blocked_source, parts_.blocked_source);
    lend(arguments->blocked_result, parts_.blocked_result);
    from = &arguments->blocked_source;
    to = &arguments->blocked_result;
  }
  dnnl_exec_arg_t list[5] = {{DNNL_ARG_SRC, from->get()},
                             {DNNL_ARG_WEIGHTS, arguments->weights.get()},
                             {DNNL_ARG_BIAS, arguments->bias.get()},
                             {DNNL_ARG_DST, to->get()}};
  int count = 4;
  if (parts_.scratch.get_size() > 0) {
    lend(arguments->scratch, parts_.scratch);
    list[count++] = {DNNL_ARG_SCRATCHPAD, arguments->scratch.get()};
  }
  run_library([&] {
    if (blocked) parts_.enter.execute(arguments->stream, arguments->source, arguments->blocked_source);
    dnnl::error::wrap_c_api(dnnl_primitive_execute(parts_.primitive.get(), arguments->stream.get(), count, list),
                            "a oneDNN primitive failed");
    if (blocked) parts_.leave.execute(arguments->stream, arguments->blocked_result, arguments->result);
  });
  delete spare_.exchange(arguments.release(), std::memory_order_acq_rel);
}

FrozenCall::FrozenCall(int64_t rows, std::function<FrozenPrimitive::Parts(int64_t)> make)
    : rows_(rows), make_(std::move(make)) {}

// Primitives are few: one, and one more after a change of the number of threads.
const FrozenPrimitive& FrozenCall::primitive(int64_t rows) const {
  const int threads = library_threads();
  const auto fits = [&](const FrozenPrimitive& p) { return p.rows() == rows && p.threads() == threads; };
  if (const FrozenPrimitive* last = last_.load(std::memory_order_acquire); last && fits(*last)) return *last;
  const std::lock_guard lock(mutex_);
  const FrozenPrimitive* found = nullptr;
  for (const auto& each : primitives_) {
    if (fits(*each)) found = each.get();
  }
  if (!found) {
    const probe::Scope timed("library", "primitive");
    FrozenPrimitive::Parts parts;
    run_library([&] { parts = make_(rows); });  // a primitive is made for the threads it finds
    found = primitives_.emplace_back(std::make_unique<FrozenPrimitive>(std::move(parts), rows, threads)).get();
  }
  last_.store(found, std::memory_order_release);
  return *found;
}

size_t FrozenCall::packed_bytes() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& each : primitives_) bytes += each->packed_bytes();
  return bytes;
}

void FrozenCall::run_rows(const KernelCall& call, int64_t begin, int64_t end) const {
  const auto at = [&](const Tensor& x, int64_t row) {
    return x.mutable_bytes() + static_cast<size_t>(row) * (x.bytes() / static_cast<size_t>(rows_));
  };
  primitive(end - begin).run(at(call.inputs[0], begin), call.inputs[1], call.inputs[2], at(call.outputs[0], begin));
}

void FrozenCall::run(const KernelCall& call) const {
  constexpr int64_t kPieces = 8;
  if (call.inputs.size() > 3 && call.inputs[3].mutable_bytes() != call.outputs[0].mutable_bytes())
    std::memcpy(call.outputs[0].mutable_bytes(), call.inputs[3].mutable_bytes(), call.outputs[0].bytes());
  if (!fixed_partitions()) return run_rows(call, 0, rows_);
  const int64_t pieces = std::min(kPieces, rows_);
  parallel_tasks(pieces, [&](int64_t i) { run_rows(call, rows_ * i / pieces, rows_ * (i + 1) / pieces); });
}

}  // namespace onednn

namespace {

using dnnl::memory;
using onednn::FrozenCall;
using onednn::FrozenPrimitive;

const char* refuses(const KernelQuery& query) {
  if (const char* why = onednn::refuses_library()) return why;
  if (query.inputs[0].dtype() != f32) return "the frozen call is for f32";
  for (const Tensor& input : query.inputs) {
    if (input.size() == 0) return "an operand is empty";
    if (input.size() > INT32_MAX) return "an operand has more than 2^31 elements";
  }
  return query.outputs[0].shape.count() == 0          ? "the result is empty"
         : query.outputs[0].shape.count() > INT32_MAX ? "the result has more than 2^31 elements"
                                                      : nullptr;
}

ConvGeometry geometry(const KernelQuery& query) {
  return {query.inputs[0].shape(), query.inputs[1].shape(), query.outputs[0].shape,
          query.attrs.as<FrozenConvAttrs>().conv};
}

const char* refuses_convolution(const KernelQuery& query) {
  if (const char* why = refuses(query)) return why;
  return onednn::needs_spreading(geometry(query)) ? "base dilation or negative padding" : nullptr;
}

// Whether Winograd's transform is worth the way into blocked layouts and back: many channels on large planes. By size
// alone, so that a call has the same bits each time.
bool suits_winograd(const ConvGeometry& g) {
  if (g.axes != 2 || g.groups != 1 || g.in < 64 || g.out < 64 || g.in % 16 != 0 || g.out % 16 != 0) return false;
  for (size_t i = 1; i < 3; ++i) {  // axis 0 is the added one
    if (g.kernel[i] != 3 || g.stride[i] != 1 || g.dilation[i] != 1 || g.low[i] > 1 || g.high[i] > 1 || g.result[i] < 14)
      return false;
  }
  return true;
}

// The convolution by Winograd's transform; without a primitive where oneDNN has none for this CPU.
FrozenPrimitive::Parts winograd(const onednn::ConvDescriptors& d, const dnnl::primitive_attr& attr) {
  using namespace dnnl;
  const auto any = [](const memory::desc& desc) {
    return memory::desc(desc.dims(), desc.data_type(), memory::format_tag::any);
  };
  const convolution_forward::primitive_desc pd(
      convolution_forward::desc(prop_kind::forward_inference, algorithm::convolution_winograd, any(d.source), d.kernel,
                                d.bias, any(d.result), d.strides, d.dilates, d.low, d.high),
      attr, onednn::engine(), true);
  if (!pd.get(true)) return {};
  FrozenPrimitive::Parts parts{
      convolution_forward(pd), d.source,           d.plain,       pd.weights_desc(), d.bias, d.result,
      pd.scratchpad_desc(),    pd.impl_info_str(), pd.src_desc(), pd.dst_desc()};
  const engine& e = onednn::engine();
  parts.enter = reorder({e, d.source, e, parts.blocked_source});
  parts.leave = reorder({e, parts.blocked_result, e, d.result});
  return parts;
}

FrozenPrimitive::Parts convolution(const ConvGeometry& g, const FrozenAttrs& after, bool residual) {
  using namespace dnnl;
  const onednn::ConvDescriptors d = onednn::descriptors(g, true, memory::data_type::f32);
  if (!residual && suits_winograd(g)) {
    if (FrozenPrimitive::Parts parts = winograd(d, onednn::ending(after, false)); parts.primitive) return parts;
  }
  const convolution_forward::primitive_desc pd(
      convolution_forward::desc(prop_kind::forward_inference, algorithm::convolution_direct, d.source, d.kernel, d.bias,
                                d.result, d.strides, d.dilates, d.low, d.high),
      onednn::ending(after, residual), onednn::engine());
  return {convolution_forward(pd), d.source,          d.plain, pd.weights_desc(), d.bias, d.result,
          pd.scratchpad_desc(),    pd.impl_info_str()};
}

std::shared_ptr<const void> prepare_convolution(const KernelQuery& query) {
  ConvGeometry g = geometry(query);
  const bool residual = query.inputs.size() > 3;
  return std::make_shared<FrozenCall>(
      g.batch, [g, residual, after = query.attrs.as<FrozenConvAttrs>().after](int64_t rows) mutable {
        g.batch = rows;
        return convolution(g, after, residual);
      });
}

FrozenPrimitive::Parts dense(int64_t m, int64_t k, int64_t n, const FrozenAttrs& after, bool residual) {
  using namespace dnnl;
  constexpr auto kType = memory::data_type::f32;
  const memory::desc source({m, k}, kType, memory::format_tag::nc), result({m, n}, kType, memory::format_tag::nc),
      bias({n}, kType, memory::format_tag::x), plain({n, k}, kType, memory::dims{1, n}),
      any({n, k}, kType, memory::format_tag::any);
  const inner_product_forward::primitive_desc pd(
      inner_product_forward::desc(prop_kind::forward_inference, source, any, bias, result),
      onednn::ending(after, residual), onednn::engine());
  return {inner_product_forward(pd), source, plain, pd.weights_desc(), bias, result, pd.scratchpad_desc(),
          pd.impl_info_str()};
}

std::shared_ptr<const void> prepare_dense(const KernelQuery& query) {
  const Shape& weights = query.inputs[1].shape();
  const int64_t k = weights[0].number(), n = weights[1].number();
  const bool residual = query.inputs.size() > 3;
  return std::make_shared<FrozenCall>(query.inputs[0].size() / k,
                                      [k, n, residual, after = query.attrs.as<FrozenAttrs>()](int64_t rows) {
                                        return dense(rows, k, n, after, residual);
                                      });
}

void run(const KernelCall& call) { static_cast<const FrozenCall*>(call.prepared)->run(call); }

}  // namespace

void install_onednn_frozen() {
  add_kernels(ops::frozen_convolution, {{.name = "onednn.frozen_convolution",
                                         .refuses = refuses_convolution,
                                         .run = run,
                                         .prepare = prepare_convolution,
                                         .library = true,
                                         .accumulates = 3}});
  add_kernels(ops::frozen_dense, {{.name = "onednn.frozen_dense",
                                   .refuses = refuses,
                                   .run = run,
                                   .prepare = prepare_dense,
                                   .library = true,
                                   .accumulates = 3}});
}

}  // namespace hone
