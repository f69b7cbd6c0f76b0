// Control flow: a choice among programs, and a loop. Regions are closed: what they read is an operand.
#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/ops/control_types.h"
#include "hone/ops/family.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace control {

std::string types_text(std::span<const TensorType> types) {
  std::string text;
  for (const TensorType& type : types) text += (text.empty() ? "" : ", ") + to_string(type);
  return text.empty() ? "nothing" : text;
}

std::vector<TensorType> operand_types(const InferContext& c, int first, int last) {
  std::vector<TensorType> types;
  for (int i = first; i < last; ++i) types.push_back(c.in(i));
  return types;
}

void check_types(InferContext& c, std::string_view what, const std::vector<TensorType>& got,
                 const std::vector<TensorType>& expected) {
  if (got == expected) return;
  c.fail("type mismatch", fmt::format("{}: expected {}, got {}", what, types_text(expected), types_text(got)));
}

std::shared_ptr<const Region> sample_region(
    const std::shared_ptr<ir::Context>& context, std::span<const TensorType> types,
    const std::function<std::vector<ir::ValueId>(ir::Builder&, std::span<const ir::ValueId>)>& build) {
  ir::Builder builder(context);
  std::vector<ir::ValueId> inputs;
  for (const TensorType& type : types) inputs.push_back(builder.add_input(type, {}));
  std::vector<ir::ValueId> outputs = build(builder, inputs);
  return std::make_shared<ir::Graph>(builder.finish(std::move(outputs)));
}

}  // namespace control

namespace {

using control::check_types;
using control::operand_types;
using control::sample_region;
using family::define;
using ir::graph_of;

// ---- if

void infer_if(InferContext& c) {
  const Regions& branches = c.attrs<BranchAttrs>().branches;
  if (!c.shape(0).empty() || (c.dtype(0) != bool_ && c.dtype(0) != i32))
    c.fail("bad selector", fmt::format("expected: bool[] or i32[], got: {}", to_string(c.in(0))));
  if (branches.empty() || (c.dtype(0) == bool_ && branches.size() != 2))
    c.fail("wrong number of branches", fmt::format("{} for a selector of {}", branches.size(), name(c.dtype(0))));
  const std::vector<TensorType> operands = operand_types(c, 1, c.inputs()),
                                results = ir::output_types(graph_of(branches[0]));
  for (size_t i = 0; i < branches.size(); ++i) {
    check_types(c, fmt::format("inputs of branch {}", i), ir::input_types(graph_of(branches[i])), operands);
    check_types(c, fmt::format("results of branch {}", i), ir::output_types(graph_of(branches[i])), results);
  }
  if (static_cast<size_t>(c.outputs()) != results.size())
    c.fail("wrong number of results", fmt::format("the branches give {}, asked for {}", results.size(), c.outputs()));
  for (int i = 0; i < c.outputs(); ++i) c.out(i) = results[static_cast<size_t>(i)];
}

void decompose_if(const Call& call) {
  const Regions& branches = call.attrs.as<BranchAttrs>().branches;
  const auto count = static_cast<int64_t>(branches.size());
  int64_t chosen = 0;
  if (call.inputs[0].dtype() == bool_) {
    chosen = call.inputs[0].item<bool>(call.location) ? 0 : 1;
  } else {
    chosen = call.inputs[0].item<int32_t>(call.location);
    if (chosen < 0 || chosen >= count) chosen = count - 1;  // StableHLO's case
  }
  const std::vector<Tensor> results =
      ir::interpret(graph_of(branches[static_cast<size_t>(chosen)]), call.inputs.subspan(1));
  std::ranges::copy(results, call.outputs.begin());
}

// ---- while

void infer_while(InferContext& c) {
  const Regions& regions = c.attrs<LoopAttrs>().regions;
  if (regions.size() != 2) c.fail("wrong number of regions", "a loop has a condition and a body");
  const std::vector<TensorType> carried = operand_types(c, 0, c.inputs());
  check_types(c, "inputs of the condition", ir::input_types(graph_of(regions[0])), carried);
  check_types(c, "inputs of the body", ir::input_types(graph_of(regions[1])), carried);
  check_types(c, "results of the body", ir::output_types(graph_of(regions[1])), carried);
  check_types(c, "results of the condition", ir::output_types(graph_of(regions[0])), {{bool_, {}}});
  if (c.outputs() != c.inputs())
    c.fail("wrong number of results", fmt::format("{} values are carried, asked for {}", c.inputs(), c.outputs()));
  for (int i = 0; i < c.outputs(); ++i) c.out(i) = c.in(i);
}

void decompose_while(const Call& call) {
  const Regions& regions = call.attrs.as<LoopAttrs>().regions;
  std::vector<Tensor> carried(call.inputs.begin(), call.inputs.end());
  while (ir::interpret(graph_of(regions[0]), carried)[0].item<bool>(call.location))
    carried = ir::interpret(graph_of(regions[1]), carried);
  std::ranges::copy(carried, call.outputs.begin());
}

// ---- samples

std::vector<Sample> if_samples() {
  std::vector<Sample> samples;
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{2, 3}}) {
    for (const DType selector : {bool_, i32}) {
      const auto context = std::make_shared<ir::Context>();
      const TensorType types[] = {{f32, shape}, {f32, shape}};
      BranchAttrs attrs;
      for (const Op* op : {&ops::multiply, &ops::add, &ops::subtract}) {
        if (selector == bool_ && op == &ops::subtract) continue;
        attrs.branches.push_back(sample_region(context, types, [&](ir::Builder& b, std::span<const ir::ValueId> in) {
          return std::vector{b.add_one(*op, {}, in, 0)};
        }));
      }
      samples.push_back({.inputs = {{selector, {}}, types[0], types[1]}, .attrs = Attrs(attrs), .outputs = 1});
    }
  }
  return samples;
}

// i < n; (i + 1, n, x x)
std::vector<Sample> while_samples() {
  std::vector<Sample> samples;
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{2, 3}}) {
    const auto context = std::make_shared<ir::Context>();
    const TensorType types[] = {{i32, {}}, {i32, {}}, {f32, shape}};
    LoopAttrs attrs;
    attrs.regions.push_back(sample_region(context, types, [](ir::Builder& b, std::span<const ir::ValueId> in) {
      return std::vector{b.add_one(ops::less, {}, in.first(2), 0)};
    }));
    attrs.regions.push_back(sample_region(context, types, [](ir::Builder& b, std::span<const ir::ValueId> in) {
      const ir::ValueId one = b.add_one(ops::constant, ConstantAttrs{i32, {}, 1}, {}, 0);
      const ir::ValueId next[] = {in[0], one}, square[] = {in[2], in[2]};
      return std::vector{b.add_one(ops::add, {}, next, 0), in[1], b.add_one(ops::multiply, {}, square, 0)};
    }));
    samples.push_back({.inputs = {types[0], types[1], types[2]},
                       .attrs = Attrs(attrs),
                       .low = -1,
                       .high = 2,
                       .differentiable = false,
                       .outputs = 3});
  }
  return samples;
}

Cost control_cost(AttrRef, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  return family::movement_cost({}, inputs, outputs);  // how often a loop runs is not known
}

}  // namespace

namespace ops {

constinit const Op if_ =
    define(OpId::if_, OpClass::Composite,
           {
               .doc = "the branch that a selector names: true is the first of two; beyond the last is the last",
               .operands = "selector",
               .attrs = &attr_type<BranchAttrs>(),
               .max_inputs = -1,
               .outputs = -1,
               .infer = infer_if,
               .vjp = control::vjp_if,
               .reads = {~0U, ~0U},
               .keeping = control::keep_if,
               .decompose = decompose_if,
               .batch = control::batch_if,
               .samples = if_samples,
               .dtypes = kBool | bit(i32),
           },
           control_cost);

constinit const Op while_ =
    define(OpId::while_, OpClass::Composite,
           {
               .doc = "the body, over and over, while the condition of the carried values is true",
               .operands = "carried",
               .attrs = &attr_type<LoopAttrs>(),
               .max_inputs = -1,
               .outputs = -1,
               .infer = infer_while,
               .vjp = control::vjp_while,
               .decompose = decompose_while,
               .batch = control::batch_while,
               .samples = while_samples,
           },
           control_cost);

}  // namespace ops
}  // namespace hone
