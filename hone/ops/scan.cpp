// A loop over rows that carries values along and stacks what each step gives.
#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/ops/control_types.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/family.h"
#include "hone/ops/movement.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

using control::check_types;
using control::operand_types;
using control::with_rows;

void infer_scan(InferContext& c) {
  const auto& a = c.attrs<ScanAttrs>();
  const auto carries = static_cast<int>(a.carries), sequences = static_cast<int>(a.xs);
  if (a.body.size() != 1 || a.length.size() != 1 || carries < 0 || sequences < 0 || carries + sequences > c.inputs())
    c.fail("malformed attributes", "one body, one length, no more carries and xs than operands");
  const ir::Graph& body = ir::graph_of(a.body[0]);
  std::vector<TensorType> rows = operand_types(c, 0, c.inputs());
  for (int i = carries; i < carries + sequences; ++i) {
    Shape& shape = rows[static_cast<size_t>(i)].shape;
    if (shape.empty() || !(shape[0] == a.length[0]))
      c.fail("wrong number of rows", fmt::format("operand {} needs {} along axis 0", i, to_string(a.length[0])));
    shape.erase(0);
  }
  check_types(c, "inputs of the body", ir::input_types(body), rows);
  std::vector<TensorType> results = ir::output_types(body);
  const auto ys = static_cast<int>(results.size()) - carries;
  const std::vector<TensorType> kept(results.begin(), results.begin() + std::min(carries, carries + ys));
  check_types(c, "carries from the body", kept, operand_types(c, 0, carries));
  for (int i = 0; i < ys; ++i) results[static_cast<size_t>(carries + i)].shape.insert(0, a.length[0]);
  if (static_cast<size_t>(c.outputs()) != results.size())
    c.fail("wrong number of results", fmt::format("there are {}, asked for {}", results.size(), c.outputs()));
  for (int i = 0; i < c.outputs(); ++i) c.out(i) = results[static_cast<size_t>(i)];
}

Tensor row_of(const Tensor& x, int64_t row) {
  Shape start, limit = x.shape(), type = x.shape();
  start.resize(limit.size());
  start[0] = row;
  limit[0] = row + 1;
  type.erase(0);
  return reshape(slice_by(x, start, limit), type);
}

void decompose_scan(const Call& call) {
  const auto& a = call.attrs.as<ScanAttrs>();
  const ir::Graph& body = ir::graph_of(a.body[0]);
  const auto carries = static_cast<size_t>(a.carries), sequences = static_cast<size_t>(a.xs);
  const int64_t length = a.length[0].number();
  std::vector<Tensor> inputs(call.inputs.begin(), call.inputs.end());
  std::vector<std::vector<Tensor>> rows(call.outputs.size() - carries,
                                        std::vector<Tensor>(static_cast<size_t>(length)));
  for (int64_t i = 0; i < length; ++i) {
    const int64_t row = a.reverse ? length - 1 - i : i;
    const auto at = static_cast<size_t>(row);
    for (size_t x = carries; x < carries + sequences; ++x) inputs[x] = row_of(call.inputs[x], row);
    std::vector<Tensor> results = ir::interpret(body, inputs);
    for (size_t y = 0; y < rows.size(); ++y) rows[y][at] = std::move(results[carries + y]);
    for (size_t k = 0; k < carries; ++k) inputs[k] = std::move(results[k]);
  }
  for (size_t k = 0; k < carries; ++k) call.outputs[k] = inputs[k];
  const std::vector<TensorType> types = ir::output_types(body);
  for (size_t r = 0; r < rows.size(); ++r) {
    const TensorType type = with_rows(types[carries + r], length);
    call.outputs[carries + r] = length == 0 ? zeros(type.shape, type.dtype) : stack(rows[r], 0, call.location);
  }
}

Cost scan_cost(AttrRef attrs, std::span<const TensorType* const> inputs, std::span<const TensorType> outputs) {
  Cost cost = family::movement_cost(attrs, inputs, outputs);
  const auto& a = attrs.as<ScanAttrs>();
  const ir::Graph& body = ir::graph_of(a.body[0]);
  if (!a.length[0].is_number() || !body.is_static()) return cost;
  for (const ir::Node& node : body.nodes())
    cost.flops += static_cast<double>(a.length[0].number()) * ir::cost_of(body, node).flops;
  return cost;
}

// (c, i, x, w) -> (c w + x, i + 1, tanh(c x))
std::vector<Sample> scan_samples() {
  std::vector<Sample> samples;
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{2, 3}}) {
    for (const int64_t length : {0, 1, 4}) {
      const auto context = std::make_shared<ir::Context>();
      const TensorType value{f32, shape}, count{i32, {}}, types[] = {value, count, value, value};
      ScanAttrs attrs{
          .body = {}, .length = {length}, .carries = 2, .xs = 1, .reverse = shape.empty(), .recompute = length == 4};
      attrs.body.push_back(control::sample_region(context, types, [](ir::Builder& b, std::span<const ir::ValueId> in) {
        const ir::ValueId scaled[] = {in[0], in[3]}, product[] = {in[0], in[2]};
        const ir::ValueId moved[] = {b.add_one(ops::multiply, {}, scaled, 0), in[2]};
        const ir::ValueId one[] = {in[1], b.add_one(ops::constant, ConstantAttrs{i32, {}, 1}, {}, 0)};
        const ir::ValueId both[] = {b.add_one(ops::multiply, {}, product, 0)};
        return std::vector{b.add_one(ops::add, {}, moved, 0), b.add_one(ops::add, {}, one, 0),
                           b.add_one(ops::tanh, {}, both, 0)};
      }));
      samples.push_back(
          {.inputs = {value, count, with_rows(value, length), value}, .attrs = Attrs(attrs), .outputs = 3});
    }
  }
  return samples;
}

}  // namespace

std::vector<Tensor> control::call_scan(ScanAttrs attrs, const ir::RegionProgram& body, std::vector<Tensor> operands,
                                       Location location) {
  ir::Captures captures;
  attrs.body = ir::close({&body, 1}, captures);
  operands.insert(operands.end(), captures.tensors().begin(), captures.tensors().end());
  std::vector<Tensor> results(body.graph.outputs().size());
  Call call{ops::scan, attrs, operands, results, location};
  dispatch(call);
  return results;
}

std::vector<Tensor> control::run_scan(ScanAttrs attrs, std::vector<Tensor> operands, const ir::RegionBody& step,
                                      Location location) {
  std::vector<TensorType> types = ir::types_of(operands);
  for (int64_t i = attrs.carries; i < attrs.carries + attrs.xs; ++i) types[static_cast<size_t>(i)].shape.erase(0);
  ir::RegionProgram program = ir::record_region(ir::region_context(), types, step, location);
  program.graph = ir::prune(program.graph);
  return call_scan(std::move(attrs), program, std::move(operands), location);
}

constinit const Op ops::scan =
    family::define(OpId::scan, OpClass::Composite,
                   {
                       .doc = "a body run once for each row of its operands, with carried values",
                       .operands = "carry",
                       .attrs = &attr_type<ScanAttrs>(),
                       .min_inputs = 0,
                       .max_inputs = -1,
                       .outputs = -1,
                       .infer = infer_scan,
                       .vjp = control::vjp_scan,
                       .reads = {~0U, ~0U},
                       .keeping = control::keep_scan,
                       .decompose = decompose_scan,
                       .batch = control::batch_scan,
                       .samples = scan_samples,
                   },
                   scan_cost);

}  // namespace hone
