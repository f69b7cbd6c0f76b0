#include "hone/compiler/executable.h"

#include <fmt/format.h>

#include <cstring>

#include "hone/base/denormals.h"
#include "hone/base/error.h"
#include "hone/base/probe.h"
#include "hone/base/settings.h"
#include "hone/device/device.h"
#include "hone/tensor/interpreter.h"

namespace hone::compiler {
namespace {

constexpr std::byte kPoison{0xFF};  // NaN as a float

// A borrowed buffer that a run points to the caller's memory, and a tensor over it.
Ref<Buffer> make_window(size_t bytes) { return Buffer::borrow(cpu(), nullptr, bytes, {}); }

Tensor tensor_at(const Ref<Buffer>& buffer, const TensorType& type, size_t offset, const Layout& layout) {
  auto* impl = new (pool_allocate(sizeof(TensorImpl))) TensorImpl;  // id 0: its elements change from run to run
  impl->type = type;
  impl->buffer = buffer;
  impl->offset = offset;
  impl->layout = layout;
  return Tensor(Ref<TensorImpl>(impl));
}

Tensor owned_copy(const Tensor& x) {
  Tensor copy = Tensor::empty(x.type());
  x.copy_to(copy.mutable_bytes());
  return copy;
}

}  // namespace

// One arena and the tensors over it: what a run at a time needs.
class Instance {
 public:
  explicit Instance(const Plan& plan) : plan_(plan), buffers_(plan.storages.size()), calls_(plan.steps.size()) {
    arena_ = cpu().allocate(plan.arena_bytes);
    for (size_t i = 0; i < buffers_.size(); ++i) {
      const Storage& storage = plan.storages[i];
      if (storage.kind == Storage::Arena)
        buffers_[i] = arena_;
      else if (storage.kind != Storage::Constant)
        buffers_[i] = make_window(storage.bytes);
    }
    values_.resize(plan.graph.values());
    for (ir::ValueId v = 0; v < values_.size(); ++v) {
      if (plan.places[v].storage != ir::kNone) values_[v] = make_tensor(plan.places[v], plan.graph.type(v));
    }
    for (size_t s = 0; s < calls_.size(); ++s) make_call(s);
    held_.resize(plan.storages.size());
    if (settings.poison_memory && arena_) std::memset(arena_->data(), static_cast<int>(kPoison), arena_->bytes());
  }

  void run(std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::span<const OutputPlace> places) {
    const DenormalMode mode;
    bind(inputs, outputs, places);
    for (size_t s = 0; s < calls_.size(); ++s) {
      const ir::Node& node = plan_.graph.nodes()[plan_.steps[s].node];
      probe::Scope span("op", node.op->name, {}, span_location(node));
      if (span.active()) note_cost(span, s, node);
      switch (plan_.steps[s].kind) {
        case Step::Call:
          plan_.steps[s].kernel->run(kernel_call(s, node));
          break;
        case Step::Host:
          call_host(s, node);
          break;
        case Step::Pack:
          calls_[s].inputs[0].copy_to(calls_[s].outputs[0].mutable_bytes());
          break;
      }
      if (settings.poison_memory) [[unlikely]]
        poison(s);
    }
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i].kind == OutputPlace::Copied && outputs[i].defined())
        values_[plan_.graph.outputs()[i]].copy_to(outputs[i].mutable_bytes());
    }
  }

 private:
  struct KernelArguments {
    SmallVector<Tensor, 4> inputs, outputs;
    std::shared_ptr<void> state;  // by Kernel::make_state
  };

  Tensor make_tensor(const Place& place, const TensorType& type) {
    const Storage& storage = plan_.storages[place.storage];
    if (storage.kind == Storage::Constant) {
      if (place.layout.dense && storage.tensor.type() == type && place.offset == storage.tensor.impl()->offset)
        return storage.tensor;  // with its identity: a library keeps what it made of a weight
      if (place.layout.dense) return storage.tensor.alias(type, place.offset - storage.tensor.impl()->offset);
      return tensor_at(storage.tensor.impl()->buffer, type, place.offset, place.layout);
    }
    const size_t base = storage.kind == Storage::Arena ? storage.offset : 0;
    return tensor_at(buffers_[place.storage], type, base + place.offset, place.layout);
  }

  void make_call(size_t s) {
    const Step& step = plan_.steps[s];
    const ir::Node& node = plan_.graph.nodes()[step.node];
    KernelArguments& call = calls_[s];
    if (step.kind == Step::Pack) {
      const Tensor& strided = values_[plan_.graph.operands(node)[step.operand]];
      call.inputs.push_back(strided);
      call.outputs.push_back(make_tensor({step.storage, 0, {}}, strided.type()));
      return;
    }
    for (const ir::ValueId operand : plan_.graph.operands(node)) call.inputs.push_back(values_[operand]);
    for (uint32_t i = 0; i < node.results; ++i) call.outputs.push_back(values_[node.first_result + i]);
    for (const auto& [operand, storage] : step.packed)
      call.inputs[operand] = make_tensor({storage, 0, {}}, call.inputs[operand].type());
    if (step.kernel && step.kernel->make_state) call.state = step.kernel->make_state(kernel_call(s, node));
  }

  KernelCall kernel_call(size_t s, const ir::Node& node) const {
    const KernelArguments& call = calls_[s];
    return {*node.op,
            node.attrs,
            {call.inputs.data(), call.inputs.size()},
            {call.outputs.data(), call.outputs.size()},
            plan_.steps[s].prepared.get(),
            call.state.get()};
  }

  void bind(std::span<const Tensor> inputs, std::span<const Tensor> outputs, std::span<const OutputPlace> places) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ir::Input& input = plan_.graph.inputs()[i];
      if (input.tensor.defined()) continue;
      const TensorImpl* given = inputs[i].impl();
      TensorImpl* const own = values_[input.value].impl();
      own->buffer->rebind(given->buffer->data() + given->offset);
      own->id = input.new_value == ir::kNone ? given->id : 0;  // a library keeps what it made of an unchanged weight
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (places[i].kind == OutputPlace::Written)
        values_[plan_.graph.outputs()[i]].impl()->buffer->rebind(outputs[i].mutable_bytes());
    }
  }

  // The host may keep what it gets, so it gets copies; what it returns is kept until the next run.
  void call_host(size_t s, const ir::Node& node) {
    KernelArguments& arguments = calls_[s];
    SmallVector<Tensor, 4> inputs, outputs(node.results);
    for (const Tensor& input : arguments.inputs) inputs.push_back(owned_copy(input));
    SmallVector<TensorType, 2> types;
    for (const Tensor& output : arguments.outputs) types.push_back(output.type());
    Call call{*node.op,
              node.attrs,
              {inputs.data(), inputs.size()},
              {outputs.data(), outputs.size()},
              plan_.graph.origin(node).location()};
    node.op->view(call, {types.data(), types.size()});
    for (uint32_t i = 0; i < node.results; ++i) {
      const uint32_t storage = plan_.places[node.first_result + i].storage;
      held_[storage] = outputs[i].dense();
      arguments.outputs[i].impl()->buffer->rebind(held_[storage].mutable_bytes());
    }
  }

  Location span_location(const ir::Node& node) const {
    return probe::on() ? plan_.graph.origin(node).location() : Location{};
  }

  void note_cost(probe::Scope& span, size_t s, const ir::Node& node) const {
    if (plan_.steps[s].kernel) span.detail(plan_.steps[s].kernel->name);
    if (!node.op->cost) return;
    const Cost cost = ir::cost_of(plan_.graph, node);
    span.cost(cost.flops, cost.bytes);
  }

  // What ends here must not be read again: a wrong plan shows at once.
  void poison(size_t s) {
    for (const Storage& storage : plan_.storages) {
      if (storage.kind == Storage::Arena && storage.last == s && storage.bytes > 0 && storage.first != ir::kNone)
        std::memset(arena_->data() + storage.offset, static_cast<int>(kPoison), storage.bytes);
    }
  }

  const Plan& plan_;
  Ref<Buffer> arena_;
  std::vector<Ref<Buffer>> buffers_;  // by storage
  std::vector<Tensor> values_;        // by value
  std::vector<Tensor> held_;          // by storage
  std::vector<KernelArguments> calls_;
};

// An instance for the time of a run.
struct Executable::Lease {
  explicit Lease(const Executable& executable) : owner(executable) {
    {
      const std::lock_guard lock(owner.mutex_);
      if (!owner.spare_.empty()) {
        instance = std::move(owner.spare_.back());
        owner.spare_.pop_back();
      }
    }
    if (!instance) instance = std::make_unique<Instance>(owner.plan_);
  }
  ~Lease() {
    const std::lock_guard lock(owner.mutex_);
    owner.spare_.push_back(std::move(instance));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  const Executable& owner;
  std::unique_ptr<Instance> instance;
};

Executable::Executable(Plan plan) : plan_(std::move(plan)) {
  for (uint32_t i = 0; i < plan_.graph.outputs().size(); ++i) {
    const Place& place = plan_.places[plan_.graph.outputs()[i]];
    const Storage& storage = plan_.storages[place.storage];
    OutputPlace out;
    if (storage.kind == Storage::Output && storage.index == i)
      out.kind = OutputPlace::Written;
    else if (storage.kind == Storage::Input && plan_.graph.inputs()[storage.index].new_value == i)
      out = {OutputPlace::Donated, storage.index};
    else
      out.kind = OutputPlace::Copied;
    outputs_.push_back(out);
  }
}

Executable::~Executable() = default;

void Executable::run(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const {
  const Lease lease(*this);
  lease.instance->run(inputs, outputs, outputs_);
}

namespace {

void check_bound(const char* what, size_t index, const Tensor& given, const TensorType& wanted) {
  if (given.defined() && given.concrete() && given.type() == wanted && given.layout().dense) return;
  const std::string got = !given.defined()         ? "no tensor"
                          : !given.concrete()      ? "a traced tensor"
                          : given.type() == wanted ? "strided memory"
                                                   : to_string(given.type());
  throw Error(Code::kInvalidArgument, {.what = fmt::format("{} {} cannot be bound", what, index),
                                       .details = {"expected: dense " + to_string(wanted), "got: " + got},
                                       .fix = "bind a tensor of that type: Tensor::empty, or x.dense()"});
}

void check_count(const char* what, size_t given, size_t wanted) {
  if (given == wanted) return;
  throw Error(Code::kInvalidArgument, {.what = fmt::format("a bound call needs {} {}, got {}", wanted, what, given),
                                       .fix = "bind one tensor for each"});
}

bool overlap(const Tensor& a, const Tensor& b) {
  return a.defined() && b.defined() && a.mutable_bytes() < b.mutable_bytes() + b.bytes() &&
         b.mutable_bytes() < a.mutable_bytes() + a.bytes();
}

// What is written lies apart from all else.
void check_apart(std::span<const Tensor> written, std::span<const Tensor> others) {
  for (size_t i = 0; i < written.size(); ++i) {
    for (size_t j = 0; j < others.size(); ++j) {
      if (&written[i] == &others[j] || !overlap(written[i], others[j])) continue;
      throw Error(Code::kInvalidArgument,
                  {.what = "memory that a bound call writes is bound twice",
                   .details = {fmt::format("tensor {} overlaps tensor {} of the call", i, j)},
                   .fix = "give each output, and each input with a new value, memory of its own"});
    }
  }
}

}  // namespace

BoundCall Executable::bind(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const {
  const ir::Graph& graph = plan_.graph;
  check_count("inputs", inputs.size(), graph.inputs().size());
  check_count("outputs", outputs.size(), outputs_.size());
  BoundCall call(shared_from_this());
  std::vector<Tensor> state;
  call.outputs_.assign(outputs.begin(), outputs.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ir::Input& input = graph.inputs()[i];
    call.inputs_.push_back(input.tensor.defined() ? Tensor() : inputs[i]);
    if (input.tensor.defined()) continue;
    check_bound("input", i, inputs[i], graph.type(input.value));
    const bool changes = input.new_value != ir::kNone;
    // The caller writes other elements there, so a library keeps nothing that it makes of them.
    if (changes || input.kind == ir::InputKind::Argument) {
      const TensorImpl* given = inputs[i].impl();
      call.inputs_[i] = tensor_at(given->buffer, given->type, given->offset, given->layout);
    }
    if (!changes) continue;
    state.push_back(call.inputs_[i]);
    call.initial_.push_back({owned_copy(inputs[i]), call.inputs_[i]});
    Tensor& value = call.outputs_[input.new_value];
    if (outputs_[input.new_value].kind == OutputPlace::Donated) {
      if (value.defined()) call.after_.push_back({call.inputs_[i], value});
    } else {
      if (!value.defined()) value = Tensor::empty(graph.type(input.value));
      call.after_.push_back({value, call.inputs_[i]});
    }
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].kind != OutputPlace::Donated || call.outputs_[i].defined())
      check_bound("output", i, call.outputs_[i], graph.type(graph.outputs()[i]));
  }
  check_apart(call.outputs_, call.outputs_);
  check_apart(call.outputs_, call.inputs_);
  for (const Tensor& each : state) {
    for (const Tensor& other : call.inputs_) {
      if (each.impl() != other.impl()) check_apart({&each, 1}, {&other, 1});
    }
  }
  return call;
}

BoundCall::BoundCall(std::shared_ptr<const Executable> executable)
    : executable_(std::move(executable)), instance_(std::make_unique<Instance>(executable_->plan())) {}
BoundCall::~BoundCall() = default;
BoundCall::BoundCall(BoundCall&&) noexcept = default;
BoundCall& BoundCall::operator=(BoundCall&& other) noexcept {
  instance_ = std::move(other.instance_);  // it refers to the old executable
  executable_ = std::move(other.executable_);
  inputs_ = std::move(other.inputs_), outputs_ = std::move(other.outputs_);
  after_ = std::move(other.after_), initial_ = std::move(other.initial_);
  return *this;
}

void BoundCall::run(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  instance_->run(inputs, outputs, executable_->outputs());
}

void BoundCall::run() {
  run(inputs_, outputs_);
  for (const Copy& copy : after_) copy.from.copy_to(copy.to.mutable_bytes());
}

void BoundCall::reset() {
  for (const Copy& copy : initial_) copy.from.copy_to(copy.to.mutable_bytes());
}

}  // namespace hone::compiler
