#include "hone/compiler/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "hone/base/error.h"
#include "hone/compiler/object_tables.h"
#include "hone/device/device.h"
#include "hone/ops/views.h"

namespace hone::compiler {
namespace {

constexpr uint32_t kNone = ir::kNone;
constexpr size_t kAlign = 64;

size_t bytes_of(const TensorType& type) { return static_cast<size_t>(type.shape.count()) * size_of(type.dtype); }

// Walks the graph once as the evaluator would, with tensors that have a layout and no elements.
class Walk {
 public:
  Walk(Plan& plan, bool machine_code, bool objects)
      : plan_(plan), graph_(plan.graph), machine_code_(machine_code), objects_(objects), values_(plan.graph.values()) {
    plan.places.resize(graph_.values());
  }

  void run() {
    for (uint32_t i = 0; i < graph_.inputs().size(); ++i) input(i);
    for (uint32_t n = 0; n < graph_.nodes().size(); ++n) node(n);
  }

 private:
  void input(uint32_t index) {
    const ir::Input& input = graph_.inputs()[index];
    const TensorType& type = graph_.type(input.value);
    if (input.tensor.defined()) return note(input.value, input.tensor.dense());
    note(input.value, make(type, Storage{.kind = Storage::Input, .index = index, .bytes = bytes_of(type)}));
  }

  void node(uint32_t index) {
    const ir::Node& node = graph_.nodes()[index];
    SmallVector<Tensor, 8> operands;
    for (const ir::ValueId operand : graph_.operands(node)) operands.push_back(values_[operand]);
    SmallVector<TensorType, 4> types;
    for (uint32_t i = 0; i < node.results; ++i) types.push_back(graph_.type(node.first_result + i));
    SmallVector<Tensor, 4> results(node.results);
    Call call{*node.op,
              node.attrs,
              {operands.data(), operands.size()},
              {results.data(), results.size()},
              graph_.origin(node).location()};
    if (node.op->op_class == OpClass::Effect) {
      for (uint32_t i = 0; i < node.results; ++i)
        results[i] = make(types[i], Storage{.kind = Storage::Held, .index = held_++, .bytes = bytes_of(types[i])});
      plan_.steps.push_back({.kind = Step::Host, .node = index});
    } else if (!view(index, call, {types.data(), types.size()})) {
      Step step = choose(index, call, {types.data(), types.size()});
      for (uint32_t i = 0; i < node.results; ++i) results[i] = make(types[i], Storage{.bytes = bytes_of(types[i])});
      plan_.steps.push_back(std::move(step));
    }
    for (uint32_t i = 0; i < node.results; ++i) note(node.first_result + i, results[i]);
  }

  // Views of strided memory may want to copy it, so they get it packed; not one element repeated, if they take that.
  bool view(uint32_t index, Call& call, std::span<const TensorType> types) {
    if (!call.op.view) return false;
    bool repeated = false;
    for (uint32_t i = 0; i < call.inputs.size(); ++i) {
      const Tensor& x = call.inputs[i];
      if (x.layout().dense) continue;
      if (is_splat(x) && x.dtype() == types[0].dtype)
        repeated = true;
      else
        call.inputs[i] = pack(index, i, x).first;
    }
    if (call.op.view(call, types)) return true;
    if (!repeated) return false;
    for (uint32_t i = 0; i < call.inputs.size(); ++i) {
      if (!call.inputs[i].layout().dense) call.inputs[i] = pack(index, i, call.inputs[i]).first;
    }
    return call.op.view(call, types);
  }

  std::pair<Tensor, uint32_t> pack(uint32_t node, uint32_t operand, const Tensor& strided) {
    auto [found, fresh] = packed_.try_emplace(strided.impl());
    if (!fresh) return found->second;
    Tensor dense = make(strided.type(), Storage{.bytes = strided.bytes()});
    const auto storage = static_cast<uint32_t>(plan_.storages.size() - 1);
    plan_.steps.push_back({.kind = Step::Pack, .node = node, .operand = operand, .storage = storage});
    return found->second = {dense, storage};
  }

  Step choose(uint32_t index, const Call& call, std::span<const TensorType> types) {
    Step step{.node = index};
    const KernelQuery query{call.op, call.attrs, call.inputs, types, machine_code_};
    for (const Kernel& kernel : kernels(call.op)) {
      if (const char* why = kernel.refuses ? kernel.refuses(query) : nullptr) {
        if (!step.refused) step.refused = why;
        continue;
      }
      if (!step.kernel) step.kernel = &kernel;
      if (!objects_) break;
      if (!kernel.works) continue;
      step.kernel = &kernel;
      break;
    }
    if (!step.kernel) {
      throw Error(Code::kUnsupported, {.what = fmt::format("no kernel serves {}", call.op.name),
                                       .location = call.location,
                                       .details = {explain_kernels(query)}});
    }
    for (uint32_t i = 0; i < call.inputs.size() && !step.kernel->reads_strides; ++i) {
      if (call.inputs[i].layout().dense) continue;
      const auto [dense, storage] = pack(index, i, call.inputs[i]);
      call.inputs[i] = dense;
      step.packed.emplace_back(i, storage);
    }
    // Objects take works alone: what has none is not prepared, for that would compile the programs of control flow.
    const bool runs = !objects_ || step.kernel->works;
    if (step.kernel->prepare && runs) step.prepared = step.kernel->prepare(query);
    return step;
  }

  // A tensor over a new storage.
  Tensor make(const TensorType& type, Storage storage) {
    Tensor tensor = placeholder(type);
    windows_.emplace(tensor.impl()->buffer.get(), static_cast<uint32_t>(plan_.storages.size()));
    held_tensors_.push_back(tensor);
    plan_.storages.push_back(std::move(storage));
    return tensor;
  }

  void note(ir::ValueId value, const Tensor& tensor) {
    const Buffer* buffer = tensor.impl()->buffer.get();
    auto found = windows_.find(buffer);
    if (found == windows_.end()) {
      found = windows_.emplace(buffer, static_cast<uint32_t>(plan_.storages.size())).first;
      plan_.storages.push_back({.kind = Storage::Constant, .bytes = buffer->bytes(), .tensor = tensor});
      held_tensors_.push_back(tensor);
    }
    plan_.places[value] = {found->second, tensor.impl()->offset, tensor.layout()};
    values_[value] = tensor;
  }

  Plan& plan_;
  const ir::Graph& graph_;
  const bool machine_code_, objects_;
  std::vector<Tensor> values_;
  std::vector<Tensor> held_tensors_;  // so that no two buffers share an address
  std::unordered_map<const Buffer*, uint32_t> windows_;
  std::unordered_map<const TensorImpl*, std::pair<Tensor, uint32_t>> packed_;  // dense copies, one of each value
  uint32_t held_ = 0;
};

// Where storages are written first and used last, in steps. Outputs and what is not the arena's live to the end.
void find_lifetimes(Plan& plan) {
  const auto steps = static_cast<uint32_t>(plan.steps.size());
  for (Storage& storage : plan.storages) storage.first = kNone, storage.last = 0;
  for (uint32_t s = 0; s < steps; ++s) {
    const ir::Node& node = plan.graph.nodes()[plan.steps[s].node];
    const std::span<const ir::ValueId> operands = plan.graph.operands(node);
    if (plan.steps[s].kind == Step::Pack) {
      plan.storages[plan.places[operands[plan.steps[s].operand]].storage].last = s;
      plan.storages[plan.steps[s].storage].first = plan.storages[plan.steps[s].storage].last = s;
      continue;
    }
    for (const ir::ValueId operand : operands) plan.storages[plan.places[operand].storage].last = s;
    for (uint32_t i = 0; i < node.results; ++i) {
      Storage& storage = plan.storages[plan.places[node.first_result + i].storage];
      storage.first = std::min(storage.first, s), storage.last = std::max(storage.last, s);
    }
    for (const auto& [operand, storage] : plan.steps[s].packed) plan.storages[storage].last = s;
  }
}

// Storages that the results of the graph lie in: written straight into the caller's memory.
void find_outputs(Plan& plan) {
  for (uint32_t i = 0; i < plan.graph.outputs().size(); ++i) {
    const Place& place = plan.places[plan.graph.outputs()[i]];
    Storage& storage = plan.storages[place.storage];
    const bool whole =
        place.offset == 0 && place.layout.dense && storage.bytes == bytes_of(plan.graph.type(plan.graph.outputs()[i]));
    if (storage.kind == Storage::Arena && whole) storage.kind = Storage::Output, storage.index = i;
    storage.last = static_cast<uint32_t>(plan.steps.size());
  }
}

// Results take over the memory of operands that nobody reads again.
class InPlace {
 public:
  explicit InPlace(Plan& plan) : plan_(plan), donated_(plan.storages.size(), kNone), owner_(plan.storages.size()) {
    for (uint32_t i = 0; i < owner_.size(); ++i) owner_[i] = i;
    for (const ir::Input& input : plan.graph.inputs()) {
      if (input.new_value == kNone) continue;
      const Place& place = plan.places[plan.graph.outputs()[input.new_value]];
      const uint32_t own = plan.places[input.value].storage;
      if (place.storage != own && plan.storages[own].kind == Storage::Input) donated_[place.storage] = own;
    }
  }

  void run() {
    for (uint32_t s = 0; s < plan_.steps.size(); ++s) share(s);
    for (Place& place : plan_.places) {
      if (place.storage != kNone) place.storage = owner(place.storage);
    }
  }

 private:
  uint32_t owner(uint32_t storage) {
    while (owner_[storage] != storage) storage = owner_[storage] = owner_[owner_[storage]];
    return storage;
  }

  void share(uint32_t s) {
    const Step& step = plan_.steps[s];
    const ir::Node& node = plan_.graph.nodes()[step.node];
    if (step.kind != Step::Call) return;
    for (uint32_t i = 0; i < node.results; ++i) {
      const uint32_t result = plan_.places[node.first_result + i].storage;
      if (donated_[result] != kNone && take_donated(s, node, i, donated_[result])) continue;
      if (i == 0 && step.kernel->accumulates >= 0) add_to(s, node, static_cast<size_t>(step.kernel->accumulates));
      if (!step.kernel->in_place) continue;
      for (const ir::ValueId operand : plan_.graph.operands(node)) {
        if (take(s, node.first_result + i, operand)) break;
      }
    }
  }

  void add_to(uint32_t s, const ir::Node& node, size_t sum) {
    const std::span<const ir::ValueId> operands = plan_.graph.operands(node);
    if (sum >= operands.size()) return;
    const uint32_t from = owner(plan_.places[operands[sum]].storage);
    const auto lies_there = [&](ir::ValueId operand) { return owner(plan_.places[operand].storage) == from; };
    if (std::ranges::count_if(operands, lies_there) == 1) take(s, node.first_result, operands[sum]);
  }

  bool whole(ir::ValueId value) const {
    const Place& place = plan_.places[value];
    return place.offset == 0 && place.layout.dense;
  }

  // The cell's old value is written over by the new one: at its last reading where the kernel may, or after it.
  bool take_donated(uint32_t s, const ir::Node& node, uint32_t i, uint32_t cell) {
    const ir::ValueId result = node.first_result + i;
    Storage& from = plan_.storages[cell];
    if (!whole(result) || from.kind != Storage::Input ||
        from.bytes != plan_.storages[plan_.places[result].storage].bytes)
      return false;
    if (from.last > s) return false;
    if (from.last == s && reads(node, cell)) {
      const TensorType& type = plan_.graph.type(result);
      bool fits = plan_.steps[s].kernel->in_place;
      for (const ir::ValueId operand : plan_.graph.operands(node)) {
        if (owner(plan_.places[operand].storage) == cell)
          fits = fits && whole(operand) && plan_.graph.type(operand) == type;
      }
      if (!fits) return false;
    }
    merge(plan_.places[result].storage, cell);
    return true;
  }

  bool reads(const ir::Node& node, uint32_t storage) {
    return std::ranges::any_of(plan_.graph.operands(node),
                               [&](ir::ValueId operand) { return owner(plan_.places[operand].storage) == storage; });
  }

  bool take(uint32_t s, ir::ValueId result, ir::ValueId operand) {
    const uint32_t from = owner(plan_.places[operand].storage), to = plan_.places[result].storage;
    if (from == to || owner(to) != to) return false;
    const Storage& storage = plan_.storages[from];
    if (storage.kind != Storage::Arena || storage.last != s || !whole(operand) || !whole(result)) return false;
    if (storage.bytes != plan_.storages[to].bytes || !(plan_.graph.type(operand) == plan_.graph.type(result)))
      return false;
    // Another operand may see the same memory under another layout.
    const ir::Node& node = plan_.graph.nodes()[plan_.steps[s].node];
    for (const ir::ValueId other : plan_.graph.operands(node)) {
      if (owner(plan_.places[other].storage) == from &&
          !(whole(other) && plan_.graph.type(other) == plan_.graph.type(operand)))
        return false;
    }
    merge(to, from);
    return true;
  }

  void merge(uint32_t storage, uint32_t into) {
    Storage &gone = plan_.storages[storage], &kept = plan_.storages[into];
    kept.last = std::max(kept.last, gone.last);
    kept.first = std::min(kept.first, gone.first);
    if (gone.kind == Storage::Output && kept.kind == Storage::Arena)
      kept.kind = Storage::Output, kept.index = gone.index;
    gone.bytes = 0;
    owner_[storage] = into;
  }

  Plan& plan_;
  std::vector<uint32_t> donated_;  // by storage of a new value: the cell's storage
  std::vector<uint32_t> owner_;    // union-find
};

// Offsets by decreasing size: the lowest place that is free for the storage's whole life.
size_t place_by_size(std::vector<Storage*>& storages) {
  std::ranges::stable_sort(storages, [](const Storage* a, const Storage* b) { return a->bytes > b->bytes; });
  std::vector<const Storage*> placed;  // by offset
  size_t end = 0;
  for (Storage* storage : storages) {
    size_t best = SIZE_MAX, best_gap = SIZE_MAX, free = 0;
    for (const Storage* other : placed) {
      if (other->last < storage->first || other->first > storage->last) continue;
      if (other->offset >= free + storage->bytes && other->offset - free < best_gap)
        best = free, best_gap = other->offset - free;
      free = std::max(free, other->offset + other->bytes);
    }
    storage->offset = best == SIZE_MAX ? free : best;
    end = std::max(end, storage->offset + storage->bytes);
    placed.insert(std::ranges::upper_bound(placed, storage->offset, {}, &Storage::offset), storage);
  }
  return end;
}

// Offsets in the order of time, from a list of free blocks: nearly linear, for very large plans.
size_t place_by_time(std::vector<Storage*>& storages) {
  std::ranges::stable_sort(storages, {}, &Storage::first);
  std::multimap<uint32_t, const Storage*> alive;  // by last use
  std::map<size_t, size_t> free;                  // offset -> bytes
  size_t end = 0;
  const auto give_back = [&](size_t offset, size_t bytes) {
    auto next = free.lower_bound(offset);
    if (next != free.end() && offset + bytes == next->first) bytes += next->second, next = free.erase(next);
    if (next != free.begin()) {
      if (const auto before = std::prev(next); before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    free.emplace(offset, bytes);
  };
  for (Storage* storage : storages) {
    while (!alive.empty() && alive.begin()->first < storage->first) {
      give_back(alive.begin()->second->offset, alive.begin()->second->bytes);
      alive.erase(alive.begin());
    }
    auto best = free.end();
    for (auto at = free.begin(); at != free.end(); ++at) {
      if (at->second >= storage->bytes && (best == free.end() || at->second < best->second)) best = at;
    }
    if (best == free.end()) {
      storage->offset = end;
      end += storage->bytes;
    } else {
      const auto [offset, bytes] = *best;
      free.erase(best);
      storage->offset = offset;
      if (bytes > storage->bytes) free.emplace(offset + storage->bytes, bytes - storage->bytes);
    }
    alive.emplace(storage->last, storage);
  }
  return end;
}

void lay_out(Plan& plan) {
  constexpr size_t kExact = 4096;  // storages for which quadratic time is nothing
  std::vector<Storage*> arena;
  for (Storage& storage : plan.storages) {
    if (storage.kind != Storage::Arena || storage.bytes == 0 || storage.first == kNone) continue;
    storage.bytes = (storage.bytes + kAlign - 1) / kAlign * kAlign;
    arena.push_back(&storage);
  }
  std::vector<int64_t> change(plan.steps.size() + 2);
  for (const Storage* storage : arena) {
    change[storage->first] += static_cast<int64_t>(storage->bytes);
    change[storage->last + 1] -= static_cast<int64_t>(storage->bytes);
  }
  int64_t alive = 0;
  for (const int64_t each : change) {
    alive += each;
    plan.lower_bound = std::max(plan.lower_bound, static_cast<size_t>(alive));
  }
  plan.arena_bytes = arena.size() <= kExact ? place_by_size(arena) : place_by_time(arena);
}

}  // namespace

Service service_of(const ir::Graph& graph, const ir::Node& node, bool objects) {
  if (node.op->op_class == OpClass::Effect) return {true, nullptr};
  const auto is_static = [&](ir::ValueId value) { return graph.type(value).shape.is_static(); };
  bool all_static = std::ranges::all_of(graph.operands(node), is_static);
  for (uint32_t i = 0; i < node.results; ++i) all_static &= is_static(node.first_result + i);
  if (!all_static) return {node.op->view || !kernels(*node.op).empty(), nullptr};
  SmallVector<Tensor, 8> inputs, results(node.results);
  for (const ir::ValueId operand : graph.operands(node)) inputs.push_back(placeholder(graph.type(operand)));
  SmallVector<TensorType, 4> types;
  for (uint32_t i = 0; i < node.results; ++i) types.push_back(graph.type(node.first_result + i));
  const std::span<const TensorType> outputs(types.data(), types.size());
  if (node.op->view) {
    const Call call{*node.op, node.attrs, {inputs.data(), inputs.size()}, {results.data(), results.size()}, {}};
    if (node.op->view(call, outputs)) return {true, nullptr};
  }
  const KernelQuery query{*node.op, node.attrs, {inputs.data(), inputs.size()}, outputs};
  for (const Kernel& kernel : kernels(*node.op)) {
    if ((kernel.works || !objects || is_control(*node.op)) && (!kernel.refuses || !kernel.refuses(query)))
      return {true, &kernel};
  }
  return {};
}

Tensor placeholder(const TensorType& type) {
  static const char anchor = 0;
  return Tensor::borrow(&anchor, {}, u8).alias(type);
}

Plan make_plan(ir::Graph graph, bool machine_code, bool objects) {
  Plan plan{std::move(graph), {}, {}, {}, 0, 0};
  Walk(plan, machine_code, objects).run();
  find_lifetimes(plan);
  find_outputs(plan);
  InPlace(plan).run();
  lay_out(plan);
  return plan;
}

}  // namespace hone::compiler
