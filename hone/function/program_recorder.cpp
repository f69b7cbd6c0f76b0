#include "hone/function/program_recorder.h"

#include <fmt/format.h>

#include <algorithm>

#include "hone/base/error.h"
#include "hone/function/tape.h"
#include "hone/ops/creation.h"
#include "hone/ops/movement.h"
#include "hone/ops/table.h"
#include "hone/tensor/donation.h"

namespace hone::control_detail {

std::string described(const Tensor& x) {
  std::string text = to_string(x.type());
  if (x.concrete() || is_donated(x)) return text;
  const Location made = static_cast<const TracedImpl*>(x.impl())->made;
  return made.known() ? text + ", made at " + to_string(made) : text;
}

bool recording() { return has_interpreters() && !zeros({}).concrete(); }

void ProgramRecorder::record(std::span<const TensorType> types, function_detail::Body body, Location location) {
  const std::vector<Tensor> leaves = declare(types, location);
  declared_ = leaves.size();
  push();
  body(leaves, results_, structure_);
  remove();
  for (size_t i = 0; i < results_.size(); ++i) {
    if (results_[i].defined()) continue;
    throw Error(Code::kInvalidArgument, {.what = fmt::format("result {} of a branch or loop is an undefined tensor", i),
                                         .location = location,
                                         .fix = "return a tensor (Tensor() holds nothing)"});
  }
}

void ProgramRecorder::add_assigned(Assigned& assigned) const {
  for (const Cell& cell : cells_) {
    if (cell.assigned && std::ranges::find(assigned, cell.variable) == assigned.end())
      assigned.push_back(cell.variable);
  }
}

ir::Graph ProgramRecorder::finish(const Assigned& assigned, size_t before, Location location) {
  std::vector<Tensor> all(results_.begin(), results_.begin() + static_cast<ptrdiff_t>(before));
  for (const Variable& variable : assigned) all.push_back(cell_of(variable).now);
  all.insert(all.end(), results_.begin() + static_cast<ptrdiff_t>(before), results_.end());
  return RegionRecorder::finish(all, location);
}

const Variable* ProgramRecorder::variable_at(size_t captured) const {
  for (const Cell& cell : cells_) {
    if (cell.captured == captured) return &cell.variable;
  }
  return nullptr;
}

// Gradients do not pass what a NoGradScope in the program holds, also when the program is differentiated later.
void ProgramRecorder::process(Call& call) {
  RegionRecorder::process(call);
  if (!gradients_disabled()) return;
  for (Tensor& output : call.outputs) {
    if (!is_floating(output.dtype())) continue;
    Tensor stopped;
    Call stop{ops::stop_gradient, {}, {&output, 1}, {&stopped, 1}, call.location};
    RegionRecorder::process(stop);
    output = stopped;
  }
}

void ProgramRecorder::read_variable(const Variable& variable, Tensor& value) { value = cell_of(variable, value).now; }

bool ProgramRecorder::assign_variable(const Variable& variable, const Tensor& value) {
  Cell& cell = cell_of(variable);
  const InterpreterScope inside(this);
  cell.now = stop_gradient(value);  // no gradient passes through a variable
  cell.assigned = true;
  return true;
}

Tensor ProgramRecorder::initial_value(const Tensor& value, Location location) {
  if (value.concrete()) return value;
  throw Error(Code::kFailedPrecondition,
              {.what = "a variable is made inside a branch or loop that is being recorded",
               .location = LocationScope::resolve(location),
               .details = {"its first value is not known while the program is recorded: " + described(value)},
               .fix = "make the variable (build the layer) before the branch or loop"});
}

ProgramRecorder::Cell& ProgramRecorder::cell_of(const Variable& variable, const Tensor& outside) {
  for (Cell& cell : cells_) {
    if (cell.variable == variable) return cell;
  }
  const size_t captured_at = captured().size();
  return cells_.emplace_back(variable, captured_at, add_captured(outside, LocationScope::resolve({})));
}

ProgramRecorder::Cell& ProgramRecorder::cell_of(const Variable& variable) {
  for (Cell& cell : cells_) {
    if (cell.variable == variable) return cell;
  }
  const auto outside = [&] {
    if (!active()) return variable.value();
    const InterpreterScope around(below());
    return variable.value();
  }();
  return cell_of(variable, outside);
}

}  // namespace hone::control_detail
