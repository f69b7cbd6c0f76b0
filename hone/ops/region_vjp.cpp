#include "hone/ops/region_vjp.h"

#include <algorithm>
#include <cassert>
#include <unordered_set>

#include "hone/base/error.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/kernel.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

using ir::ValueId;

// Puts calls that have a gradient rule, and keep what it reads, in place of those that depend on what is followed.
class Expander final : public Interpreter {
 public:
  void follow(const Tensor& x) { followed_.insert(x.id()); }

  void process(Call& call) override {
    std::vector<bool> flags;
    for (const Tensor& input : call.inputs) flags.push_back(followed_.contains(input.id()));
    if (std::ranges::none_of(flags, std::identity())) return pass_on(call);
    if (!call.op.vjp) return call.op.decompose ? decompose(call) : pass_on(call);
    const auto record = [this](Call& made) {
      pass_on(made);
      for (const Tensor& output : made.outputs) {
        if (is_floating(output.dtype())) follow(output);
      }
    };
    call.op.keeping ? call_keeping(call, flags, record) : record(call);
  }

 private:
  std::unordered_set<uint64_t> followed_;
};

class NodeContext final : public VjpContext {
 public:
  NodeContext(const ir::Graph& program, const ir::Node& node, const std::vector<Tensor>& values,
              const std::vector<bool>& followed, std::vector<Tensor>& gradients)
      : program_(program), node_(node), values_(values), followed_(followed), gradients_(gradients) {}

  bool flows() const {
    for (uint32_t i = 0; i < node_.results; ++i) {
      if (gradients_[node_.first_result + i].defined()) return true;
    }
    return false;
  }
  const Tensor& in(int i) const override { return known(operand(i)); }
  const Tensor& out(int i) const override { return known(result(i)); }
  const Tensor& ct(int i) const override { return gradients_[result(i)]; }
  const TensorType& in_type(int i) const override { return program_.type(operand(i)); }
  const TensorType& out_type(int i) const override { return program_.type(result(i)); }
  int inputs() const override { return static_cast<int>(node_.operands); }
  bool need(int i) const override { return followed_[operand(i)]; }
  void set(int i, Tensor gradient) override {
    if (!need(i) || !gradient.defined()) return;
    const Location line = program_.origin(node_).location();
    Tensor& sum = gradients_[operand(i)];
    sum = sum.defined() ? add({std::move(sum), line}, {std::move(gradient), line}) : std::move(gradient);
  }
  Tensor take(int i) override { return need(i) ? std::exchange(gradients_[operand(i)], {}) : Tensor(); }
  AttrRef attrs() const override { return node_.attrs; }

 private:
  ValueId operand(int i) const { return program_.operands(node_)[static_cast<size_t>(i)]; }
  ValueId result(int i) const { return node_.first_result + static_cast<uint32_t>(i); }
  const Tensor& known(ValueId value) const {
    assert(values_[value].defined() && "the gradient rule reads a value that is not kept");
    return values_[value];
  }

  const ir::Graph& program_;
  const ir::Node& node_;
  const std::vector<Tensor>& values_;
  const std::vector<bool>& followed_;
  std::vector<Tensor>& gradients_;
};

// Computes what is not given, where the operands are there.
void complete(const ir::Graph& program, std::vector<Tensor>& values) {
  for (const ir::Node& node : program.nodes()) {
    const std::span<Tensor> results(values.data() + node.first_result, node.results);
    const auto defined = [](const Tensor& x) { return x.defined(); };
    if (std::ranges::all_of(results, defined) || ir::has_effect(node)) continue;
    std::vector<Tensor> operands, made(node.results);
    for (const ValueId operand : program.operands(node)) operands.push_back(values[operand]);
    if (!std::ranges::all_of(operands, defined)) continue;
    Call call{*node.op, node.attrs, operands, made, program.origin(node).location()};
    dispatch(call);
    for (uint32_t i = 0; i < node.results; ++i) {
      if (!results[i].defined()) results[i] = std::move(made[i]);
    }
  }
}

// Exact elementwise calls, views and what has no operands.
bool cheap(const ir::Node& node) {
  switch (node.op->op_class) {
    case OpClass::Elementwise:
      return node.op->numerics == NumericsClass::Exact;
    case OpClass::View:
    case OpClass::Creation:
      return true;
    default:
      return false;
  }
}

int64_t bytes_of(const TensorType& type) {
  int64_t bytes = static_cast<int64_t>(size_of(type.dtype));
  for (const Dim extent : type.shape) bytes *= extent.is_number() ? extent.number() : 1;
  return bytes;
}

// Which values to keep, from those that are read.
class Choice {
 public:
  Choice(const ir::Graph& program, const std::vector<bool>& known)
      : program_(program), known_(known), kept_(program.values()) {}

  void keep(ValueId value) { kept_[value] = !known_[value]; }

  std::vector<ValueId> chosen() {
    for (ValueId value = program_.values(); value-- > 0;) {
      if (!kept_[value] || program_.producer(value) == ir::kNone) continue;
      const ir::Node& node = program_.nodes()[program_.producer(value)];
      kept_[value] = false;
      if (there(value)) continue;
      // One operand that is no larger may serve others too.
      const std::span<const ValueId> operands = program_.operands(node);
      if (cheap(node) && operands.size() == 1 && bytes_of(program_.type(operands[0])) <= bytes_of(program_.type(value)))
        kept_[operands[0]] = true;
      else
        kept_[value] = true;
    }
    std::vector<ValueId> values;
    for (ValueId value = 0; value < program_.values(); ++value) {
      if (kept_[value]) values.push_back(value);
    }
    return values;
  }

 private:
  bool there(ValueId value) const {
    if (known_[value] || kept_[value]) return true;
    if (program_.producer(value) == ir::kNone) return false;
    const ir::Node& node = program_.nodes()[program_.producer(value)];
    return cheap(node) && std::ranges::all_of(program_.operands(node), [this](ValueId v) { return there(v); });
  }

  const ir::Graph& program_;
  const std::vector<bool>& known_;
  std::vector<bool> kept_;
};

}  // namespace

void call_keeping(Call& call, const std::vector<bool>& followed, FunctionRef<void(Call&)> record) {
  const Keeping keeping = call.op.keeping(call, followed);
  std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end()), outputs(keeping.results);
  inputs.insert(inputs.end(), keeping.operands.begin(), keeping.operands.end());
  Call kept{call.op, keeping.attrs, inputs, outputs, call.location};
  record(kept);
  std::copy_n(outputs.begin(), call.outputs.size(), call.outputs.begin());
}

ir::RegionProgram differentiable(const ir::Graph& program, const std::vector<bool>& followed, Location location) {
  const auto expand = [&](std::span<const Tensor> inputs) {
    Expander expander;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (followed[i]) expander.follow(inputs[i]);
    }
    expander.push();
    std::vector<Tensor> results = ir::interpret(program, inputs);
    expander.remove();
    return results;
  };
  return ir::record_region(ir::region_context(), ir::input_types(program), expand, location);
}

std::vector<bool> followed_values(const ir::Graph& program, const std::vector<bool>& followed) {
  std::vector<bool> flags(program.values());
  for (size_t i = 0; i < followed.size(); ++i) flags[program.inputs()[i].value] = followed[i];
  for (const ir::Node& node : program.nodes()) {
    if (!node.op->vjp || std::ranges::none_of(program.operands(node), [&](ValueId v) { return flags[v]; })) continue;
    for (uint32_t i = 0; i < node.results; ++i)
      flags[node.first_result + i] = is_floating(program.type(node.first_result + i).dtype);
  }
  return flags;
}

namespace {

// By recording the gradient.
void keep_what_is_read(const ir::Graph& program, const std::vector<bool>& followed, const std::vector<bool>& flows,
                       Location location, Choice& choice) {
  std::vector<TensorType> types;
  for (ValueId value = 0; value < program.values(); ++value) types.push_back(program.type(value));
  for (const ValueId output : program.outputs()) types.push_back(program.type(output));
  const auto back = [&](std::span<const Tensor> all) {
    std::vector<Tensor> values(all.begin(), all.begin() + program.values());
    std::vector<Tensor> cotangents(all.begin() + program.values(), all.end());
    for (size_t i = 0; i < cotangents.size(); ++i) {
      if (!flows[program.outputs()[i]]) cotangents[i] = Tensor();
    }
    std::vector<Tensor> found = region_vjp(program, std::move(values), followed, cotangents);
    std::erase_if(found, [](const Tensor& x) { return !x.defined(); });
    return found;
  };
  const ir::Graph graph = ir::prune(ir::record_region(ir::region_context(), types, back, location).graph);
  const ir::Users users(graph);
  for (ValueId value = 0; value < program.values(); ++value) {
    const ValueId read = graph.inputs()[value].value;
    if (!users.of(read).empty() || users.outputs[read] > 0) choice.keep(value);
  }
}

}  // namespace

std::vector<ir::ValueId> residuals(const ir::Graph& program, const std::vector<bool>& followed,
                                   const std::vector<bool>& known, Location location) {
  Choice choice(program, known);
  const std::vector<bool> flows = followed_values(program, followed);
  try {
    keep_what_is_read(program, followed, flows, location, choice);
  } catch (const Error&) {
    // A call has no gradient, which is an error only where one is asked for: what the rules may read.
    for (const ir::Node& node : program.nodes()) {
      if (node.results == 0 || !flows[node.first_result]) continue;
      for (uint32_t i = 0; i < node.operands; ++i) {
        if (node.op->reads.input(i)) choice.keep(program.operands(node)[i]);
      }
      for (uint32_t i = 0; i < node.results; ++i) {
        if (node.op->reads.output(i)) choice.keep(node.first_result + i);
      }
    }
  }
  return choice.chosen();
}

std::vector<Tensor> region_vjp(const ir::Graph& program, std::vector<Tensor> values, const std::vector<bool>& needed,
                               std::span<const Tensor> cotangents, std::span<const Tensor> sums) {
  complete(program, values);
  const std::vector<bool> followed = followed_values(program, needed);
  std::vector<Tensor> gradients(program.values()), found;
  for (size_t i = 0; i < sums.size(); ++i) gradients[program.inputs()[i].value] = sums[i];
  for (size_t i = 0; i < program.outputs().size(); ++i) {
    if (!cotangents[i].defined() || !followed[program.outputs()[i]]) continue;
    Tensor& sum = gradients[program.outputs()[i]];
    sum = sum.defined() ? sum + cotangents[i] : cotangents[i];
  }
  for (size_t n = program.nodes().size(); n-- > 0;) {
    const ir::Node& node = program.nodes()[n];
    if (!node.op->vjp) continue;
    NodeContext context(program, node, values, followed, gradients);
    if (!context.flows()) continue;
    const LocationScope scope(program.origin(node).location());
    node.op->vjp(context);
  }
  for (size_t i = 0; i < needed.size(); ++i)
    found.push_back(needed[i] ? gradients[program.inputs()[i].value] : Tensor());
  return found;
}

}  // namespace hone
