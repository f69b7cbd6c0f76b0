#include "hone/ir/region.h"

namespace hone::ir {

std::vector<TensorType> input_types(const Graph& graph) {
  std::vector<TensorType> types;
  for (const Input& input : graph.inputs()) types.push_back(graph.type(input.value));
  return types;
}
std::vector<TensorType> output_types(const Graph& graph) {
  std::vector<TensorType> types;
  for (const ValueId value : graph.outputs()) types.push_back(graph.type(value));
  return types;
}
std::vector<TensorType> types_of(std::span<const Tensor> tensors) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type());
  return types;
}

size_t Captures::add(const Tensor& tensor) {
  const auto [found, fresh] = places_.try_emplace(tensor.id(), tensors_.size());
  if (fresh) tensors_.push_back(tensor);
  return found->second;
}

std::vector<Tensor> RegionRecorder::declare(std::span<const TensorType> types, Location location) {
  std::vector<Tensor> values;
  for (const TensorType& type : types) values.push_back(add_input(type, {}, location));
  return values;
}

Graph RegionRecorder::finish(std::span<const Tensor> results, Location location) {
  std::vector<ValueId> outputs;
  for (const Tensor& result : results) outputs.push_back(value_of(result, location));
  return builder().finish(std::move(outputs));
}

ValueId RegionRecorder::capture(const Tensor& tensor, Location) {
  captured_.push_back(tensor);
  return builder().add_input(tensor.type(), {});
}

Tensor RegionRecorder::add_captured(const Tensor& tensor, Location location) {
  captured_.push_back(tensor);
  return add_input(tensor.type(), {}, location);
}

RegionProgram record_region(const std::shared_ptr<Context>& context, std::span<const TensorType> types,
                            const RegionBody& program, Location location) {
  RegionRecorder recorder(context);
  const std::vector<Tensor> values = recorder.declare(types, location);
  recorder.push();
  const std::vector<Tensor> results = program(values);
  recorder.remove();
  Graph graph = recorder.finish(results, location);
  return {std::move(graph), {recorder.captured().begin(), recorder.captured().end()}};
}

Graph with_inputs(const Graph& graph, std::span<const TensorType> types, std::span<const size_t> place) {
  Builder builder(graph.shared_context());
  std::vector<ValueId> inputs, map(graph.values(), kNone);
  for (const TensorType& type : types) inputs.push_back(builder.add_input(type, {}));
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (place[i] < inputs.size()) map[graph.inputs()[i].value] = inputs[place[i]];
  }
  for (const Node& node : graph.nodes()) {
    SmallVector<ValueId, 8> operands;
    for (const ValueId operand : graph.operands(node)) operands.push_back(map[operand]);
    const uint32_t made =
        builder.add(*node.op, node.attrs, {operands.data(), operands.size()}, node.results, node.origin);
    for (uint32_t i = 0; i < node.results; ++i)
      map[node.first_result + i] = builder.graph().nodes()[made].first_result + i;
  }
  std::vector<ValueId> outputs;
  for (const ValueId output : graph.outputs()) outputs.push_back(map[output]);
  Graph result = builder.finish(std::move(outputs));
  result.name = graph.name;
  return result;
}

std::vector<std::shared_ptr<const Region>> close(std::span<const RegionProgram> programs, Captures& captures) {
  for (const RegionProgram& program : programs) {
    for (const Tensor& tensor : program.captured) captures.add(tensor);
  }
  std::vector<std::shared_ptr<const Region>> regions;
  for (const RegionProgram& program : programs) {
    std::vector<TensorType> types = input_types(program.graph);
    const size_t declared = types.size() - program.captured.size();
    types.resize(declared);
    std::vector<size_t> place;
    for (size_t i = 0; i < declared; ++i) place.push_back(i);
    for (const Tensor& tensor : program.captured) place.push_back(declared + captures.add(tensor));
    for (const Tensor& tensor : captures.tensors()) types.push_back(tensor.type());
    regions.push_back(std::make_shared<Graph>(with_inputs(program.graph, types, place)));
  }
  return regions;
}

Graph with_results(const Graph& graph, std::span<const ValueId> results) {
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) rewriter.copy(node);
  std::vector<ValueId> outputs;
  for (const ValueId result : results) outputs.push_back(rewriter[result]);
  Graph made = rewriter.to().finish(std::move(outputs));
  made.name = graph.name;
  return made;
}

std::shared_ptr<const Region> carrying(const std::shared_ptr<const Region>& region, size_t first) {
  const Graph& graph = graph_of(region);
  std::vector<ValueId> results(graph.outputs().begin(), graph.outputs().end());
  for (size_t i = first; i < graph.inputs().size(); ++i) results.push_back(graph.inputs()[i].value);
  return std::make_shared<Graph>(with_results(graph, results));
}

}  // namespace hone::ir
