// Gradients of a choice among programs: the same choice among their gradients, which compute the branch again.
#include "hone/base/error.h"
#include "hone/ops/control_types.h"
#include "hone/ops/creation.h"
#include "hone/ops/region_vjp.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone::control {

void vjp_if(VjpContext& c) {
  const Regions& branches = c.attrs_as<BranchAttrs>().branches;
  const auto operands = static_cast<size_t>(c.inputs() - 1);
  std::vector<bool> needed;
  std::vector<Tensor> inputs;
  for (int i = 1; i < c.inputs(); ++i) {
    needed.push_back(is_floating(c.in_type(i).dtype) && c.need(i));
    inputs.push_back(c.in(i));
  }
  const size_t results = ir::graph_of(branches[0]).outputs().size();
  std::vector<size_t> place(results);  // of a cotangent among the inputs; 0: it is zero
  for (size_t i = 0; i < results; ++i) {
    if (!c.ct(static_cast<int>(i)).defined()) continue;
    place[i] = inputs.size();
    inputs.push_back(c.ct(static_cast<int>(i)));
  }
  const Location location = LocationScope::resolve({});
  const auto context = std::make_shared<ir::Context>();
  const std::vector<TensorType> types = ir::types_of(inputs);
  std::vector<ir::RegionProgram> programs;
  for (const auto& branch : branches) {
    const auto gradients = [&](std::span<const Tensor> values) {
      std::vector<Tensor> cotangents;
      for (size_t i = 0; i < results; ++i)
        cotangents.push_back(c.ct(static_cast<int>(i)).defined() ? values[place[i]] : Tensor());
      const std::vector<Tensor> found = region_vjp(ir::graph_of(branch), values.first(operands), needed, cotangents);
      std::vector<Tensor> wanted;
      for (size_t i = 0; i < operands; ++i) {
        if (needed[i]) wanted.push_back(found[i].defined() ? found[i] : zeros_like(values[i], location));
      }
      return wanted;
    };
    programs.push_back(ir::record_region(context, types, gradients, location));
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
