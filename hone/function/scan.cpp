// scan: eagerly a loop, recorded one call of the op, or several where steps are unrolled or checkpointed.
#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/function/control.h"
#include "hone/function/region_call.h"
#include "hone/ops/creation.h"
#include "hone/ops/movement.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone::control_detail {
namespace {

Tensor rows_of(const Tensor& x, int64_t first, int64_t last) {
  Shape start, limit = x.shape();
  start.resize(limit.size());
  start[0] = first;
  limit[0] = last;
  return slice_by(x, start, limit);
}
Tensor row_of(const Tensor& x, int64_t row) {
  Shape shape = x.shape();
  shape.erase(0);
  return reshape(rows_of(x, row, row + 1), shape);
}
Tensor with_leading(const Tensor& x, std::initializer_list<int64_t> leading, int drop) {
  Shape shape;
  for (const int64_t extent : leading) shape.push_back(extent);
  for (int axis = drop; axis < x.rank(); ++axis) shape.push_back(x.shape()[static_cast<size_t>(axis)]);
  return reshape(x, shape);
}

Dim length_of(const char* name, std::span<const Tensor> xs, const ScanOptions& options, Location location) {
  const auto fail = [&](std::string what, std::string fix) {
    std::vector<std::string> details;
    for (size_t i = 0; i < xs.size(); ++i)
      details.push_back(fmt::format("xs, leaf {}: {}", i, xs[i].defined() ? described(xs[i]) : "undefined"));
    if (options.length) details.push_back(fmt::format("length: {}", *options.length));
    throw Error(Code::kInvalidArgument, {.what = std::move(what),
                                         .location = LocationScope::resolve(location),
                                         .details = std::move(details),
                                         .fix = std::move(fix)});
  };
  std::optional<Dim> length;
  if (options.length) length = Dim(*options.length);
  if (options.length && *options.length < 0) fail(fmt::format("the length of {} is negative", name), "give rows >= 0");
  for (const Tensor& x : xs) {
    if (!x.defined()) fail(fmt::format("xs of {} hold an undefined tensor", name), "set the tensor before the call");
    if (x.rank() == 0) fail(fmt::format("xs of {} hold a scalar, which has no rows", name), "capture it instead");
    if (length && !(*length == x.shape()[0]))
      fail(fmt::format("xs of {} differ in length", name), "give all tensors of xs the same extent of axis 0");
    length = x.shape()[0];
  }
  if (!length) fail(fmt::format("{} has no rows to run over", name), "give xs, or {.length = ...}");
  return *length;
}

// A body over (carries, rows, constants), and what it is run on.
struct Program {
  ScanAttrs attrs;
  std::vector<Tensor> constants;
  Location location;

  size_t carries() const { return static_cast<size_t>(attrs.carries); }
  size_t ys() const { return ir::graph_of(attrs.body[0]).outputs().size() - carries(); }

  std::vector<Tensor> run(std::span<const Tensor> carry, std::span<const Tensor> xs, Dim length) const {
    ScanAttrs mine = attrs;
    mine.length = Shape{length};
    std::vector<Tensor> inputs(carry.begin(), carry.end());
    inputs.insert(inputs.end(), xs.begin(), xs.end());
    inputs.insert(inputs.end(), constants.begin(), constants.end());
    return call_region(ops::scan, mine, std::move(inputs), carries() + ys(), location);
  }

  // The same step by step, without a loop.
  std::vector<Tensor> unrolled(std::span<const Tensor> values, int64_t length) const {
    const auto sequences = static_cast<size_t>(attrs.xs);
    std::vector<Tensor> inputs(values.begin(), values.end()), results;
    std::vector<std::vector<Tensor>> rows(ys(), std::vector<Tensor>(static_cast<size_t>(length)));
    for (int64_t step = 0; step < length; ++step) {
      const int64_t row = attrs.reverse ? length - 1 - step : step;
      for (size_t x = carries(); x < carries() + sequences; ++x) inputs[x] = row_of(values[x], row);
      results = ir::interpret(ir::graph_of(attrs.body[0]), inputs);
      for (size_t y = 0; y < ys(); ++y) rows[y][static_cast<size_t>(row)] = results[carries() + y];
      std::copy_n(results.begin(), carries(), inputs.begin());
    }
    results.assign(inputs.begin(), inputs.begin() + static_cast<ptrdiff_t>(carries()));
    for (const auto& each : rows) results.push_back(stack(each, 0, location));
    return results;
  }

  // A body of `steps` rows.
  Program grouped(int64_t steps, bool unroll) const {
    std::vector<TensorType> types = ir::input_types(ir::graph_of(attrs.body[0]));
    const size_t first_constant = carries() + static_cast<size_t>(attrs.xs);
    for (size_t x = carries(); x < first_constant; ++x) types[x].shape.insert(0, steps);
    const auto group = [&](std::span<const Tensor> values) {
      if (unroll) return unrolled(values, steps);
      Program inner = *this;
      inner.constants.assign(values.begin() + static_cast<ptrdiff_t>(first_constant), values.end());
      return inner.run(values.first(carries()), values.subspan(carries(), static_cast<size_t>(attrs.xs)), steps);
    };
    Program outer = *this;
    const ir::RegionProgram program[] = {ir::record_region(ir::region_context(), types, group, location)};
    ir::Captures captures;
    outer.attrs.body = ir::close(program, captures);
    outer.constants.insert(outer.constants.end(), captures.tensors().begin(), captures.tensors().end());
    return outer;
  }

  // Groups of `steps` rows first to last; what does not fill a group runs by itself, at the end of the rows.
  std::vector<Tensor> run_grouped(std::span<const Tensor> carry, std::span<const Tensor> xs, int64_t length,
                                  int64_t steps, bool unroll) const {
    const int64_t groups = length / steps, whole = groups * steps;
    std::vector<Tensor> in_groups, left, results(carry.begin(), carry.end());
    for (const Tensor& x : xs) {
      in_groups.push_back(with_leading(rows_of(x, 0, whole), {groups, steps}, 1));
      left.push_back(rows_of(x, whole, length));
    }
    std::vector<std::vector<Tensor>> parts(ys());
    const auto add = [&](std::vector<Tensor> found, bool grouped) {
      for (size_t y = 0; y < ys(); ++y) {
        Tensor& rows = found[carries() + y];
        parts[y].insert(grouped ? parts[y].begin() : parts[y].end(), grouped ? with_leading(rows, {whole}, 2) : rows);
      }
      found.resize(carries());
      results = std::move(found);
    };
    Program outer = grouped(steps, unroll);
    outer.attrs.recompute = !unroll;
    if (attrs.reverse && whole < length) add(run(results, left, length - whole), false);
    add(outer.run(results, in_groups, groups), true);
    if (!attrs.reverse && whole < length) add(run(results, left, length - whole), false);
    for (auto& each : parts) results.push_back(each.size() == 1 ? each[0] : concatenate(each, 0, location));
    return results;
  }
};

Results recorded_scan(const char* name, const Step& step, std::span<const Tensor> carry, std::span<const Tensor> xs,
                      Dim length, const ScanOptions& options, Location location) {
  std::vector<TensorType> types = ir::types_of(carry);
  for (const Tensor& x : xs) {
    types.push_back(x.type());
    types.back().shape.erase(0);
  }
  ProgramRecorder body(ir::region_context());
  body.record(types, step.body, location);
  check_carry(name, carry, body.results(), step.carried, location);
  Assigned assigned;
  body.add_assigned(assigned);
  Closer closer(carry.size(), assigned);
  const ir::Graph graph = body.finish(assigned, carry.size(), location);
  closer.add(body);
  Program program{{}, {}, location};
  program.attrs.carries = static_cast<int64_t>(carry.size() + assigned.size());
  program.attrs.xs = static_cast<int64_t>(xs.size());
  program.attrs.reverse = options.reverse;
  program.attrs.body = {closer.close(graph, body)};
  program.constants.assign(closer.captured().begin(), closer.captured().end());
  std::vector<Tensor> carried(carry.begin(), carry.end());
  carried.insert(carried.end(), closer.before().begin(), closer.before().end());
  const int64_t steps = options.checkpoint > 0 ? options.checkpoint : options.unroll;
  const bool groups = steps > 1 && length.is_number() && length.number() >= steps;
  program.attrs.recompute = !groups && options.checkpoint > 0 && !(length.is_number() && length.number() <= steps);
  std::vector<Tensor> all = groups ? program.run_grouped(carried, xs, length.number(), steps, options.checkpoint == 0)
                                   : program.run(carried, xs, length);
  for (size_t i = 0; i < assigned.size(); ++i) assigned[i].assign(all[carry.size() + i], location);
  const auto from = all.begin() + static_cast<ptrdiff_t>(carry.size());
  all.erase(from, from + static_cast<ptrdiff_t>(assigned.size()));
  return {std::move(all), body.structure()};
}

}  // namespace

Results scan(const char* name, Step step, std::span<const Tensor> init, std::span<const Tensor> xs,
             const ScanOptions& options, Location location) {
  for (size_t i = 0; i < init.size(); ++i) {
    if (init[i].defined()) continue;
    throw Error(Code::kInvalidArgument, {.what = fmt::format("carry {} of {} is an undefined tensor", i, name),
                                         .location = LocationScope::resolve(location),
                                         .fix = "set the tensor before the call (Tensor() holds nothing)"});
  }
  const Dim length = length_of(name, xs, options, location);
  const auto concrete = [](const Tensor& x) { return x.concrete(); };
  // The types of ys are those of a recording where no row tells them.
  if (length == Dim(0) || !std::ranges::all_of(init, concrete) || !std::ranges::all_of(xs, concrete) || recording())
    return recorded_scan(name, step, init, xs, length, options, location);
  const int64_t rows = length.number();
  std::vector<Tensor> carry(init.begin(), init.end());
  std::vector<std::vector<Tensor>> ys, rows_of_xs;
  for (const Tensor& x : xs) rows_of_xs.push_back(unstack({x, location}));
  Results results;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t row = options.reverse ? rows - 1 - i : i;
    std::vector<Tensor> leaves = carry, made;
    for (const auto& each : rows_of_xs) leaves.push_back(each[static_cast<size_t>(row)]);
    results.structure = {};
    step.body(leaves, made, results.structure);
    check_carry(name, carry, made, step.carried, location);
    if (i == 0) ys.assign(made.size() - carry.size(), std::vector<Tensor>(static_cast<size_t>(rows)));
    for (size_t y = 0; y < ys.size(); ++y) ys[y][static_cast<size_t>(row)] = made[carry.size() + y];
    made.resize(carry.size());
    carry = std::move(made);
  }
  results.tensors = std::move(carry);
  for (const auto& each : ys) results.tensors.push_back(stack(each, 0, location));
  return results;
}

}  // namespace hone::control_detail
