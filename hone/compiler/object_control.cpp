// Branches and loops in the tables of an object: what control_kernels.cpp does in an executable.
#include <cstring>

#include "hone/base/error.h"
#include "hone/compiler/object_tables.h"
#include "hone/compiler/pipeline.h"
#include "hone/ir/region.h"
#include "hone/ops/attrs.h"
#include "hone/ops/table.h"

namespace hone::compiler {
namespace {

using math::ObjectControl;
using math::ObjectMemory;

size_t bytes_of(const TensorType& type) { return static_cast<size_t>(type.shape.count()) * size_of(type.dtype); }

// A region, compiled. Passes may add inputs of their own (constants), so operands have places.
struct Program {
  std::shared_ptr<const Executable> executable;
  std::vector<size_t> inputs;  // of the executable, by operand

  explicit Program(const std::shared_ptr<const Region>& region)
      : executable(compile(ir::merged(ir::graph_of(region)), {.objects = true}).executable) {
    const std::span<const ir::Input> all = executable->graph().inputs();
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].kind == ir::InputKind::Argument) inputs.push_back(i);
    }
  }
  // Result i is operand i.
  bool keeps(size_t i) const {
    const ir::Graph& graph = executable->graph();
    return graph.outputs()[i] == graph.inputs()[inputs[i]].value;
  }
  ObjectFrame frame() const {
    return {std::vector<ObjectMemory>(executable->graph().inputs().size()),
            std::vector<std::optional<ObjectMemory>>(executable->graph().outputs().size())};
  }
  // A frame that knows where operand i lies.
  void set(ObjectFrame& frame, size_t i, ObjectMemory memory) const { frame.inputs[inputs[i]] = memory; }
};

// The slots of what moves in a loop.
struct Moving {
  int32_t first_slot;
  std::vector<ObjectMemory> memory;
  std::vector<int64_t> strides;

  ObjectMemory add(ObjectMemory even, ObjectMemory odd, int64_t stride) {
    memory.insert(memory.end(), {even, odd});
    strides.push_back(stride);
    return {first_slot + static_cast<int32_t>(strides.size()) - 1, 0};
  }
};

}  // namespace

bool is_control(const Op& op) { return &op == &ops::if_ || &op == &ops::while_ || &op == &ops::scan; }

size_t ObjectPlan::begin_control() {
  tables_.rows.push_back({Work{.function = math::kObjectControl, .params = {}, .memory = {}}, {}});
  return tables_.rows.size() - 1;
}

void ObjectPlan::end_control(size_t row, ObjectControl control, const std::vector<int64_t>& parts,
                             const std::vector<int64_t>& strides, Memories memory) {
  control.parts = static_cast<int32_t>(parts.size()), control.moving = static_cast<int32_t>(strides.size());
  ObjectTables::Row& made = tables_.rows[row];
  made.memory = std::move(memory);
  made.work.count = static_cast<int64_t>(tables_.rows.size() - row - 1);
  const auto append = [&](const void* data, size_t bytes) {
    const auto* const from = static_cast<const std::byte*>(data);
    made.work.params.insert(made.work.params.end(), from, from + bytes);
  };
  append(&control, sizeof control);
  append(parts.data(), parts.size() * sizeof(int64_t));
  append(strides.data(), strides.size() * sizeof(int64_t));
}

// Rows of a program, whose arena lies behind the temporaries of the step.
int64_t ObjectPlan::add_part(const Executable& program, ObjectFrame frame) {
  const size_t before = tables_.rows.size();
  frame.arena = temporaries_at_ + temporaries_used_;
  ObjectPlan(tables_, program, std::move(frame)).add_rows();
  return static_cast<int64_t>(tables_.rows.size() - before);
}

void ObjectPlan::add_control(const ir::Node& node, const Operands& operands) {
  if (node.op == &ops::if_) return add_branches(node, operands);
  if (node.op == &ops::while_) return add_while(node, operands);
  add_scan(node, operands);
}

void ObjectPlan::add_branches(const ir::Node& node, const Operands& operands) {
  const size_t row = begin_control();
  std::vector<int64_t> parts;
  for (const auto& region : regions_of(node.attrs)) {
    const Program branch(region);
    ObjectFrame frame = branch.frame();
    for (size_t i = 1; i < operands.of_input.size(); ++i) branch.set(frame, i - 1, operands.of_input[i]);
    frame.outputs.assign(operands.of_output.begin(), operands.of_output.end());
    parts.push_back(add_part(*branch.executable, std::move(frame)));
  }
  const bool by_bool = operands.inputs[0].dtype() == bool_;
  ObjectControl control{};
  control.kind = by_bool ? ObjectControl::If : ObjectControl::Case;
  end_control(row, control, parts, {}, {operands.of_input[0]});
}

void ObjectPlan::add_while(const ir::Node& node, const Operands& operands) {
  const Regions regions = regions_of(node.attrs);
  const Program condition(regions[0]), body(regions[1]);
  ObjectFrame looks = condition.frame(), steps = body.frame();
  Moving moving{tables_.slots, {}, {}};
  Memories last;
  for (size_t i = 0; i < operands.of_input.size(); ++i) {
    last.push_back(operands.of_input[i]);
    if (!body.keeps(i)) {
      const size_t bytes = bytes_of(operands.outputs[i]);
      const Memory even = temporary(bytes), odd = temporary(bytes);
      copy(operands.inputs[i], operands.of_input[i], even);
      last[i] = moving.add(even, odd, 0);
      steps.outputs[i] = moving.add(odd, even, 0);
    }
    condition.set(looks, i, last[i]), body.set(steps, i, last[i]);
  }
  const Memory go_on = temporary(sizeof(bool));
  looks.outputs[0] = go_on;
  tables_.slots += static_cast<int32_t>(moving.strides.size());
  const size_t row = begin_control();
  const std::vector<int64_t> parts{add_part(*condition.executable, std::move(looks)),
                                   add_part(*body.executable, std::move(steps))};
  moving.memory.insert(moving.memory.begin(), go_on);
  ObjectControl control{};
  control.kind = ObjectControl::While, control.first_slot = moving.first_slot;
  end_control(row, control, parts, moving.strides, std::move(moving.memory));
  for (size_t i = 0; i < last.size(); ++i) copy(placeholder(operands.outputs[i]), last[i], operands.of_output[i]);
}

void ObjectPlan::add_scan(const ir::Node& node, const Operands& operands) {
  const auto& attrs = node.attrs.as<ScanAttrs>();
  const auto carries = static_cast<size_t>(attrs.carries), sequences = static_cast<size_t>(attrs.xs);
  const int64_t trips = attrs.length[0].number();
  const Program body(attrs.body[0]);
  ObjectFrame frame = body.frame();
  Moving moving{tables_.slots, {}, {}};
  const auto rows = [&](const TensorType& stacked, Memory memory) {
    return moving.add(memory, memory, trips > 0 ? static_cast<int64_t>(bytes_of(stacked)) / trips : 0);
  };
  for (size_t i = 0; i < operands.of_input.size(); ++i) {
    Memory from = operands.of_input[i];
    if (i < carries) {
      const bool kept = body.keeps(i);
      // The last trip writes to the result.
      const Memory to = operands.of_output[i], other = kept ? to : temporary(bytes_of(operands.outputs[i]));
      const Memory even = trips % 2 == 0 ? to : other, odd = trips % 2 == 0 ? other : to;
      copy(operands.inputs[i], from, kept ? to : even);
      if (!kept) from = moving.add(even, odd, 0), frame.outputs[i] = moving.add(odd, even, 0);
    } else if (i < carries + sequences) {
      from = rows(operands.inputs[i].type(), from);
    }
    body.set(frame, i, from);
  }
  for (size_t i = carries; i < operands.of_output.size(); ++i)
    frame.outputs[i] = rows(operands.outputs[i], operands.of_output[i]);
  tables_.slots += static_cast<int32_t>(moving.strides.size());
  const size_t row = begin_control();
  const int64_t part = add_part(*body.executable, std::move(frame));
  ObjectControl control{};
  control.kind = ObjectControl::Scan, control.first_slot = moving.first_slot;
  control.trips = trips, control.reverse = attrs.reverse ? 1 : 0;
  end_control(row, control, {part}, moving.strides, std::move(moving.memory));
}

}  // namespace hone::compiler
