#include "hone/function/concrete.h"

#include <fmt/format.h>

#include "hone/tensor/donation.h"
#include "hone/tensor/interpreter.h"

namespace hone::function_detail {
namespace {

Tensor owned(const Tensor& x) {
  Tensor copy = Tensor::empty(x.type());
  x.copy_to(copy.mutable_bytes());
  return copy;
}

// One call: what goes in, what comes out.
class Run {
 public:
  Run(const Concrete& concrete, std::span<const Tensor> leaves, Location call)
      : concrete_(concrete),
        executable_(*concrete.compiled.executable),
        wanted_(executable_.graph().inputs()),
        made_(executable_.graph().outputs()),
        leaves_(leaves),
        call_(call),
        inputs_(wanted_.size()),
        outputs_(made_.size()) {}

  void run() {
    try {
      for (size_t i = 0; i < wanted_.size(); ++i) prepare(i);
      for (size_t i = 0; i < made_.size(); ++i) {
        if (executable_.outputs()[i].kind != compiler::OutputPlace::Donated)
          outputs_[i] = Tensor::empty(executable_.graph().type(made_[i]));
      }
      executable_.run({inputs_.data(), inputs_.size()}, {outputs_.data(), outputs_.size()});
    } catch (...) {
      put_back();
      throw;
    }
  }

  void finish(Leaves& results, Statics& structure) {
    const Trace& trace = *concrete_.trace;
    for (size_t i = 0; i < wanted_.size(); ++i) {
      const uint32_t output = wanted_[i].new_value;
      if (output == ir::kNone) continue;
      // Written memory is another value: it gets an identity of its own.
      const Tensor value = outputs_[output].defined() ? outputs_[output] : inputs_[i].alias(inputs_[i].type());
      inputs_[i] = Tensor();
      if (output < trace.results) outputs_[output] = value;
      if (is_variable(i)) trace.variables[concrete_.argument_of_input[i]].assign(value);
    }
    for (size_t i = 0; i < trace.results; ++i) results.push_back(std::move(outputs_[i]));
    structure = trace.structure;
  }

 private:
  bool is_variable(size_t i) const { return wanted_[i].kind == ir::InputKind::Variable; }

  void prepare(size_t i) {
    const uint32_t from = concrete_.argument_of_input[i];
    const bool changes = wanted_[i].new_value != ir::kNone;
    if (wanted_[i].kind == ir::InputKind::Argument) {
      if (!leaves_[from].concrete()) [[unlikely]]
        fail_traced(leaves_[from], call_);
      inputs_[i] = changes ? take_memory(leaves_[from], call_).dense() : leaves_[from].dense();
    } else if (is_variable(i)) {
      const Variable& variable = concrete_.trace->variables[from];
      Tensor value = variable.value();
      if (!value.concrete()) [[unlikely]]
        fail_traced(value, call_);
      value = Tensor();  // the variable's own is the only handle
      inputs_[i] = changes ? variable.take() : variable.value();
    }
    if (changes && executable_.outputs()[wanted_[i].new_value].kind == compiler::OutputPlace::Donated &&
        !inputs_[i].exclusive())
      inputs_[i] = owned(inputs_[i]);
  }

  void put_back() {
    for (size_t i = 0; i < wanted_.size(); ++i) {
      if (wanted_[i].new_value != ir::kNone && is_variable(i) && inputs_[i].defined())
        concrete_.trace->variables[concrete_.argument_of_input[i]].assign(inputs_[i]);
    }
  }

  const Concrete& concrete_;
  const compiler::Executable& executable_;
  std::span<const ir::Input> wanted_;
  std::span<const ir::ValueId> made_;
  std::span<const Tensor> leaves_;
  Location call_;
  SmallVector<Tensor, 32> inputs_, outputs_;
};

}  // namespace

void execute(const Concrete& concrete, std::span<const Tensor> leaves, Location call, Leaves& results,
             Statics& structure) {
  Run run(concrete, leaves, call);
  run.run();
  run.finish(results, structure);
}

std::string describe_donation(const Trace& trace, const compiler::Executable& executable) {
  std::string text;
  const ir::Graph& graph = executable.graph();
  for (const ir::Input& input : graph.inputs()) {
    if (input.kind != ir::InputKind::Argument || input.new_value == ir::kNone) continue;
    const bool used = executable.outputs()[input.new_value].kind == compiler::OutputPlace::Donated;
    text += fmt::format("    {} is donated to result {} of {}: {}\n", input.name, input.new_value, trace.results,
                        used ? "written over"
                             : "let go after the call, because the result's last call cannot write over what it reads");
  }
  return text;
}

}  // namespace hone::function_detail
