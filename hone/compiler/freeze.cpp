#include "hone/compiler/freeze.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "hone/base/error.h"
#include "hone/compiler/passes.h"
#include "hone/ops/creation.h"
#include "hone/ops/frozen.h"
#include "hone/ops/movement.h"
#include "hone/tensor/interpreter.h"

namespace hone::compiler {
namespace {

/// All calls of `graph` over a builder that has its inputs; `map` says what became of them.
ir::Graph copy_nodes(const ir::Graph& graph, ir::Builder& to, std::vector<ir::ValueId>& map) {
  for (const ir::Node& node : graph.nodes()) {
    SmallVector<ir::ValueId, 8> operands;
    for (const ir::ValueId operand : graph.operands(node)) operands.push_back(map[operand]);
    const uint32_t made = to.add(*node.op, node.attrs, {operands.data(), operands.size()}, node.results, node.origin);
    for (uint32_t i = 0; i < node.results; ++i) map[node.first_result + i] = to.graph().nodes()[made].first_result + i;
  }
  std::vector<ir::ValueId> outputs;
  for (const ir::ValueId output : graph.outputs()) outputs.push_back(map[output]);
  ir::Graph result = to.finish(std::move(outputs));
  result.name = graph.name;
  return result;
}

constexpr uint32_t kNone = ir::kNone;
constexpr size_t kSpareBytes = size_t{1} << 16;  // by which folding may enlarge constants

size_t bytes_of(const TensorType& type) { return static_cast<size_t>(type.shape.count()) * size_of(type.dtype); }

// The variables' values in place of the cells.
ir::Graph with_values(const ir::Graph& graph, std::span<const Tensor> variables) {
  ir::Builder to(graph.shared_context());
  std::vector<ir::ValueId> map(graph.values());
  size_t variable = 0;
  for (ir::Input input : graph.inputs()) {
    if (input.new_value != kNone) {
      throw Error(
          Code::kFailedPrecondition,
          {.what = fmt::format("'{}' assigns the variable '{}': a frozen program has none", graph.name, input.name),
           .fix = "freeze what the model does with training = false"});
    }
    const ir::ValueId old = input.value;
    if (input.kind == ir::InputKind::Variable) {
      input.kind = ir::InputKind::Constant;
      const Tensor value = variables[variable++].dense();
      input.tensor = value.alias(value.type());  // stays when the variable's tensor is donated
    }
    map[old] = to.add_input(graph.type(old), std::move(input));
  }
  return copy_nodes(graph, to, map);
}

// A library call under way: written when somebody needs its value.
struct Pending {
  const Op* frozen = nullptr;
  ConvAttrs conv{};
  ir::ValueId x = kNone;  // of the new graph
  Tensor weights{};       // [..., channels]
  Tensor bias{};          // undefined: none
  ir::ValueId residual = kNone;
  FrozenAttrs after{};
  uint32_t origin = 0;
  bool done = false;
  bool open() const { return after.activation == static_cast<int64_t>(Activation::None); }
  int64_t channels() const { return weights.dim(-1); }
};

class Freezer {
 public:
  Freezer(const ir::Graph& graph, FreezeReport& report)
      : graph_(graph),
        users_(graph),
        rewriter_(graph),
        report_(report),
        known_(graph.values()),
        waits_(graph.values()),
        pending_of_(graph.values(), kNone) {}

  ir::Graph run() {
    for (const ir::Input& input : graph_.inputs()) {
      if (input.tensor.defined()) known_[input.value] = input.tensor;
    }
    for (const ir::Node& node : graph_.nodes()) {
      if (fold(node)) continue;
      if (begin(node) || affine(node) || residual(node) || activation(node)) continue;
      for (const ir::ValueId operand : graph_.operands(node)) need(operand);
      rewriter_.copy(node);
    }
    for (const ir::ValueId output : graph_.outputs()) need(output);
    return rewriter_.finish();
  }

 private:
  ir::ValueId in(const ir::Node& node, size_t i) const { return graph_.operands(node)[i]; }
  bool single(ir::ValueId value) const { return users_.outputs[value] == 0 && users_.of(value).size() == 1; }
  Pending* pending(ir::ValueId value) { return pending_of_[value] == kNone ? nullptr : &pendings_[pending_of_[value]]; }

  // Calls of weights alone: computed now, written when somebody needs them. Views are written again: they cost nothing.
  bool fold(const ir::Node& node) {
    if (node.op == &ops::constant) return literal(node);
    if (node.operands == 0 || node.results != 1 || ir::has_effect(node) || node.op->op_class == OpClass::Random)
      return false;
    const TensorType& type = graph_.type(node.first_result);
    if (!type.shape.is_static()) return false;
    size_t bytes = 0;
    SmallVector<Tensor, 8> operands;
    for (const ir::ValueId operand : graph_.operands(node)) {
      if (!known_[operand].defined()) return false;
      operands.push_back(known_[operand]);
      bytes += bytes_of(graph_.type(operand));
    }
    const bool view = node.op->view != nullptr;
    if (!view && bytes_of(type) > bytes + kSpareBytes) return false;
    known_[node.first_result] = dispatch(*node.op, node.attrs, {operands.data(), operands.size()}, {});
    if (view) {
      for (const ir::ValueId operand : graph_.operands(node)) need(operand);
      rewriter_.copy(node);
    } else {
      waits_[node.first_result] = true;
      ++report_.folded_weights;
    }
    return true;
  }

  bool literal(const ir::Node& node) {
    const auto& attrs = node.attrs.as<ConstantAttrs>();
    if (attrs.shape.is_static() && bytes_of({attrs.dtype, attrs.shape}) <= kSpareBytes)
      known_[node.first_result] = dispatch(*node.op, node.attrs, {}, {});
    rewriter_.copy(node);
    return true;
  }

  ir::ValueId constant(const Tensor& value) {
    const Tensor dense = value.dense();
    return rewriter_.to().add_input(dense.type(), {.kind = ir::InputKind::Constant, .tensor = dense});
  }

  // Writes what the value waits for.
  ir::ValueId need(ir::ValueId value) {
    if (waits_[value]) {
      waits_[value] = false;
      rewriter_.set(value, constant(known_[value]));
    } else if (Pending* p = pending(value); p && !p->done) {
      p->done = true;
      write(*p, value);
    }
    return rewriter_[value];
  }

  void write(const Pending& p, ir::ValueId value) {
    const bool convolves = p.frozen == &ops::frozen_convolution;
    const Tensor bias = p.bias.defined() ? p.bias : zeros({p.channels()}, p.weights.dtype());
    SmallVector<ir::ValueId, 4> operands{p.x, constant(p.weights), constant(bias)};
    if (p.residual != kNone) operands.push_back(p.residual);
    const std::span<const ir::ValueId> span(operands.data(), operands.size());
    rewriter_.set(value, convolves ? rewriter_.to().add_one(*p.frozen, FrozenConvAttrs{p.conv, p.after}, span, p.origin)
                                   : rewriter_.to().add_one(*p.frozen, p.after, span, p.origin));
    ++(convolves ? report_.frozen_convolutions : report_.frozen_dense);
  }

  bool begin(const ir::Node& node) {
    const bool convolves = node.op == &ops::convolution;
    if (!convolves && node.op != &ops::dense) return false;
    const DType dtype = graph_.type(node.first_result).dtype;
    const Tensor& weights = known_[in(node, 1)];
    if ((dtype != f32 && dtype != f64) || !weights.defined()) return false;
    if (node.operands == 3 && !known_[in(node, 2)].defined()) return false;
    Pending p{.frozen = convolves ? &ops::frozen_convolution : &ops::frozen_dense};
    if (convolves) p.conv = node.attrs.as<ConvAttrs>();
    p.x = need(in(node, 0));
    p.weights = weights;
    if (node.operands == 3) p.bias = known_[in(node, 2)];
    p.origin = node.origin;
    pending_of_[node.first_result] = static_cast<uint32_t>(pendings_.size());
    pendings_.push_back(std::move(p));
    return true;
  }

  // The call under way that gives operand i, if it may still change: nobody else reads it.
  Pending* open(const ir::Node& node, size_t i) {
    const ir::ValueId value = in(node, i);
    Pending* p = pending(value);
    return p && !p->done && p->open() && single(value) ? p : nullptr;
  }

  void pass_on(const ir::Node& node, size_t i, Pending& p) {
    pending_of_[node.first_result] = std::exchange(pending_of_[in(node, i)], kNone);
    p.origin = graph_.context().merge(p.origin, node.origin);
  }

  // The numbers of a value that is one for each channel (the last axis), in f64.
  std::optional<std::vector<double>> by_channel(ir::ValueId value, int64_t channels) {
    Tensor numbers = known_[value];
    const uint32_t producer = graph_.producer(value);
    if (producer != kNone) {
      const ir::Node& node = graph_.nodes()[producer];
      if (node.op == &ops::constant) {
        const auto& attrs = node.attrs.as<ConstantAttrs>();
        numbers = dispatch(ops::constant, ConstantAttrs{attrs.dtype, {}, attrs.bits}, {}, {});
      } else if (node.op == &ops::broadcast_in_dim) {
        const auto& attrs = node.attrs.as<BroadcastAttrs>();
        const auto inner = by_channel(in(node, 0), channels);
        const TensorType& type = graph_.type(in(node, 0));
        const bool one = type.shape.is_static() && type.shape.count() == 1;
        const bool last = !attrs.dimensions.empty() && attrs.dimensions.back() == attrs.shape.rank() - 1;
        return one || last ? inner : std::nullopt;
      }
    }
    if (!numbers.defined() || !is_floating(numbers.dtype())) return std::nullopt;
    const int64_t size = numbers.size();
    if (size != 1 && (size != channels || numbers.dim(-1) != channels)) return std::nullopt;
    const Tensor wide = cast(numbers, f64).dense();
    const std::span<const double> found = wide.data<double>();
    return size == 1 ? std::vector<double>(static_cast<size_t>(channels), found[0])
                     : std::vector<double>(found.begin(), found.end());
  }

  // y scale + offset inside weights and bias.
  static void apply(Pending& p, const std::vector<double>& scale, const std::vector<double>& offset) {
    const DType dtype = p.weights.dtype();
    const auto channels = static_cast<size_t>(p.channels());
    const bool scaled = std::ranges::any_of(scale, [](double s) { return s != 1; });
    if (scaled) {
      Tensor wide = Tensor::empty({f64, p.weights.shape()});
      cast(p.weights, f64).copy_to(wide.mutable_bytes());
      auto* data = static_cast<double*>(static_cast<void*>(wide.mutable_bytes()));
      for (int64_t i = 0; i < wide.size(); ++i) data[i] *= scale[static_cast<size_t>(i) % channels];
      p.weights = cast(wide, dtype);
    }
    Tensor sum = Tensor::empty({f64, {p.channels()}});
    auto* data = static_cast<double*>(static_cast<void*>(sum.mutable_bytes()));
    std::fill_n(data, channels, 0.0);
    if (p.bias.defined()) cast(p.bias, f64).copy_to(sum.mutable_bytes());
    for (size_t c = 0; c < channels; ++c) data[c] = data[c] * scale[c] + offset[c];
    p.bias = cast(sum, dtype);
  }

  bool affine(const ir::Node& node) {
    if (node.op == &ops::batch_norm_inference) return norm(node);
    const bool product = node.op == &ops::multiply, quotient = node.op == &ops::divide;
    const bool difference = node.op == &ops::subtract;
    if (!product && !quotient && !difference && node.op != &ops::add) return false;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      Pending* p = open(node, i);
      if (!p || p->residual != kNone || (quotient && i == 1)) continue;
      auto numbers = by_channel(in(node, 1 - i), p->channels());
      if (!numbers || !(graph_.type(node.first_result) == graph_.type(in(node, i)))) continue;
      std::vector<double> scale(numbers->size(), difference && i == 1 ? -1.0 : 1.0), offset(numbers->size(), 0.0);
      if (quotient) std::ranges::transform(*numbers, numbers->begin(), [](double x) { return 1 / x; });
      if (difference && i == 0) std::ranges::transform(*numbers, numbers->begin(), std::negate());
      (product || quotient ? scale : offset) = *numbers;
      apply(*p, scale, offset);
      pass_on(node, i, *p);
      ++report_.folded_scales;
      return true;
    }
    return false;
  }

  bool norm(const ir::Node& node) {
    Pending* p = open(node, 0);
    if (!p || p->residual != kNone) return false;
    std::optional<std::vector<double>> parts[4];  // scale, offset, mean, variance
    for (size_t i = 0; i < 4; ++i) {
      parts[i] = by_channel(in(node, i + 1), p->channels());
      if (!parts[i]) return false;
    }
    const double epsilon = node.attrs.as<NormAttrs>().epsilon;
    std::vector<double> scale = *parts[0], offset = *parts[1];
    for (size_t c = 0; c < scale.size(); ++c) {
      scale[c] /= std::sqrt((*parts[3])[c] + epsilon);
      offset[c] -= (*parts[2])[c] * scale[c];
    }
    apply(*p, scale, offset);
    pass_on(node, 0, *p);
    ++report_.folded_scales;
    return true;
  }

  bool residual(const ir::Node& node) {
    if (node.op != &ops::add || in(node, 0) == in(node, 1)) return false;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      Pending* p = open(node, i);
      const TensorType& type = graph_.type(in(node, i));
      if (!p || p->residual != kNone || !(type == graph_.type(in(node, 1 - i)))) continue;
      const ir::ValueId other = need(in(node, 1 - i));
      p->residual = other;
      pass_on(node, i, *p);
      ++report_.fused_residuals;
      return true;
    }
    return false;
  }

  bool activation(const ir::Node& node) {
    if (node.operands != 1) return false;
    const FrozenAttrs after = as_activation(*node.op, node.attrs);
    if (after.activation == static_cast<int64_t>(Activation::None)) return false;
    Pending* p = open(node, 0);
    if (!p) return false;
    p->after = after;
    pass_on(node, 0, *p);
    ++report_.fused_activations;
    return true;
  }

  const ir::Graph& graph_;
  const ir::Users users_;
  ir::Rewriter rewriter_;
  FreezeReport& report_;
  std::vector<Tensor> known_;  // values of weights alone
  std::vector<bool> waits_;    // known by folding and not written yet
  std::vector<Pending> pendings_;
  std::vector<uint32_t> pending_of_;  // by value of the old graph
};

// Inputs that hold a tensor nobody reads go with it.
ir::Graph drop_unused_constants(const ir::Graph& graph) {
  const ir::Users users(graph);
  ir::Builder to(graph.shared_context());
  std::vector<ir::ValueId> map(graph.values(), kNone);
  for (const ir::Input& input : graph.inputs()) {
    const bool used = users.outputs[input.value] > 0 || !users.of(input.value).empty();
    if (used || !input.tensor.defined()) map[input.value] = to.add_input(graph.type(input.value), input);
  }
  return copy_nodes(graph, to, map);
}

}  // namespace

ir::Graph freeze(const ir::Graph& graph, std::span<const Tensor> variables, FreezeReport* report) {
  ensure_defaults();
  const InterpreterScope now(nullptr);
  FreezeReport ignored;
  FreezeReport& r = report ? *report : ignored;
  const ir::Graph start = remove_dead(simplify(decompose(remove_dead(with_values(graph, variables)))));
  r = {.calls_before = static_cast<int64_t>(remove_dead(graph).nodes().size())};
  ir::Graph result = drop_unused_constants(remove_dead(Freezer(start, r).run()));
  r.calls_after = static_cast<int64_t>(result.nodes().size());
  return result;
}

}  // namespace hone::compiler
