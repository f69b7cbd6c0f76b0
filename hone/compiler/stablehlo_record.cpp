// Decompositions and formulas as graphs: public ops, recorded.
#include <fmt/format.h>

#include <unordered_map>

#include "hone/compiler/stablehlo_forms.h"
#include "hone/ops/creation.h"
#include "hone/tensor/interpreter.h"

namespace hone::compiler {
namespace {

class Recorder final : public Interpreter {
 public:
  explicit Recorder(ir::Builder& builder) : builder_(builder) {}

  Tensor input(const TensorType& type) {
    Tensor tensor = Tensor::traced(type, *this, {});
    values_.emplace(tensor.id(), builder_.add_input(type, {}));
    keep_.push_back(tensor);
    return tensor;
  }

  ir::ValueId value(const Tensor& tensor) {
    if (const auto found = values_.find(tensor.id()); found != values_.end()) return found->second;
    ir::Input input;
    input.kind = ir::InputKind::Constant;
    input.tensor = tensor;
    keep_.push_back(tensor);
    return values_.emplace(tensor.id(), builder_.add_input(tensor.type(), std::move(input))).first->second;
  }

  void process(Call& call) override {
    SmallVector<ir::ValueId, 8> operands;
    for (const Tensor& input : call.inputs) operands.push_back(value(input));
    ir::Origin origin;
    if (call.location.known()) origin.lines.push_back(call.location);
    const uint32_t made = builder_.add(call.op, call.attrs, {operands.data(), operands.size()},
                                       static_cast<uint32_t>(call.outputs.size()), builder_.context().add(origin));
    const ir::ValueId first = builder_.graph().nodes()[made].first_result;
    for (uint32_t i = 0; i < call.outputs.size(); ++i) {
      call.outputs[i] = Tensor::traced(builder_.graph().type(first + i), *this, call.location);
      values_.emplace(call.outputs[i].id(), first + i);
      keep_.push_back(call.outputs[i]);
    }
  }

 private:
  ir::Builder& builder_;
  std::unordered_map<uint64_t, ir::ValueId> values_;
  std::vector<Tensor> keep_;  // ids are unique while their tensors live
};

}  // namespace

ir::Graph record(const std::shared_ptr<ir::Context>& context, std::span<const TensorType> types,
                 const Formula& formula) {
  ir::Builder builder(context);
  const InterpreterScope scope(nullptr);
  Recorder recorder(builder);
  std::vector<Tensor> inputs;
  for (const TensorType& type : types) inputs.push_back(recorder.input(type));
  recorder.push();
  const std::vector<Tensor> results = formula(inputs);
  recorder.remove();
  std::vector<ir::ValueId> outputs;
  for (const Tensor& result : results) outputs.push_back(recorder.value(result));
  return ir::prune(builder.finish(std::move(outputs)));
}

std::vector<ir::ValueId> apply(ir::Reader& reader, std::span<const ir::ValueId> values, const Formula& formula) {
  std::vector<TensorType> types;
  for (const ir::ValueId value : values) types.push_back(reader.type(value));
  const ir::Graph graph = record(reader.builder().graph().shared_context(), types, formula);
  return reader.inlined(graph, values);
}

void read_formula(ir::Reader& reader, const Formula& formula) {
  for (const ir::ValueId value : apply(reader, reader.all_operands(), formula)) reader.result(value);
}

bool write_composite(ir::Writer& writer, const ir::Node& node, const Formula& formula) {
  if (!is_static(writer, node)) return false;
  const std::vector<TensorType> types = writer.operand_types(node);
  const ir::Graph graph = record(writer.graph().shared_context(), types, formula);
  ir::Writer::Line line = writer.line(node, "stablehlo.composite");
  const std::string name = "hone." + std::string(node.op->name), fields = writer.dictionary(node.attrs);
  std::string rest = fields == "{}" ? "" : "composite_attributes = " + fields + ", ";
  rest += "decomposition = @" + writer.function(name, graph);
  line.pretty = fmt::format(" \"{}\" {} {{{}}}", name, joined(line.operands), rest);
  line.properties = fmt::format("name = \"{}\", {}", name, rest);
  writer.bind(node, line);
  return true;
}

bool is_static(const ir::Writer& writer, const ir::Node& node) {
  const auto fits = [](const TensorType& type) { return type.shape.is_static(); };
  return std::ranges::all_of(writer.operand_types(node), fits) && std::ranges::all_of(writer.result_types(node), fits);
}

Tensor scalar(double value, DType dtype) {
  const InterpreterScope scope(nullptr);
  return cast(Tensor(value), dtype);
}

std::string joined(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ", ")); }

ir::ValueId broadcast(ir::Reader& reader, ir::ValueId x, const Shape& shape, const Ints& dimensions) {
  if (reader.type(x).shape == shape) return x;
  return reader.add(ops::broadcast_in_dim, BroadcastAttrs{shape, dimensions}, {x});
}

}  // namespace hone::compiler
