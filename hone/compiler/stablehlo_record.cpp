// Decompositions and formulas as graphs: public ops, recorded.
#include <fmt/format.h>

#include "hone/compiler/stablehlo_forms.h"
#include "hone/ir/recorder.h"
#include "hone/ops/creation.h"

namespace hone::compiler {
ir::Graph record(const std::shared_ptr<ir::Context>& context, std::span<const TensorType> types,
                 const Formula& formula) {
  const InterpreterScope scope(nullptr);
  ir::Recorder recorder(context);
  std::vector<Tensor> inputs;
  for (const TensorType& type : types) inputs.push_back(recorder.add_input(type, {}, {}));
  recorder.push();
  const std::vector<Tensor> results = formula(inputs);
  recorder.remove();
  std::vector<ir::ValueId> outputs;
  for (const Tensor& result : results) outputs.push_back(recorder.value_of(result, {}));
  for (size_t i = types.size(); i < recorder.builder().graph().inputs().size(); ++i)
    recorder.builder().input(static_cast<uint32_t>(i)).kind = ir::InputKind::Constant;
  return ir::prune(recorder.builder().finish(std::move(outputs)));
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
