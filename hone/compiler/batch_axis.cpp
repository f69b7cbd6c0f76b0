#include "hone/compiler/batch_axis.h"

#include <fmt/format.h>

#include <optional>

#include "hone/base/error.h"
#include "hone/compiler/batch_rules.h"
#include "hone/compiler/object_tables.h"
#include "hone/compiler/passes.h"
#include "hone/ir/region.h"
#include "hone/ops/attrs.h"
#include "hone/ops/table.h"

namespace hone::compiler {
namespace {

constexpr const char* kFix = "give the batch size: hone compile --batch N, or a Spec whose extents are numbers";

[[noreturn]] void fail(const ir::Graph& graph, const ir::Node& node, const std::string& why) {
  std::vector<std::string> details{"because " + why};
  for (const ir::ValueId operand : graph.operands(node))
    details.push_back("operand: " + to_string(graph.type(operand)));
  throw Error(Code::kUnsupported,
              {.what = fmt::format("the examples of a batch cannot be computed apart: {} may mix them", node.op->name),
               .location = graph.origin(node).location(),
               .details = std::move(details),
               .fix = kFix});
}

using Places = std::vector<BatchPlace>;

Places walk(const ir::Graph& given, const Places& inputs, Dim batch);

// Programs of control flow, whose results lie where the programs put them.
class Control {
 public:
  Control(const ir::Graph& graph, const ir::Node& node, const Places& operands, Dim batch)
      : graph_(graph), node_(node), operands_(operands), batch_(batch) {}

  Places run() const {
    if (node_.op == &ops::scan) return scan();
    return node_.op == &ops::if_ ? branches() : loop();
  }

 private:
  Places branches() const {
    if (operands_[0].mapped()) fail(graph_, node_, "its examples choose different branches");
    const Places given(operands_.begin() + 1, operands_.end());
    std::optional<Places> results;
    for (const auto& region : regions_of(node_.attrs)) {
      const Places made = walk(ir::graph_of(region), given, batch_);
      if (results && *results != made) fail(graph_, node_, "its branches put the examples along different axes");
      results = made;
    }
    return *results;
  }

  Places loop() const {
    const Regions regions = regions_of(node_.attrs);
    if (walk(ir::graph_of(regions[0]), operands_, batch_)[0].mapped())
      fail(graph_, node_, "its examples end after different numbers of steps");
    const Places made = walk(ir::graph_of(regions[1]), operands_, batch_);
    check_carries(made, operands_.size());
    return made;
  }

  Places scan() const {
    const auto& attrs = node_.attrs.as<ScanAttrs>();
    const auto carries = static_cast<size_t>(attrs.carries), rows = static_cast<size_t>(attrs.xs);
    Places given = operands_;
    for (size_t i = carries; i < carries + rows; ++i) {
      if (!given[i].mapped()) continue;
      if (given[i].axis == 0) fail(graph_, node_, "it goes from one example to the next");
      --given[i].axis;
    }
    Places made = walk(ir::graph_of(attrs.body[0]), given, batch_);
    check_carries(made, carries);
    for (size_t i = carries; i < made.size(); ++i) made[i].axis += made[i].mapped() ? 1 : 0;
    return made;
  }

  void check_carries(const Places& made, size_t carries) const {
    for (size_t i = 0; i < carries; ++i) {
      if (made[i] != operands_[i]) fail(graph_, node_, "a carry has its examples along another axis after a step");
    }
  }

  const ir::Graph& graph_;
  const ir::Node& node_;
  const Places& operands_;
  Dim batch_;
};

Places walk(const ir::Graph& given, const Places& inputs, Dim batch) {
  const ir::Graph graph = decompose_unserved(
      given, [](const ir::Graph&, const ir::Node& node) { return is_control(*node.op) || has_batch_rule(*node.op); });
  Places values(graph.values());
  size_t argument = 0;
  for (const ir::Input& input : graph.inputs()) {
    if (input.kind == ir::InputKind::Argument) values[input.value] = inputs[argument++];
  }
  for (const ir::Node& node : graph.nodes()) {
    Places operands, results;
    for (const ir::ValueId operand : graph.operands(node)) operands.push_back(values[operand]);
    if (is_control(*node.op)) {
      results = Control(graph, node, operands, batch).run();
    } else {
      BatchRule rule(graph, node, operands, batch);
      if (const char* why = rule.run()) fail(graph, node, why);
      results = rule.results();
    }
    for (uint32_t i = 0; i < node.results; ++i) values[node.first_result + i] = results[i];
  }
  Places made;
  for (const ir::ValueId output : graph.outputs()) made.push_back(values[output]);
  return made;
}

}  // namespace

Dim batch_of(const ir::Graph& graph) {
  std::optional<Dim> batch;
  for (const ir::Input& input : graph.inputs()) {
    const Shape& shape = graph.type(input.value).shape;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis].is_number()) continue;
      if (axis == 0 && shape[0].is_symbol() && (!batch || *batch == shape[0]) &&
          input.kind == ir::InputKind::Argument) {
        batch = shape[0];
        continue;
      }
      throw Error(Code::kUnsupported,
                  {.what = "an object may have one symbol for an extent, the first of its arguments: the batch size",
                   .details = {fmt::format("got: {} {}", to_string(graph.type(input.value)), input.name)},
                   .fix = "give numbers for the other extents"});
    }
  }
  if (!batch) throw Error(Code::kUnsupported, "no argument has the batch size that other extents depend on", kFix);
  return *batch;
}

void prove_examples_apart(const ir::Graph& graph, Dim batch) {
  Places inputs;
  for (const ir::Input& input : graph.inputs()) {
    if (input.new_value != ir::kNone) {
      throw Error(Code::kUnsupported,
                  "a function that keeps state needs its batch size: the state is that of one batch", kFix);
    }
    if (input.kind != ir::InputKind::Argument) continue;
    inputs.push_back(graph.type(input.value).shape.is_static() ? BatchPlace{} : BatchPlace{0, 1});
  }
  const Places made = walk(graph, inputs, batch);
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i].mapped() && !(made[i] == BatchPlace{0, 1})) {
      throw Error(Code::kUnsupported, {.what = fmt::format("result {} does not have its examples along axis 0", i),
                                       .details = {"got: " + to_string(graph.type(graph.outputs()[i]))},
                                       .fix = kFix});
    }
  }
}

}  // namespace hone::compiler
