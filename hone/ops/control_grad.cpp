// Gradients of a choice among programs: the same choice among their gradients. The choice that a tape records gives, as
// further results, what those read.
#include "hone/base/error.h"
#include "hone/ops/control_types.h"
#include "hone/ops/creation.h"
#include "hone/ops/region_vjp.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone::control {
namespace {

// Places behind the results of a choice that its branches share: each branch has as many of a type as it keeps.
class Places {
 public:
  // For the values of one branch.
  std::vector<size_t> of(const ir::Graph& branch, std::span<const ir::ValueId> values) {
    std::vector<size_t> found;
    std::vector<bool> taken(types_.size());
    for (const ir::ValueId value : values) {
      size_t place = 0;
      while (place < types_.size() && (taken[place] || !(types_[place] == branch.type(value)))) ++place;
      if (place == types_.size()) types_.push_back(branch.type(value)), taken.push_back(false);
      taken[place] = true;
      found.push_back(place);
    }
    return found;
  }
  const std::vector<TensorType>& types() const { return types_; }

 private:
  std::vector<TensorType> types_;
};

}  // namespace

Keeping keep_if(const Call& call, const std::vector<bool>& operands) {
  const Regions& branches = call.attrs.as<BranchAttrs>().branches;
  const std::vector<bool> followed(operands.begin() + 1, operands.end());
  std::vector<ir::RegionProgram> programs;
  std::vector<std::vector<ir::ValueId>> kept;
  std::vector<std::vector<size_t>> places;
  Places all;
  for (const auto& branch : branches) {
    programs.push_back(differentiable(ir::graph_of(branch), followed, call.location));
    const ir::Graph& graph = programs.back().graph;
    std::vector<bool> known(graph.values()), flags = followed;
    for (const ir::Input& input : graph.inputs()) known[input.value] = true;
    for (const ir::ValueId output : graph.outputs()) known[output] = true;
    flags.resize(graph.inputs().size());
    kept.push_back(residuals(graph, flags, known, call.location));
    places.push_back(all.of(graph, kept.back()));
  }
  const auto context = ir::region_context();
  for (size_t b = 0; b < branches.size(); ++b) {
    const ir::Graph& graph = programs[b].graph;
    ir::Rewriter rewriter(graph);
    for (const ir::Node& node : graph.nodes()) rewriter.copy(node);
    std::vector<ir::ValueId> results;
    for (const ir::ValueId output : graph.outputs()) results.push_back(rewriter[output]);
    const size_t own = results.size();
    results.resize(own + all.types().size(), ir::kNone);
    for (size_t i = 0; i < kept[b].size(); ++i) results[own + places[b][i]] = rewriter[kept[b][i]];
    for (size_t i = 0; i < all.types().size(); ++i) {
      const TensorType& type = all.types()[i];
      if (results[own + i] == ir::kNone)
        results[own + i] = rewriter.to().add_one(ops::constant, ConstantAttrs{type.dtype, type.shape, 0}, {}, 0);
    }
    programs[b].graph = rewriter.to().finish(std::move(results));
  }
  ir::Captures captures;
  const BranchAttrs attrs{ir::close(programs, captures)};
  return {.attrs = Attrs(attrs),
          .operands = {captures.tensors().begin(), captures.tensors().end()},
          .results = programs[0].graph.outputs().size()};
}

// Operands of the choice back: those of the branches, their results, cotangents, sums of gradients.
void vjp_if(VjpContext& c) {
  const Regions& branches = c.attrs_as<BranchAttrs>().branches;
  const auto operands = static_cast<size_t>(c.inputs() - 1);
  const size_t results = ir::graph_of(branches[0]).outputs().size();
  std::vector<bool> needed;
  std::vector<Tensor> inputs;
  std::vector<size_t> cotangent_at(results), sum_at(operands);  // among the inputs; 0: none
  for (int i = 1; i < c.inputs(); ++i) {
    needed.push_back(is_floating(c.in_type(i).dtype) && c.need(i));
    inputs.push_back(c.in(i));
  }
  for (size_t i = 0; i < results; ++i) inputs.push_back(c.out(static_cast<int>(i)));
  const auto add = [&](const Tensor& x) { return x.defined() ? inputs.push_back(x), inputs.size() - 1 : 0; };
  for (size_t i = 0; i < results; ++i) cotangent_at[i] = add(c.ct(static_cast<int>(i)));
  for (size_t i = 0; i < operands; ++i) {
    if (needed[i]) sum_at[i] = add(c.take(static_cast<int>(i + 1)));
  }
  const Location location = LocationScope::resolve({});
  const auto context = ir::region_context();
  const std::vector<TensorType> types = ir::types_of(inputs);
  std::vector<ir::RegionProgram> programs;
  for (const auto& branch : branches) {
    const ir::Graph& program = ir::graph_of(branch);
    const auto gradients = [&](std::span<const Tensor> given) {
      std::vector<Tensor> values(program.values()), cotangents(results), sums(operands), wanted;
      for (size_t i = 0; i < operands; ++i) values[program.inputs()[i].value] = given[i];
      for (size_t i = 0; i < results; ++i) {
        if (!values[program.outputs()[i]].defined()) values[program.outputs()[i]] = given[operands + i];
        if (cotangent_at[i] > 0) cotangents[i] = given[cotangent_at[i]];
      }
      for (size_t i = 0; i < operands; ++i) {
        if (sum_at[i] > 0) sums[i] = given[sum_at[i]];
      }
      const std::vector<Tensor> found = region_vjp(program, std::move(values), needed, cotangents, sums);
      for (size_t i = 0; i < operands; ++i) {
        if (needed[i]) wanted.push_back(found[i].defined() ? found[i] : zeros_like(given[i], location));
      }
      return wanted;
    };
    programs.push_back(ir::record_region(context, types, gradients, location));
    programs.back().graph = ir::prune(programs.back().graph);
  }
  ir::Captures captures;
  const BranchAttrs attrs{ir::close(programs, captures)};
  std::vector<Tensor> all{c.in(0)};
  all.insert(all.end(), inputs.begin(), inputs.end());
  all.insert(all.end(), captures.tensors().begin(), captures.tensors().end());
  std::vector<Tensor> found(static_cast<size_t>(std::ranges::count(needed, true)));
  Call call{ops::if_, attrs, all, found, location};
  dispatch(call);
  size_t at = 0;
  for (size_t i = 0; i < operands; ++i) {
    if (needed[i]) c.set(static_cast<int>(i + 1), found[at++]);
  }
}

void vjp_while(VjpContext&) {
  throw Error(
      Code::kUnsupported,
      {.what = "while_loop has no gradient",
       .location = LocationScope::resolve({}),
       .details = {"how often it runs is known only when it has run, so nothing was kept to walk back along"},
       .fix = "use scan, or fori_loop with bounds that are numbers of the host; stop_gradient where no gradient "
              "is meant to pass"});
}

}  // namespace hone::control
