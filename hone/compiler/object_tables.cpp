#include "hone/compiler/object_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "hone/base/error.h"
#include "hone/base/hash.h"
#include "hone/ir/region.h"

namespace hone::compiler {
namespace {

size_t bytes_of(const TensorType& type) { return static_cast<size_t>(type.shape.count()) * size_of(type.dtype); }

Tensor typed(const TensorType& type, const Layout& layout) {
  const Tensor dense = placeholder(type);
  return layout.dense ? dense : dense.alias(type, layout.strides);
}

}  // namespace

math::ObjectMemory ObjectTables::constant(const void* data, size_t bytes) {
  const uint64_t hash = hash_bytes(data, bytes);
  const auto [begin, end] = known_.equal_range(hash);
  for (auto each = begin; each != end; ++each) {
    const auto [at, size] = each->second;
    if (size == bytes && std::memcmp(constants.data() + at, data, bytes) == 0)
      return {math::kConstantSlot, static_cast<int64_t>(at)};
  }
  const size_t at = constants.size();
  constants.resize(object_aligned(at + bytes));
  if (bytes > 0) std::memcpy(constants.data() + at, data, bytes);
  known_.emplace(hash, std::pair{at, bytes});
  return {math::kConstantSlot, static_cast<int64_t>(at)};
}

math::ObjectMemory ObjectTables::constant(const Tensor& value) {
  const Tensor dense = value.dense();
  return constant(dense.mutable_bytes(), dense.bytes());
}

ObjectPlan::ObjectPlan(ObjectTables& tables, const Executable& executable, ObjectFrame frame)
    : tables_(tables), plan_(executable.plan()), outputs_(executable.outputs()), frame_(std::move(frame)) {
  place_storages();
}

void ObjectPlan::place_storages() {
  temporaries_at_ = frame_.arena + object_aligned(plan_.arena_bytes);
  tables_.arena_bytes = std::max(tables_.arena_bytes, temporaries_at_);
  for (const Storage& storage : plan_.storages) {
    switch (storage.kind) {
      case Storage::Arena:
        storages_.push_back({math::kArenaSlot, static_cast<int64_t>(frame_.arena + storage.offset)});
        break;
      case Storage::Input:
        storages_.push_back(frame_.inputs[storage.index]);
        break;
      case Storage::Output:
        // None: a new value that lies in its cell instead.
        storages_.push_back(frame_.outputs[storage.index].value_or(Memory{}));
        break;
      case Storage::Constant: {  // places count from the beginning of its buffer
        const Buffer& buffer = *storage.tensor.impl()->buffer;
        storages_.push_back(tables_.constant(buffer.data(), buffer.bytes()));
        break;
      }
      case Storage::Held:
        storages_.push_back({});  // its step is missing
        break;
    }
  }
}

math::ObjectMemory ObjectPlan::memory_of(const Place& place) const {
  Memory memory = storages_[place.storage];
  memory.offset += static_cast<int64_t>(place.offset);
  return memory;
}

void ObjectPlan::add_rows() {
  for (const Step& step : plan_.steps) add(step);
  const std::span<const ir::ValueId> outputs = plan_.graph.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!frame_.outputs[i] || outputs_[i].kind == OutputPlace::Written) continue;
    const Place& place = plan_.places[outputs[i]];
    copy(typed(plan_.graph.type(outputs[i]), place.layout), memory_of(place), *frame_.outputs[i]);
  }
}

ObjectPlan::Operands ObjectPlan::operands_of(const Step& step) {
  const ir::Node& node = plan_.graph.nodes()[step.node];
  Operands made;
  for (const ir::ValueId operand : plan_.graph.operands(node)) {
    made.inputs.push_back(typed(plan_.graph.type(operand), plan_.places[operand].layout));
    made.of_input.push_back(memory_of(plan_.places[operand]));
  }
  for (const auto& [operand, storage] : step.packed) {
    made.inputs[operand] = placeholder(made.inputs[operand].type());
    made.of_input[operand] = storages_[storage];
  }
  for (uint32_t i = 0; i < node.results; ++i) {
    const Place& place = plan_.places[node.first_result + i];
    made.outputs.push_back(plan_.graph.type(node.first_result + i));
    made.of_output.push_back(place.storage == ir::kNone ? temporary(bytes_of(made.outputs.back())) : memory_of(place));
  }
  return made;
}

void ObjectPlan::add(const Step& step) {
  const ir::Node& node = plan_.graph.nodes()[step.node];
  temporaries_used_ = 0;
  if (step.kind == Step::Pack) {
    const ir::ValueId operand = plan_.graph.operands(node)[step.operand];
    const Place& place = plan_.places[operand];
    return copy(typed(plan_.graph.type(operand), place.layout), memory_of(place), storages_[step.storage]);
  }
  if (step.kind == Step::Host) return missing(node, "calls the host");
  const Operands operands = operands_of(step);
  if (is_control(*node.op)) return add_control(node, operands);
  if (!step.kernel->works) return missing(node, step.kernel->name);
  const KernelQuery query{*node.op,
                          node.attrs,
                          {operands.inputs.data(), operands.inputs.size()},
                          {operands.outputs.data(), operands.outputs.size()}};
  try {
    append(step.kernel->works(query), operands.of_input, operands.of_output);
  } catch (const Error& error) {
    if (error.code() != Code::kUnsupported) throw;
    missing(node, error.what());
  }
}

math::ObjectMemory ObjectPlan::temporary(size_t bytes) {
  const Memory memory{math::kArenaSlot, static_cast<int64_t>(temporaries_at_ + temporaries_used_)};
  temporaries_used_ += object_aligned(bytes);
  tables_.arena_bytes = std::max(tables_.arena_bytes, temporaries_at_ + temporaries_used_);
  return memory;
}

void ObjectPlan::append(Works works, const Memories& inputs, const Memories& outputs) {
  const size_t used = temporaries_used_;
  Memories temporaries;
  for (const int64_t bytes : works.temporaries) temporaries.push_back(temporary(static_cast<size_t>(bytes)));
  temporaries_used_ = used;
  for (Work& work : works.works) {
    ObjectTables::Row row{std::move(work), {}};
    for (const WorkMemory& m : row.work.memory) {
      const auto index = static_cast<size_t>(m.index);
      Memory memory = m.kind == WorkMemory::Input    ? inputs[index]
                      : m.kind == WorkMemory::Output ? outputs[index]
                                                     : temporaries[index];
      memory.offset += m.offset;
      row.memory.push_back(memory);
    }
    tables_.scratch_bytes = std::max(tables_.scratch_bytes, object_aligned(static_cast<size_t>(row.work.scratch)));
    tables_.rows.push_back(std::move(row));
  }
}

void ObjectPlan::copy(const Tensor& layout, Memory from, Memory to) { append(copy_works(layout), {from}, {to}); }

void ObjectPlan::missing(const ir::Node& node, std::string_view why) {
  const Location location = plan_.graph.origin(node).location();
  tables_.missing.insert(fmt::format("{} ({}){}", node.op->name, why,
                                     location.known() ? fmt::format("  {}:{}", location.file, location.line) : ""));
}

}  // namespace hone::compiler
