// Gradient of scan: one scan the other way. The scan that a tape records stacks, as further ys, what the gradient of
// its body reads, so that a step back computes again only what is cheap; or whole steps where the scan says
// `recompute`.
#include <algorithm>

#include "hone/base/error.h"
#include "hone/ops/control_types.h"
#include "hone/ops/creation.h"
#include "hone/ops/region_vjp.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone::control {
namespace {

using Flags = std::vector<bool>;

// With the carries that come to depend on what is followed.
Flags with_carries(const ir::Graph& body, Flags followed, size_t carries) {
  for (;;) {
    const Flags before = followed, flows = followed_values(body, followed);
    for (size_t i = 0; i < carries; ++i) followed[i] = followed[i] || flows[body.outputs()[i]];
    if (followed == before) return followed;
  }
}

// What leaves each bit of what is added to it.
Tensor nothing(const Tensor& like, Location location) { return full(like.shape(), {-0.0, location}, like.dtype()); }

// Operands of the scan back: cotangents of the carries, sums of the constants' gradients; by row the xs, the ys and
// their cotangents; the constants.
class ScanBack {
 public:
  explicit ScanBack(VjpContext& c)
      : c_(c),
        a_(c.attrs_as<ScanAttrs>()),
        body_(ir::graph_of(a_.body[0])),
        carries_(static_cast<size_t>(a_.carries)),
        first_constant_(carries_ + static_cast<size_t>(a_.xs)),
        inputs_(static_cast<size_t>(c.inputs())),
        location_(LocationScope::resolve({})) {
    for (size_t i = 0; i < inputs_; ++i) {
      const auto at = static_cast<int>(i);
      needed_.push_back(c.need(at) && is_floating(c.in_type(at).dtype));
    }
    needed_ = with_carries(body_, needed_, carries_);
  }

  void run() {
    std::vector<Tensor> sums(inputs_), operands, rows;
    for (size_t i = 0; i < inputs_; ++i) {
      if (!needed_[i] || is_row(i)) continue;
      sums[i] = i < carries_ ? cotangent(i) : c_.take(static_cast<int>(i));
      operands.push_back(sums[i].defined() ? sums[i] : nothing(in(i), location_));
    }
    const auto carried = static_cast<int64_t>(operands.size());
    for (size_t i = carries_; i < first_constant_; ++i) rows.push_back(in(i));
    for (size_t i = carries_; i < body_.outputs().size(); ++i) rows.push_back(c_.out(static_cast<int>(i)));
    for (size_t i = carries_; i < body_.outputs().size(); ++i) {
      if (cotangent(i).defined()) rows.push_back(cotangent(i));
    }
    operands.insert(operands.end(), rows.begin(), rows.end());
    for (size_t i = first_constant_; i < inputs_; ++i) operands.push_back(in(i));
    Flags flows;
    std::vector<Tensor> results = run_scan(
        {.body = {},
         .length = a_.length,
         .carries = carried,
         .xs = static_cast<int64_t>(rows.size()),
         .reverse = !a_.reverse,
         .recompute = a_.recompute},
        std::move(operands),
        [&](std::span<const Tensor> values) { return step({values.begin(), values.end()}, flows); }, location_);
    const bool runs = a_.length[0].is_number() && a_.length[0].number() > 0;
    size_t next = 0, next_row = static_cast<size_t>(carried);
    for (size_t i = 0; i < inputs_; ++i) {
      if (!needed_[i]) continue;
      Tensor gradient = is_row(i) ? Tensor() : results[next++];
      if (is_row(i) && flows[i]) gradient = results[next_row++];
      if (!flows[i] && (i >= carries_ || runs || !sums[i].defined())) gradient = i < carries_ ? Tensor() : sums[i];
      c_.set(static_cast<int>(i), std::move(gradient));
    }
  }

 private:
  const Tensor& in(size_t i) const { return c_.in(static_cast<int>(i)); }
  const Tensor& cotangent(size_t i) const { return c_.ct(static_cast<int>(i)); }
  bool is_row(size_t i) const { return i >= carries_ && i < first_constant_; }

  // From operands, a row of each, to what is carried on and the rows of gradients. `flows`: the inputs of the body that
  // get a gradient.
  std::vector<Tensor> step(std::vector<Tensor> operands, Flags& flows) const {
    ir::RegionProgram expanded{body_, {}};
    if (a_.recompute) expanded = differentiable(body_, needed_, location_);
    const ir::Graph& program = expanded.graph;
    std::vector<Tensor> values(program.values()), cotangents(program.outputs().size()), sums(inputs_);
    auto next = operands.begin();
    for (size_t i = 0; i < inputs_; ++i) {
      if (needed_[i] && !is_row(i)) (i < carries_ ? cotangents[i] : sums[i]) = *next++;
    }
    for (size_t i = carries_; i < first_constant_; ++i) values[program.inputs()[i].value] = *next++;
    for (size_t i = carries_; i < cotangents.size(); ++i) values[program.outputs()[i]] = *next++;
    for (size_t i = carries_; i < cotangents.size(); ++i) {
      if (cotangent(i).defined()) cotangents[i] = *next++;
    }
    for (size_t i = first_constant_; i < inputs_; ++i) values[program.inputs()[i].value] = *next++;
    for (size_t i = 0; i < expanded.captured.size(); ++i)
      values[program.inputs()[inputs_ + i].value] = expanded.captured[i];
    Flags needed = needed_;
    needed.resize(program.inputs().size());
    std::vector<Tensor> found = region_vjp(program, std::move(values), needed, cotangents, sums), results, of_rows;
    flows.assign(inputs_, false);
    for (size_t i = 0; i < inputs_; ++i) {
      if (!needed_[i]) continue;
      flows[i] = found[i].defined() && !(sums[i].defined() && found[i].id() == sums[i].id());
      if (i < carries_ && !flows[i]) found[i] = nothing(in(i), location_);
      if (!is_row(i))
        results.push_back(found[i]);
      else if (flows[i])
        of_rows.push_back(found[i]);
    }
    results.insert(results.end(), of_rows.begin(), of_rows.end());
    return results;
  }

  VjpContext& c_;
  const ScanAttrs& a_;
  const ir::Graph& body_;
  size_t carries_, first_constant_, inputs_;
  Flags needed_;
  Location location_;
};

}  // namespace

Keeping keep_scan(const Call& call, const std::vector<bool>& operands) {
  ScanAttrs attrs = call.attrs.as<ScanAttrs>();
  const ir::Graph& body = ir::graph_of(attrs.body[0]);
  const auto carries = static_cast<size_t>(attrs.carries);
  const Flags followed = with_carries(body, operands, carries);
  // Effects are not repeated, so what they give is kept, as all else then.
  attrs.recompute = attrs.recompute && std::ranges::none_of(body.nodes(), ir::has_effect);
  ir::RegionProgram program{body, {}};
  std::vector<ir::ValueId> kept;
  if (!attrs.recompute) {
    program = differentiable(body, followed, call.location);
    const ir::Graph& graph = program.graph;
    Flags known(graph.values()), flags = followed;
    for (size_t i = carries; i < graph.inputs().size(); ++i) known[graph.inputs()[i].value] = true;
    for (size_t i = carries; i < graph.outputs().size(); ++i) known[graph.outputs()[i]] = true;
    flags.resize(graph.inputs().size());
    kept = residuals(graph, flags, known, call.location);
  } else {
    for (size_t i = 0; i < carries; ++i) kept.push_back(body.inputs()[i].value);
  }
  std::vector<ir::ValueId> results(program.graph.outputs().begin(), program.graph.outputs().end());
  results.insert(results.end(), kept.begin(), kept.end());
  attrs.body = {std::make_shared<ir::Graph>(ir::with_results(program.graph, results))};
  return {.attrs = Attrs(attrs), .operands = std::move(program.captured), .results = results.size()};
}

void vjp_scan(VjpContext& c) { ScanBack(c).run(); }

}  // namespace hone::control
