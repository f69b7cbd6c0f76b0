#include "hone/function/control.h"

#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/function/program_recorder.h"
#include "hone/function/region_call.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone::control_detail {
namespace {

[[noreturn]] void fail(Location location, std::string what, std::vector<std::string> details, std::string fix) {
  throw Error(Code::kInvalidArgument, {.what = std::move(what),
                                       .location = LocationScope::resolve(location),
                                       .details = std::move(details),
                                       .fix = std::move(fix)});
}

bool all_concrete(std::span<const Tensor> tensors) {
  return std::ranges::all_of(tensors, [](const Tensor& tensor) { return tensor.concrete(); });
}

void check_defined(const char* name, std::span<const Tensor> tensors, const char* what, Location location) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].defined())
      fail(location, fmt::format("{} {} of {} is an undefined tensor", what, i, name), {},
           "set the tensor before the call (Tensor() holds nothing)");
  }
}

void check_branches(const char* name, std::span<const std::unique_ptr<ProgramRecorder>> branches, Location location) {
  const auto& first = branches[0]->results();
  for (size_t b = 1; b < branches.size(); ++b) {
    const auto& mine = branches[b]->results();
    const auto& structure = branches[b]->structure();
    if (mine.size() != first.size() || !std::ranges::equal(structure, branches[0]->structure())) {
      fail(location, fmt::format("branches of {} return different structures", name),
           {fmt::format("branch 0: {} tensors   branch {}: {} tensors", first.size(), b, mine.size())},
           "return the same pairs, tuples and lists of the same sizes from each branch");
    }
    for (size_t i = 0; i < mine.size(); ++i) {
      if (mine[i].type() == first[i].type()) continue;
      fail(location, fmt::format("branches of {} return different types", name),
           {fmt::format("result {} of branch 0: {}", i, described(first[i])),
            fmt::format("result {} of branch {}: {}", i, b, described(mine[i]))},
           "cast or reshape the results, so that each branch returns the same dtypes and shapes");
    }
  }
}

Results recorded_choice(const char* name, const Tensor& selector, std::span<const Body> branches,
                        std::span<const Tensor> operands, Location location) {
  const auto context = ir::region_context();
  const std::vector<TensorType> types = ir::types_of(operands);
  std::vector<std::unique_ptr<ProgramRecorder>> recorders;
  Assigned assigned;
  for (const Body& branch : branches) {
    recorders.push_back(std::make_unique<ProgramRecorder>(context));
    recorders.back()->record(types, branch, location);
    recorders.back()->add_assigned(assigned);
  }
  check_branches(name, recorders, location);
  const size_t count = recorders[0]->results().size();
  std::vector<ir::RegionProgram> programs;
  for (const auto& recorder : recorders) {
    ir::Graph graph = recorder->finish(assigned, count, location);
    programs.push_back({std::move(graph), {recorder->captured().begin(), recorder->captured().end()}});
  }
  ir::Captures captures;
  const BranchAttrs attrs{ir::close(programs, captures)};
  std::vector<Tensor> inputs{selector};
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  inputs.insert(inputs.end(), captures.tensors().begin(), captures.tensors().end());
  Results results{call_region(ops::if_, attrs, std::move(inputs), count + assigned.size(), location),
                  recorders[0]->structure()};
  for (size_t i = 0; i < assigned.size(); ++i) assigned[i].assign(results.tensors[count + i], location);
  results.tensors.resize(count);
  return results;
}

// ---- loops

std::vector<Tensor> recorded_loop(Body condition, const Step& step, std::span<const Tensor> carry, Location location) {
  const auto context = ir::region_context();
  const std::vector<TensorType> types = ir::types_of(carry);
  ProgramRecorder decide(context), body(context);
  decide.record(types, condition, location);
  body.record(types, step.body, location);
  check_carry("while_loop", carry, body.results(), step.carried, location);
  if (decide.results().size() != 1 || !(decide.results()[0].type() == TensorType{bool_, {}})) {
    fail(location, "the condition of while_loop is not one bool",
         {decide.results().empty() ? "it returned nothing" : "it returned " + described(decide.results()[0])},
         "return a comparison of scalars, or reduce it: all(...), any(...)");
  }
  Assigned assigned;
  decide.add_assigned(assigned);
  if (!assigned.empty())
    fail(location, fmt::format("the condition of while_loop assigns variable '{}'", assigned[0].name()), {},
         "assign it in the body");
  body.add_assigned(assigned);
  Closer closer(carry.size(), assigned);
  ir::Graph of_body = body.finish(assigned, carry.size(), location);
  ir::Graph of_condition = decide.finish({}, 1, location);
  closer.add(decide);
  closer.add(body);
  LoopAttrs attrs;
  attrs.regions = {closer.close(of_condition, decide), closer.close(of_body, body)};
  const size_t state = carry.size() + assigned.size();
  if (!closer.captured().empty()) attrs.regions[1] = ir::carrying(attrs.regions[1], state);
  std::vector<Tensor> inputs = closer.operands(carry, {});
  const size_t results_count = inputs.size();
  std::vector<Tensor> results = call_region(ops::while_, attrs, std::move(inputs), results_count, location);
  for (size_t i = 0; i < assigned.size(); ++i) assigned[i].assign(results[carry.size() + i], location);
  results.resize(carry.size());
  return results;
}

}  // namespace

void check_carry(const char* name, std::span<const Tensor> carry, std::span<const Tensor> results, size_t carried,
                 Location location) {
  if (carried != carry.size()) {
    fail(location, fmt::format("the body of {} changes the structure of the carry", name),
         {fmt::format("expected: {} tensors, got: {}", carry.size(), carried)},
         "return a carry with as many tensors as init has");
  }
  for (size_t i = 0; i < carried; ++i) {
    if (results[i].type() == carry[i].type()) continue;
    fail(location, fmt::format("the body of {} changes the type of the carry", name),
         {fmt::format("leaf {}, expected: {}", i, to_string(carry[i].type())),
          fmt::format("leaf {}, got:      {}", i, described(results[i]))},
         "a carry keeps its dtypes and shapes: cast or reshape it in the body, or start from another init");
  }
}

std::vector<Tensor> call_region(const Op& op, AttrRef attrs, std::vector<Tensor> inputs, size_t results,
                                Location location) {
  std::vector<Tensor> outputs(results);
  Call call{op, attrs, inputs, outputs, location};
  dispatch(call);
  return outputs;
}

void Closer::add(const ProgramRecorder& recorder) {
  for (size_t i = 0; i < recorder.captured().size(); ++i) {
    const Variable* variable = recorder.variable_at(i);
    const auto at = variable ? std::ranges::find(assigned_, *variable) : assigned_.end();
    if (at == assigned_.end())
      captures_.add(recorder.captured()[i]);
    else
      before_[static_cast<size_t>(at - assigned_.begin())] = recorder.captured()[i];
  }
}

std::shared_ptr<const Region> Closer::close(const ir::Graph& graph, const ProgramRecorder& recorder) {
  const std::vector<TensorType> mine = ir::input_types(graph);
  const size_t rows = recorder.declared() - carries_;
  std::vector<TensorType> types(mine.begin(), mine.begin() + static_cast<ptrdiff_t>(carries_));
  for (const Tensor& value : before_) types.push_back(value.type());
  for (size_t i = carries_; i < recorder.declared(); ++i) types.push_back(mine[i]);
  const size_t first_capture = types.size();
  for (const Tensor& tensor : captures_.tensors()) types.push_back(tensor.type());
  std::vector<size_t> place;
  for (size_t i = 0; i < carries_; ++i) place.push_back(i);
  for (size_t i = 0; i < rows; ++i) place.push_back(carries_ + before_.size() + i);
  for (size_t i = 0; i < recorder.captured().size(); ++i) {
    const Variable* variable = recorder.variable_at(i);
    const auto at = variable ? std::ranges::find(assigned_, *variable) : assigned_.end();
    place.push_back(at == assigned_.end() ? first_capture + captures_.add(recorder.captured()[i])
                                          : carries_ + static_cast<size_t>(at - assigned_.begin()));
  }
  return std::make_shared<ir::Graph>(ir::with_inputs(graph, types, place));
}

std::vector<Tensor> Closer::operands(std::span<const Tensor> carry, std::span<const Tensor> rows) const {
  std::vector<Tensor> all(carry.begin(), carry.end());
  all.insert(all.end(), before_.begin(), before_.end());
  all.insert(all.end(), rows.begin(), rows.end());
  all.insert(all.end(), captures_.tensors().begin(), captures_.tensors().end());
  return all;
}

Tensor condition_of(const Tensor& condition, Location location) {
  check_defined("cond", {&condition, 1}, "condition", location);
  if (condition.rank() != 0)
    fail(location, "the condition of cond is not a scalar", {"condition: " + described(condition)},
         "reduce it: all(...), any(...); or choose element by element with where(...)");
  return condition.dtype() == bool_ ? condition : cast({condition, location}, bool_);
}

Tensor index_of(const Tensor& index, size_t branches, Location location) {
  check_defined("switch_case", {&index, 1}, "index", location);
  if (branches == 0) fail(location, "switch_case has no branches", {}, "give at least one");
  if (index.rank() != 0 || is_floating(index.dtype()) || index.dtype() == bool_)
    fail(location, "the index of switch_case is not an integer scalar", {"index: " + described(index)},
         "cast it, or use cond for a bool");
  const Tensor last = full({}, {static_cast<int64_t>(branches) - 1, location}, index.dtype());
  const Tensor first = full({}, {0, location}, index.dtype());
  return cast({minimum({maximum({index, location}, {first, location}), location}, {last, location}), location}, i32);
}

Results choose(const char* name, const Tensor& selector, std::span<const Body> branches,
               std::span<const Tensor> operands, Location location) {
  check_defined(name, operands, "argument", location);
  if (!selector.concrete()) return recorded_choice(name, selector, branches, operands, location);
  const size_t chosen =
      selector.dtype() == bool_ ? (selector.item<bool>() ? 0 : 1) : static_cast<size_t>(selector.item<int32_t>());
  Results results;
  branches[chosen](operands, results.tensors, results.structure);
  return results;
}

std::vector<Tensor> loop(Body condition, Step step, std::span<const Tensor> init, Location location) {
  check_defined("while_loop", init, "carry", location);
  std::vector<Tensor> carry(init.begin(), init.end());
  if (recording()) return recorded_loop(condition, step, carry, location);
  for (;;) {
    if (!all_concrete(carry)) return recorded_loop(condition, step, carry, location);
    Results go_on, next;
    condition(carry, go_on.tensors, go_on.structure);
    if (!go_on.tensors[0].concrete()) return recorded_loop(condition, step, carry, location);
    if (!go_on.tensors[0].item<bool>(location)) return carry;
    step.body(carry, next.tensors, next.structure);
    check_carry("while_loop", carry, next.tensors, step.carried, location);
    carry = std::move(next.tensors);
  }
}

std::vector<Tensor> count(const Bound& begin, const Bound& end, Step step, std::span<const Tensor> init,
                          Location location) {
  check_defined("fori_loop", init, "carry", location);
  const auto known = [](const Bound& bound) { return !bound.tensor.defined() || bound.tensor.concrete(); };
  const auto number = [&](const Bound& b) { return b.tensor.defined() ? b.tensor.item<int64_t>(location) : b.number; };
  const auto as_tensor = [&](const Bound& b) {
    return b.tensor.defined() ? cast({b.tensor, location}, i32) : Tensor(static_cast<int32_t>(b.number));
  };
  std::vector<Tensor> carry(init.begin(), init.end());
  size_t carried = 0;
  const auto counted = [&](std::span<const Tensor> leaves, std::vector<Tensor>& results, Statics& structure) {
    const size_t rest = leaves.size() - init.size() - 1;  // what lies between counter and carry
    std::vector<Tensor> mine{leaves[0]};
    mine.insert(mine.end(), leaves.begin() + 1 + static_cast<ptrdiff_t>(rest), leaves.end());
    std::vector<Tensor> next;
    step.body(mine, next, structure);
    check_carry("fori_loop", init, next, step.carried, location);
    results.push_back(add({leaves[0], location}, {1, location}));
    for (size_t i = 1; i <= rest; ++i) results.push_back(leaves[i]);
    results.insert(results.end(), next.begin(), next.end());
    carried = results.size();
  };
  if (known(begin) && known(end)) {
    const int64_t first = number(begin), last = number(end);
    if (!recording() && all_concrete(carry)) {
      for (int64_t i = first; i < last; ++i) {
        std::vector<Tensor> leaves{Tensor(static_cast<int32_t>(i))};
        leaves.insert(leaves.end(), carry.begin(), carry.end());
        Results next;
        step.body(leaves, next.tensors, next.structure);
        check_carry("fori_loop", carry, next.tensors, step.carried, location);
        carry = std::move(next.tensors);
      }
      return carry;
    }
    carry.insert(carry.begin(), Tensor(static_cast<int32_t>(first)));
    Results results =
        scan("fori_loop", {counted, carried}, carry, {}, {.length = std::max<int64_t>(last - first, 0)}, location);
    results.tensors.erase(results.tensors.begin());
    return std::move(results.tensors);
  }
  const Tensor bounds[] = {as_tensor(begin), as_tensor(end)};
  carry.insert(carry.begin(), bounds, bounds + 2);
  const auto below = [&](std::span<const Tensor> leaves, std::vector<Tensor>& results, Statics&) {
    results.push_back(less({leaves[0], location}, {leaves[1], location}));
  };
  std::vector<Tensor> results = loop(below, {counted, carried}, carry, location);
  results.erase(results.begin(), results.begin() + 2);
  return results;
}

}  // namespace hone::control_detail
