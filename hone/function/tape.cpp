#include "hone/function/tape.h"

#include <fmt/format.h>

#include <cassert>

#include "hone/base/error.h"
#include "hone/base/thread_local.h"
#include "hone/function/flat_map.h"
#include "hone/function/vmap.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/kernel.h"
#include "hone/ops/movement.h"
#include "hone/ops/region_vjp.h"

namespace hone {
namespace {

constexpr uint32_t kUntracked = FlatMap::kNone;

// A recorded call. Inputs and outputs are ranges of the storage's arrays; outputs have consecutive slots.
struct Node {
  const Op* op;
  Attrs attrs;
  Location location;
  uint32_t first_input, inputs;    // into input_slots, types and kept
  uint32_t first_output, outputs;  // slot of output 0; types and kept follow those of the inputs
  uint32_t first_value;            // into types and kept: inputs, then outputs
};

// Memory of a tape; kept for the thread's next tape, so that recording allocates nothing in steady state.
struct Storage {
  std::vector<Node> nodes;
  std::vector<uint32_t> input_slots;
  std::vector<TensorType> types;
  std::vector<Tensor> kept;
  std::vector<std::pair<const void*, uint32_t>> variables;  // key and slot, in the order of first reads
  FlatMap slots;                                            // tensor id -> slot
  FlatMap variable_slots;                                   // variable key -> slot of its last read
  std::vector<Tensor> gradients;                            // by slot, while walking back
  std::vector<char> needed;                                 // by slot, while walking back
  uint32_t slot_count = 0;

  void clear() {
    nodes.clear();
    input_slots.clear();
    types.clear();
    kept.clear();
    variables.clear();
    slots.clear();
    variable_slots.clear();
    gradients.clear();
    needed.clear();
    slot_count = 0;
  }
};

struct Spare {
  std::vector<std::unique_ptr<Storage>> storages;
};
thread_local int no_grad_depth = 0;

std::unique_ptr<Storage> take_storage() {
  Spare* const spare = ThreadLocal<Spare>::get();
  if (!spare || spare->storages.empty()) return std::make_unique<Storage>();
  auto storage = std::move(spare->storages.back());
  spare->storages.pop_back();
  return storage;
}

class WalkContext final : public VjpContext {
 public:
  WalkContext(Storage& storage, const Node& node) : storage_(storage), node_(node) {}
  const Tensor& in(int i) const override {
    assert((node_.op->reads.input(static_cast<uint32_t>(i))) &&
           "the gradient rule reads an input that Op::reads does not declare");
    return storage_.kept[node_.first_value + static_cast<uint32_t>(i)];
  }
  const Tensor& out(int i) const override {
    assert((node_.op->reads.output(static_cast<uint32_t>(i))) &&
           "the gradient rule reads an output that Op::reads does not declare");
    return storage_.kept[node_.first_value + node_.inputs + static_cast<uint32_t>(i)];
  }
  const Tensor& ct(int i) const override { return storage_.gradients[node_.first_output + static_cast<uint32_t>(i)]; }
  const TensorType& in_type(int i) const override {
    return storage_.types[node_.first_value + static_cast<uint32_t>(i)];
  }
  const TensorType& out_type(int i) const override {
    return storage_.types[node_.first_value + node_.inputs + static_cast<uint32_t>(i)];
  }
  int inputs() const override { return static_cast<int>(node_.inputs); }
  bool need(int i) const override {
    const uint32_t slot = storage_.input_slots[node_.first_input + static_cast<uint32_t>(i)];
    return slot != kUntracked && storage_.needed[slot];
  }
  void set(int i, Tensor gradient) override {
    if (!need(i) || !gradient.defined()) return;
    if (!(gradient.type() == in_type(i))) {
      throw Error(Code::kInternal,
                  {.what = fmt::format("the gradient rule of {} gives {} for operand {}, which is {}", node_.op->name,
                                       to_string(gradient.type()), i, to_string(in_type(i))),
                   .location = node_.location});
    }
    Tensor& sum = storage_.gradients[storage_.input_slots[node_.first_input + static_cast<uint32_t>(i)]];
    sum = sum.defined() ? add({std::move(sum), node_.location}, {std::move(gradient), node_.location})
                        : std::move(gradient);
  }
  Tensor take(int i) override {
    if (!need(i)) return {};
    return std::exchange(storage_.gradients[storage_.input_slots[node_.first_input + static_cast<uint32_t>(i)]], {});
  }
  AttrRef attrs() const override { return node_.attrs; }

 private:
  Storage& storage_;
  const Node& node_;
};

void check_defined(const Tensor& x, const char* what, Location location) {
  if (x.defined()) return;
  throw Error(Code::kInvalidArgument, {.what = fmt::format("the {} of a gradient is an undefined tensor", what),
                                       .location = location,
                                       .fix = "set the tensor before the call (Tensor() holds nothing)"});
}

}  // namespace

class GradientTape::Recorder final : public Interpreter {
 public:
  explicit Recorder(TapeOptions options) : options_(options), storage_(take_storage()) { push(); }
  ~Recorder() override {
    if (active()) remove();
    storage_->clear();
    if (Spare* const spare = ThreadLocal<Spare>::get()) spare->storages.push_back(std::move(storage_));
  }

  void process(Call& call) override {
    const auto tracked = [this](const Tensor& x) { return storage_->slots.find(x.id()) != kUntracked; };
    if (no_grad_depth > 0 || std::ranges::none_of(call.inputs, tracked)) return pass_on(call);
    if (!call.op.vjp) {
      if (call.op.decompose) return decompose(call);  // the steps are recorded instead
      return pass_on(call);
    }
    if (!call.op.keeping) return record(call);
    std::vector<bool> followed;
    for (const Tensor& input : call.inputs) followed.push_back(tracked(input));
    call_keeping(call, followed, [this](Call& kept) { record(kept); });
  }

  void read_variable(const Variable& variable, Tensor& value) override {
    if (variable.trainable() && no_grad_depth == 0 && options_.watch_accessed_variables)
      watch_variable(variable.key(), value);
  }

  void watch_variable(const void* key, const Tensor& value) {
    const uint32_t slot = watch(value);
    const auto id = reinterpret_cast<uint64_t>(key);
    if (storage_->variable_slots.find(id) == slot) return;
    storage_->variable_slots.set(id, slot);
    storage_->variables.emplace_back(key, slot);
  }

  uint32_t watch(const Tensor& x) {
    uint32_t slot = storage_->slots.find(x.id());
    if (slot == kUntracked) {
      slot = storage_->slot_count++;
      storage_->slots.set(x.id(), slot);
    }
    return slot;
  }

  std::vector<Tensor> walk(std::span<const Tensor> targets, std::span<const Tensor> seeds,
                           std::span<const uint32_t> sources, Location location) {
    if (used_ && !options_.persistent) {
      throw Error(Code::kFailedPrecondition, {.what = "gradient() was called before on this tape",
                                              .location = location,
                                              .fix = "make it persistent: GradientTape tape({.persistent = true})"});
    }
    for (size_t i = 0; i < targets.size(); ++i)
      check_target(targets[i], i < seeds.size() ? seeds[i] : Tensor(), location);
    used_ = true;
    const Walk walk(*this);
    Storage& s = *storage_;
    s.gradients.assign(s.slot_count, Tensor());
    mark_needed(sources);
    for (size_t i = 0; i < targets.size(); ++i) seed(targets[i], i < seeds.size() ? seeds[i] : Tensor(), location);
    for (size_t n = s.nodes.size(); n-- > 0;) {
      step_back(s.nodes[n], sources);
    }
    std::vector<Tensor> gradients;
    for (uint32_t slot : sources) gradients.push_back(slot == kUntracked ? Tensor() : s.gradients[slot]);
    return gradients;
  }

  std::vector<uint32_t> slots_of(std::span<const Tensor> sources, Location location) const {
    std::vector<uint32_t> slots;
    for (const Tensor& source : sources) {
      check_defined(source, "source", location);
      slots.push_back(storage_->slots.find(source.id()));
    }
    return slots;
  }

  Storage& storage() { return *storage_; }
  TapeOptions options() const { return options_; }

 private:
  // A walk's ops are not for this tape to record. However it ends, a persistent tape records on afterwards.
  class Walk {
   public:
    explicit Walk(Recorder& tape) : tape_(tape), was_active_(tape.active()) {
      if (was_active_) tape_.remove();
    }
    ~Walk() {
      tape_.storage_->gradients.clear();
      if (was_active_ && tape_.options_.persistent) tape_.push();
    }
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;

   private:
    Recorder& tape_;
    bool was_active_;
  };

  void record(Call& call) {
    Storage& s = *storage_;
    const auto inputs = static_cast<uint32_t>(call.inputs.size()), outputs = static_cast<uint32_t>(call.outputs.size());
    Node node{&call.op,      Attrs(call.attrs),
              call.location, static_cast<uint32_t>(s.input_slots.size()),
              inputs,        0,
              outputs,       static_cast<uint32_t>(s.types.size())};
    for (uint32_t i = 0; i < inputs; ++i) {
      const Tensor& input = call.inputs[i];
      s.input_slots.push_back(s.slots.find(input.id()));
      s.types.push_back(input.type());
      s.kept.push_back(call.op.reads.input(i) ? input : Tensor());
    }
    try {
      pass_on(call);
    } catch (...) {
      s.input_slots.resize(node.first_input);
      s.types.resize(node.first_value);
      s.kept.resize(node.first_value);
      throw;
    }
    node.first_output = s.slot_count;
    s.slot_count += outputs;
    for (uint32_t i = 0; i < outputs; ++i) {
      const Tensor& output = call.outputs[i];
      if (is_floating(output.dtype())) s.slots.set(output.id(), node.first_output + i);
      s.types.push_back(output.type());
      s.kept.push_back(call.op.reads.output(i) ? output : Tensor());
    }
    s.nodes.push_back(std::move(node));
  }

  void mark_needed(std::span<const uint32_t> sources) {
    Storage& s = *storage_;
    s.needed.assign(s.slot_count, 0);
    for (uint32_t slot : sources) {
      if (slot != kUntracked) s.needed[slot] = 1;
    }
    for (const Node& node : s.nodes) {
      bool any = false;
      for (uint32_t i = 0; i < node.inputs; ++i) {
        const uint32_t slot = s.input_slots[node.first_input + i];
        any = any || (slot != kUntracked && s.needed[slot]);
      }
      if (any) {
        for (uint32_t i = 0; i < node.outputs; ++i) s.needed[node.first_output + i] = 1;
      }
    }
  }

  static void check_target(const Tensor& target, const Tensor& given, Location location) {
    check_defined(target, "target", location);
    if (given.defined() && !(given.type() == target.type())) {
      throw Error(Code::kInvalidArgument,
                  {.what = "the output gradient does not fit the target",
                   .location = location,
                   .details = {"target: " + to_string(target.type()) + "   gradient: " + to_string(given.type())},
                   .fix = "pass a gradient of the target's dtype and shape"});
    }
  }

  void seed(const Tensor& target, const Tensor& given, Location location) {
    const uint32_t slot = storage_->slots.find(target.id());
    if (slot == kUntracked) return;
    Tensor one = given.defined() ? given : ones_like(target, location);
    Tensor& sum = storage_->gradients[slot];
    sum = sum.defined() ? add({sum, location}, {one, location}) : one;
  }

  void step_back(Node& node, std::span<const uint32_t> sources) {
    Storage& s = *storage_;
    bool flows = false;
    for (uint32_t i = 0; i < node.outputs; ++i) flows = flows || s.gradients[node.first_output + i].defined();
    if (flows && node_needed(node)) {
      const LocationScope scope(node.location);
      WalkContext context(s, node);
      node.op->vjp(context);
    }
    if (options_.persistent) return;
    // Free what the walk has passed: residuals and gradients of intermediate values.
    for (uint32_t i = 0; i < node.outputs; ++i) {
      const uint32_t slot = node.first_output + i;
      bool is_source = false;
      for (uint32_t source : sources) is_source = is_source || source == slot;
      if (!is_source) s.gradients[slot] = Tensor();
    }
    for (uint32_t i = 0; i < node.inputs + node.outputs; ++i) s.kept[node.first_value + i] = Tensor();
  }

  bool node_needed(const Node& node) const {
    for (uint32_t i = 0; i < node.inputs; ++i) {
      const uint32_t slot = storage_->input_slots[node.first_input + i];
      if (slot != kUntracked && storage_->needed[slot]) return true;
    }
    return false;
  }

  TapeOptions options_;
  std::unique_ptr<Storage> storage_;
  bool used_ = false;
};

GradientTape::GradientTape(TapeOptions options) : recorder_(std::make_unique<Recorder>(options)) {}
GradientTape::~GradientTape() = default;

void GradientTape::watch(const Tensor& x) {
  check_defined(x, "source", {});
  if (!is_floating(x.dtype())) {
    throw Error(Code::kInvalidArgument, "cannot differentiate with respect to " + to_string(x.type()),
                "convert it first: cast(x, f32)");
  }
  recorder_->watch(x);
}
void GradientTape::watch(const Variable& x) {
  const InterpreterScope quiet(nullptr);
  recorder_->watch_variable(x.key(), x.value());
}

std::vector<Tensor> GradientTape::gradient(std::span<const Tensor> targets, std::span<const Tensor> sources,
                                           std::span<const Tensor> output_gradients, Location location) {
  return recorder_->walk(targets, output_gradients, recorder_->slots_of(sources, location), location);
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target, std::span<const Tensor> sources,
                                           const Tensor& output_gradient, Location location) {
  return recorder_->walk({&target, 1}, {&output_gradient, 1}, recorder_->slots_of(sources, location), location);
}

std::vector<Tensor> GradientTape::gradient(const Tensor& target, const std::vector<Variable>& sources,
                                           const Tensor& output_gradient, Location location) {
  // A variable that was assigned and read again has several slots: its gradient is their sum.
  std::vector<uint32_t> slots;
  std::vector<size_t> owner;
  FlatMap index;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (!sources[i].defined()) check_defined({}, "source", location);
    index.set(reinterpret_cast<uint64_t>(sources[i].key()), static_cast<uint32_t>(i));
  }
  for (const auto& [key, slot] : recorder_->storage().variables) {
    const uint32_t at = index.find(reinterpret_cast<uint64_t>(key));
    if (at == FlatMap::kNone) continue;
    slots.push_back(slot);
    owner.push_back(at);
  }
  const std::vector<Tensor> parts = recorder_->walk({&target, 1}, {&output_gradient, 1}, slots, location);
  std::vector<Tensor> gradients(sources.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    Tensor& sum = gradients[owner[i]];
    if (parts[i].defined()) sum = sum.defined() ? add({sum, location}, {parts[i], location}) : parts[i];
  }
  return gradients;
}

Tensor GradientTape::gradient(const Tensor& target, const Tensor& source, const Tensor& output_gradient,
                              Location location) {
  return gradient(target, std::span<const Tensor>(&source, 1), output_gradient, location)[0];
}
Tensor GradientTape::gradient(const Tensor& target, const Variable& source, const Tensor& output_gradient,
                              Location location) {
  return gradient(target, std::vector<Variable>{source}, output_gradient, location)[0];
}

// Several elements of the target share a walk, under vmap; not all, for memory.
Tensor GradientTape::jacobian(const Tensor& target, const Tensor& source, Location location) {
  constexpr int64_t kElements = 64;
  if (!recorder_->options().persistent) {
    throw Error(Code::kFailedPrecondition, {.what = "jacobian() walks the tape several times",
                                            .location = location,
                                            .fix = "make it persistent: GradientTape tape({.persistent = true})"});
  }
  check_defined(target, "target", location);
  check_defined(source, "source", location);
  const auto row = vmap([&](const Tensor& unit) {
    const Tensor found = gradient(target, source, reshape(unit, target.shape()), location);
    return found.defined() ? found : zeros_like(source, location);
  });
  std::vector<Tensor> rows;
  const int64_t n = target.size();
  for (int64_t first = 0; first < n; first += kElements) {
    const Shape units{std::min(kElements, n - first), n};
    rows.push_back(row(cast(equal(iota(units, 0) + first, iota(units, 1)), target.dtype())));
  }
  Shape shape = target.shape();
  for (Dim d : source.shape()) shape.push_back(d);
  return rows.empty() ? zeros(shape, source.dtype()) : reshape(concatenate(rows, 0), shape);
}

void GradientTape::stop_recording() {
  if (recorder_->active()) recorder_->remove();
}
size_t GradientTape::recorded() const { return recorder_->storage().nodes.size(); }

NoGradScope::NoGradScope() { ++no_grad_depth; }
NoGradScope::~NoGradScope() { --no_grad_depth; }
bool gradients_disabled() { return no_grad_depth > 0; }

}  // namespace hone
