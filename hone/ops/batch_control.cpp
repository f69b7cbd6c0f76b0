// vmap of control flow: programs over many examples at once.
#include <algorithm>

#include "hone/ops/batch.h"
#include "hone/ops/control_types.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"
#include "hone/tensor/interpreter.h"

namespace hone::control {
namespace {

using Flags = std::vector<bool>;

Tensor repeated(const BatchContext& c, const Tensor& x) {
  Ints axes;
  for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis + 1);
  return broadcast_in_dim(x, with_rows(x.type(), c.size()).shape, axes);
}

// condition[example] ? a : b, all with the examples along axis 0.
Tensor chosen(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return where(broadcast_in_dim(condition, a.shape(), {0}), a, b);
}

Flags flags_of(const BatchContext& c, int first) {
  Flags flags;
  for (int i = first; i < c.inputs(); ++i) flags.push_back(c.mapped(i));
  return flags;
}

// The program on physical values; results come with a flag each.
std::vector<Tensor> run(const BatchContext& c, const ir::Graph& program, std::span<const Tensor> values, Flags& flags) {
  return c.call_mapped([&](std::span<const Tensor> x) { return ir::interpret(program, x); }, values, flags);
}
// The same with all results mapped.
std::vector<Tensor> run_mapped(const BatchContext& c, const ir::Graph& program, std::span<const Tensor> values,
                               Flags flags) {
  std::vector<Tensor> results = run(c, program, values, flags);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!flags[i]) results[i] = repeated(c, results[i]);
  }
  return results;
}

std::vector<Tensor> operands_from(const BatchContext& c, int first) {
  std::vector<Tensor> operands;
  for (int i = first; i < c.inputs(); ++i) operands.push_back(c.in(i));
  return operands;
}

void choose_each(BatchContext& c, const Regions& branches) {
  const std::vector<Tensor> operands = operands_from(c, 1);
  const bool two = c.in_type(0).dtype == bool_;
  std::vector<Tensor> results;
  for (size_t b = branches.size(); b-- > 0;) {
    std::vector<Tensor> mine = run_mapped(c, ir::graph_of(branches[b]), operands, flags_of(c, 1));
    if (results.empty()) {
      results = std::move(mine);
      continue;
    }
    const Tensor condition = two ? c.in(0) : c.in(0) == static_cast<int32_t>(b);
    for (size_t i = 0; i < mine.size(); ++i) results[i] = chosen(condition, mine[i], results[i]);
  }
  for (size_t i = 0; i < results.size(); ++i) c.set(static_cast<int>(i), results[i]);
}

void choose_one(BatchContext& c, const Regions& branches) {
  std::vector<Tensor> operands = operands_from(c, 1);
  const std::vector<TensorType> types = ir::types_of(operands);
  const auto context = ir::region_context();
  std::vector<ir::RegionProgram> programs;
  for (const auto& branch : branches) {
    programs.push_back(ir::record_region(
        context, types,
        [&](std::span<const Tensor> values) { return run_mapped(c, ir::graph_of(branch), values, flags_of(c, 1)); },
        c.call().location));
  }
  ir::Captures captures;
  const BranchAttrs attrs{ir::close(programs, captures)};
  operands.insert(operands.begin(), c.in(0));
  operands.insert(operands.end(), captures.tensors().begin(), captures.tensors().end());
  std::vector<Tensor> results(static_cast<size_t>(c.outputs()));
  Call call{c.call().op, attrs, operands, results, c.call().location};
  dispatch(call);
  for (int i = 0; i < c.outputs(); ++i) c.set(i, results[static_cast<size_t>(i)]);
}

// A body over physical values whose first results are carried: those that become mapped in it are mapped from the
// start.
struct Carried {
  Flags flags;  // of the body's inputs
  Flags made;   // of its results
  ir::RegionProgram program;
};

Carried record_carried(const BatchContext& c, const ir::Graph& body, Flags flags, size_t carries) {
  for (;;) {
    std::vector<TensorType> types = ir::input_types(body);
    for (size_t i = 0; i < types.size(); ++i) {
      if (flags[i]) types[i].shape.insert(0, c.size());
    }
    Flags made;
    const auto step = [&](std::span<const Tensor> values) {
      made = flags;
      std::vector<Tensor> results = run(c, body, values, made);
      for (size_t i = 0; i < carries; ++i) {
        if (flags[i] && !made[i]) results[i] = repeated(c, results[i]), made[i] = true;
      }
      return results;
    };
    ir::RegionProgram program = ir::record_region(ir::region_context(), types, step, c.call().location);
    const Flags before = flags;
    for (size_t i = 0; i < carries; ++i) flags[i] = flags[i] || made[i];
    if (flags == before) return {std::move(flags), std::move(made), std::move(program)};
  }
}

// The condition differs between examples: the loop goes on while it is true for any, the others keep their values.
void loop_each(BatchContext& c, const ir::Graph& condition, const ir::Graph& body) {
  std::vector<Tensor> operands;
  for (int i = 0; i < c.inputs(); ++i) operands.push_back(c.stacked(i));
  const Flags all(operands.size(), true);
  operands.insert(operands.begin(), run_mapped(c, condition, operands, all)[0]);
  const std::vector<TensorType> types = ir::types_of(operands);
  const auto context = ir::region_context();
  const auto step = [&](std::span<const Tensor> values) {
    std::vector<Tensor> next = run_mapped(c, body, values.subspan(1), all);
    for (size_t i = 0; i < next.size(); ++i) next[i] = chosen(values[0], next[i], values[i + 1]);
    next.insert(next.begin(), values[0] & run_mapped(c, condition, next, all)[0]);
    return next;
  };
  const auto go_on = [](std::span<const Tensor> values) { return std::vector{any(values[0])}; };
  std::vector<ir::RegionProgram> programs;
  programs.push_back(ir::record_region(context, types, go_on, c.call().location));
  programs.push_back(ir::record_region(context, types, step, c.call().location));
  ir::Captures captures;
  LoopAttrs attrs{ir::close(programs, captures)};
  if (!captures.tensors().empty()) attrs.regions[1] = ir::carrying(attrs.regions[1], types.size());
  operands.insert(operands.end(), captures.tensors().begin(), captures.tensors().end());
  std::vector<Tensor> results(operands.size());
  Call call{c.call().op, attrs, operands, results, c.call().location};
  dispatch(call);
  for (int i = 0; i < c.outputs(); ++i) c.set(i, results[static_cast<size_t>(i + 1)]);
}

}  // namespace

bool batch_if(BatchContext& c) {
  const Regions& branches = c.attrs_as<BranchAttrs>().branches;
  c.mapped(0) ? choose_each(c, branches) : choose_one(c, branches);
  return true;
}

bool batch_while(BatchContext& c) {
  const Regions& regions = c.attrs_as<LoopAttrs>().regions;
  const ir::Graph &condition = ir::graph_of(regions[0]), &body = ir::graph_of(regions[1]);
  const auto carries = static_cast<size_t>(c.inputs());
  Carried loop = record_carried(c, body, flags_of(c, 0), carries);
  bool each = false;
  const auto decide = [&](std::span<const Tensor> values) {
    Flags flags = loop.flags;
    std::vector<Tensor> results = run(c, condition, values, flags);
    each = flags[0];
    return results;
  };
  std::vector<TensorType> types = ir::input_types(loop.program.graph);
  types.resize(carries);
  std::vector<ir::RegionProgram> programs;
  programs.push_back(ir::record_region(loop.program.graph.shared_context(), types, decide, c.call().location));
  if (each) return loop_each(c, condition, body), true;
  programs.push_back(std::move(loop.program));
  ir::Captures captures;
  LoopAttrs attrs{ir::close(programs, captures)};
  if (!captures.tensors().empty()) attrs.regions[1] = ir::carrying(attrs.regions[1], carries);
  std::vector<Tensor> operands;
  for (int i = 0; i < c.inputs(); ++i) operands.push_back(loop.flags[static_cast<size_t>(i)] ? c.stacked(i) : c.in(i));
  operands.insert(operands.end(), captures.tensors().begin(), captures.tensors().end());
  std::vector<Tensor> results(operands.size());
  Call call{c.call().op, attrs, operands, results, c.call().location};
  dispatch(call);
  for (int i = 0; i < c.outputs(); ++i) c.set(i, results[static_cast<size_t>(i)], loop.flags[static_cast<size_t>(i)]);
  return true;
}

bool batch_scan(BatchContext& c) {
  const auto& a = c.attrs_as<ScanAttrs>();
  const auto carries = static_cast<size_t>(a.carries), sequences = static_cast<size_t>(a.xs);
  const Carried loop = record_carried(c, ir::graph_of(a.body[0]), flags_of(c, 0), carries);
  std::vector<Tensor> operands;
  for (size_t i = 0; i < loop.flags.size(); ++i) {
    const auto at = static_cast<int>(i);
    Tensor operand = loop.flags[i] ? c.stacked(at) : c.in(at);
    const bool rows = i >= carries && i < carries + sequences;
    operands.push_back(rows && loop.flags[i] ? batch::moved(operand, 0, 1) : operand);
  }
  const std::vector<Tensor> results = call_scan(a, loop.program, std::move(operands), c.call().location);
  for (size_t i = 0; i < results.size(); ++i) {
    const bool mapped = loop.made[i];
    const bool moved = mapped && i >= carries;
    c.set(static_cast<int>(i), moved ? batch::moved(results[i], 0, 1) : results[i], mapped);
  }
  return true;
}

}  // namespace hone::control
