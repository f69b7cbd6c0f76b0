#include "hone/train/model.h"

#include <fmt/format.h>

#include <optional>

#include "hone/base/error.h"
#include "hone/function/tape.h"
#include "hone/ops/creation.h"
#include "hone/ops/kernel.h"
#include "hone/ops/movement.h"
#include "hone/train/model_state.h"
#include "hone/train/sequential.h"

namespace hone::nn {
namespace {

// Counts the multiply-adds of library ops that pass.
class CostCounter final : public Interpreter {
 public:
  CostCounter() { push(); }
  void process(Call& call) override {
    if (call.op.op_class == OpClass::Composite && call.op.decompose) return decompose(call);
    pass_on(call);
    if (call.op.op_class != OpClass::Library || !call.op.cost) return;
    std::vector<const TensorType*> inputs;
    std::vector<TensorType> outputs;
    for (const Tensor& input : call.inputs) inputs.push_back(&input.type());
    for (const Tensor& output : call.outputs) outputs.push_back(output.type());
    total += call.op.cost(call.attrs, inputs, outputs).flops / 2;
  }
  double total = 0;
};

std::string with_separators(int64_t n) {
  std::string digits = std::to_string(n), text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string shape_of(const TensorType& type) {
  std::string text = "(batch";
  for (int i = 1; i < type.shape.rank(); ++i) text += ", " + to_string(type.shape[i]);
  return text + ")";
}

// Puts back what calls change for as long as it lives.
class StateKept {
 public:
  explicit StateKept(const Layer& layer) : variables_(layer.non_trainable_variables()) {
    for (const Variable& each : variables_) values_.push_back(each.value());
  }
  ~StateKept() {
    for (size_t i = 0; i < variables_.size(); ++i) variables_[i].assign(values_[i]);
  }
  StateKept(const StateKept&) = delete;
  StateKept& operator=(const StateKept&) = delete;

 private:
  std::vector<Variable> variables_;
  std::vector<Tensor> values_;
};

}  // namespace

double multiply_adds(const Layer& layer, const Tensor& x) {
  const NoGradScope quiet;
  CostCounter counter;
  layer(x);
  return counter.total;
}

std::vector<std::pair<std::string, Variable>> named_trainable_variables(const Layer& layer) {
  std::vector<std::pair<std::string, Variable>> variables = layer.named_variables();
  std::erase_if(variables, [](const auto& named) { return !named.second.trainable(); });
  return variables;
}

Model::Model(const Layer& layer) : Layer(layer.impl()), state_(std::make_shared<State>()) {}

void Model::compile(CompileOptions options) {
  state_->compile = std::move(options);
  state_->compiled = true;
  state_->steps.reset();
}

const optim::Optimizer& Model::optimizer() const { return state_->compile.optimizer; }
const Loss& Model::loss() const { return state_->compile.loss; }
bool Model::compiled() const { return state_->compiled; }
const TensorType& Model::input_type() const {
  Shape& shape = state_->input_type.shape;
  const int64_t batch = batch_size();  // known once it is built
  if (batch > 0 && shape.rank() > 0 && shape[0] != Dim(batch)) shape[0] = batch;
  return state_->input_type;
}
void Model::set_input_type(const TensorType& type) {
  state_->input_type = type;
  if (type.shape.rank() > 0) state_->input_type.shape[0] = 1;
}
const Preprocessing& Model::preprocessing() const { return state_->preprocessing; }
void Model::set_preprocessing(const Preprocessing& preprocessing) { state_->preprocessing = preprocessing; }
const std::vector<std::string>& Model::class_names() const { return state_->class_names; }
void Model::set_class_names(std::vector<std::string> names) { state_->class_names = std::move(names); }

std::string Model::summary() const {
  if (input_type().shape.rank() == 0) {
    throw Error(Code::kFailedPrecondition, "summary needs the input's shape",
                "call the model's fit first, or set_input_type({f32, {1, 28, 28, 1}})");
  }
  struct Row {
    std::string layer, output, parameters, multiply_adds;
  };
  std::optional<StateKept> kept;
  if (batch_size() > 0) kept.emplace(*this);
  std::vector<Row> rows{{"layer", "output", "parameters", "multiply-adds"}};
  const NoGradScope quiet;
  Tensor x = zeros(input_type().shape, input_type().dtype);
  double total = 0;
  const auto add = [&](const Layer& layer, const Tensor& input) {
    CostCounter counter;
    const Tensor output = layer(input);
    counter.total /= static_cast<double>(x.dim(0));
    total += counter.total;
    rows.push_back({fmt::format("{} ({})", layer.name(), layer.module().type()), shape_of(output.type()),
                    with_separators(layer.parameters()), with_separators(static_cast<int64_t>(counter.total))});
    return output;
  };
  if (dynamic_cast<SequentialModule*>(&module())) {
    for (const auto& [name, child] : module().children()) x = add(child, x);
  } else {
    add(*this, x);
  }
  size_t widths[3] = {0, 0, 0};
  for (const Row& row : rows) {
    widths[0] = std::max(widths[0], row.layer.size());
    widths[1] = std::max(widths[1], row.output.size());
    widths[2] = std::max(widths[2], row.parameters.size());
  }
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("{:<{}}  {:<{}}  {:>{}}  {:>13}\n", row.layer, widths[0], row.output, widths[1], row.parameters,
                        widths[2], row.multiply_adds);
    if (&row == &rows.front()) text += std::string(widths[0] + widths[1] + widths[2] + 19, '-') + "\n";
  }
  int64_t trainable = 0;
  for (const Variable& variable : trainable_variables()) trainable += variable.size();
  text +=
      fmt::format("total: {} parameters ({} trainable), {} multiply-adds an example\n", with_separators(parameters()),
                  with_separators(trainable), with_separators(static_cast<int64_t>(total)));
  return text;
}

}  // namespace hone::nn
