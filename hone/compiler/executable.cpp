#include "hone/compiler/executable.h"

#include <cstring>

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
class Executable::Instance {
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
    bind(inputs, outputs, places);
    for (size_t s = 0; s < calls_.size(); ++s) {
      const ir::Node& node = plan_.graph.nodes()[plan_.steps[s].node];
      probe::Scope span("op", node.op->name, {}, span_location(node));
      if (span.active()) note_cost(span, s, node);
      switch (plan_.steps[s].kind) {
        case Step::Call:
          call(s, node);
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

  void call(size_t s, const ir::Node& node) {
    const Step& step = plan_.steps[s];
    KernelArguments& call = calls_[s];
    step.kernel->run({*node.op,
                      node.attrs,
                      {call.inputs.data(), call.inputs.size()},
                      {call.outputs.data(), call.outputs.size()},
                      step.prepared.get()});
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

}  // namespace hone::compiler
