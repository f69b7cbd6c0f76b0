#include "hone/function/auto_jit.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hone/base/error.h"
#include "hone/base/hash.h"
#include "hone/base/settings.h"
#include "hone/base/small_vector.h"
#include "hone/base/thread_local.h"
#include "hone/compiler/pipeline.h"
#include "hone/function/evaluate.h"
#include "hone/ops/attrs.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

constexpr size_t kMaxCalls = 64;              // as many as one cluster holds
constexpr size_t kMaxKnown = 64;              // programs that a queue remembers
constexpr int64_t kLarge = int64_t{1} << 14;  // elements from which auto_jit = 1 queues
constexpr int64_t kWorth = int64_t{1} << 13;  // elements from which auto_jit = 2 queues

std::atomic<int64_t> clusters_run{0}, queues_compiled{0}, queues_op_by_op{0};
class Queue;
thread_local const Queue* running = nullptr;  // of this thread: calls that it makes meanwhile are computed

class Running {
 public:
  explicit Running(const Queue& queue) : outer_(std::exchange(running, &queue)) {}
  ~Running() { running = outer_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  const Queue* outer_;  // an executor's thread may take up another task, with a queue of its own, while it waits
  const InterpreterScope none_{nullptr};
};

// The settings under which the calls of a queue were made. None is made with checks or the reference kernels.
struct CallSettings {
  Reproducible reproducible = settings.reproducible;
  bool flush_denormals = settings.flush_denormals, check_numerics = settings.check_numerics,
       reference_kernels = settings.reference_kernels;

  bool operator==(const CallSettings&) const = default;
  void apply() const {
    settings.reproducible = reproducible;
    settings.flush_denormals = flush_denormals;
    settings.check_numerics = check_numerics;
    settings.reference_kernels = reference_kernels;
  }
};

// Writes only what differs from what is: other threads read the settings.
class SettingsScope {
 public:
  explicit SettingsScope(const CallSettings& wanted) : differs_(wanted != before_) {
    if (differs_) wanted.apply();
  }
  ~SettingsScope() {
    if (differs_) before_.apply();
  }
  SettingsScope(const SettingsScope&) = delete;
  SettingsScope& operator=(const SettingsScope&) = delete;

 private:
  const CallSettings before_;
  const bool differs_;
};

// An operand that has its elements: a handle of its own, which stays when the user donates the tensor. A broadcast is
// kept as what it repeats, so that no cluster reads the repetitions from memory.
struct Given {
  uint64_t id = 0;
  Tensor memory;
  std::optional<BroadcastAttrs> repeated;
};

Given given(const Tensor& x) {
  Given out{.id = x.id(), .memory = {}, .repeated = {}};
  if (x.layout().dense) {
    out.memory = x.alias(x.type());
    return out;
  }
  const Ints& strides = x.layout().strides;
  Ints kept;
  int64_t step = 1;
  bool rows = true;
  for (int axis = x.rank() - 1; axis >= 0; --axis) {
    const int64_t n = x.dim(axis), stride = strides[static_cast<size_t>(axis)];
    if (n == 1 || stride == 0) continue;
    rows = rows && stride == step;
    step *= n;
    kept.insert(0, axis);
  }
  if (!rows) {
    out.memory = x.dense();
    return out;
  }
  Shape base;
  for (const int64_t axis : kept) base.push_back(x.dim(static_cast<int>(axis)));
  out.memory = x.alias(TensorType{x.dtype(), base});
  out.repeated = BroadcastAttrs{x.shape(), kept};
  return out;
}

// A call that waits. An operand is the number of an earlier call, or ~number of a Given.
struct Waiting {
  const Op* op;
  Attrs attrs;
  SmallVector<int32_t, 4> operands;
  Tensor result;  // pending; only handle: nobody will read it
  Location location;
};

class Queue {
 public:
  std::mutex mutex;  // held by who appends or runs; others only when they need a result

  bool empty() const { return calls_.empty(); }
  bool full() const { return calls_.size() >= kMaxCalls; }
  bool holds(const TensorImpl& impl) const { return find(impl) >= 0; }

  // A queue that is full or was begun under other settings runs first.
  void append(const Call& call, const TensorType& type) {
    const CallSettings now;
    if (!empty() && (full() || settings_ != now)) run();
    settings_ = now;
    Waiting one{&call.op, Attrs(call.attrs), {}, Tensor::pending(type), call.location};
    for (const Tensor& input : call.inputs) {
      const int32_t earlier = find(*input.impl());
      one.operands.push_back(earlier >= 0 ? earlier : ~number_of(input));
    }
    call.outputs[0] = one.result;
    calls_.push_back(std::move(one));
  }

  // If that fails (memory), everything stays as it was and the next reader tries again.
  void run() {
    std::vector<bool> live(calls_.size());
    bool any = false;
    for (size_t i = 0; i < calls_.size(); ++i) any = (live[i] = !calls_[i].result.impl()->unique()) || any;
    if (any) {
      const SettingsScope as_called(settings_);
      const Running scope(*this);
      std::vector<Tensor> values(calls_.size());
      if (const compiler::Executable* program = calls_.size() > 1 ? known(live) : nullptr)
        run_program(*program, live, values);
      else
        run_calls(live, values);
      for (size_t i = 0; i < calls_.size(); ++i) {
        if (live[i]) calls_[i].result.fulfil(values[i]);
      }
    }
    calls_.clear();
    given_.clear();
  }

 private:
  struct Known {
    std::vector<uint64_t> words;
    std::shared_ptr<const compiler::Executable> executable;  // null until it comes again
  };

  int32_t find(const TensorImpl& impl) const {
    for (size_t i = calls_.size(); i-- > 0;) {
      if (calls_[i].result.impl() == &impl) return static_cast<int32_t>(i);
    }
    return -1;
  }

  int32_t number_of(const Tensor& x) {
    const auto found = std::ranges::find(given_, x.id(), &Given::id);
    if (found != given_.end()) return static_cast<int32_t>(found - given_.begin());
    given_.push_back(given(x));
    return static_cast<int32_t>(given_.size()) - 1;
  }

  ir::Graph graph_of(const std::vector<bool>& live) const {
    ir::Builder builder(std::make_shared<ir::Context>());
    std::vector<ir::ValueId> inputs, results, outputs;
    for (const Given& one : given_) inputs.push_back(builder.add_input(one.memory.type(), {}));
    for (size_t i = 0; i < given_.size(); ++i) {
      if (const auto& repeated = given_[i].repeated)
        inputs[i] = builder.add_one(ops::broadcast_in_dim, *repeated, {&inputs[i], 1}, builder.context().add({}));
    }
    for (size_t i = 0; i < calls_.size(); ++i) {
      SmallVector<ir::ValueId, 4> operands;
      for (const int32_t operand : calls_[i].operands)
        operands.push_back(operand >= 0 ? results[static_cast<size_t>(operand)]
                                        : inputs[static_cast<size_t>(~operand)]);
      ir::Origin origin;
      if (calls_[i].location.known()) origin.lines.push_back(calls_[i].location);
      results.push_back(builder.add_one(*calls_[i].op, calls_[i].attrs, {operands.data(), operands.size()},
                                        builder.context().add(std::move(origin))));
      if (live[i]) outputs.push_back(results.back());
    }
    ir::Graph graph = builder.finish(std::move(outputs));
    graph.name = "auto_jit";
    return graph;
  }

  // What tells programs apart, made without a graph: most queues have been seen.
  std::vector<uint64_t> words_of(const std::vector<bool>& live) const {
    std::vector<uint64_t> words;
    words.reserve(8 * (calls_.size() + given_.size()));
    const auto add_type = [&](const TensorType& type) {
      words.push_back(static_cast<uint64_t>(type.dtype) << 32 | type.shape.size());
      for (const Dim d : type.shape) words.push_back(static_cast<uint64_t>(d.number()));
    };
    for (const Given& one : given_) {
      add_type(one.memory.type());
      words.push_back(one.repeated ? hash(*one.repeated) : 0);
    }
    for (size_t i = 0; i < calls_.size(); ++i) {
      const Waiting& one = calls_[i];
      words.push_back(reinterpret_cast<uintptr_t>(one.op));
      words.push_back(hash(one.attrs));
      words.push_back(one.operands.size() << 1 | (live[i] ? 1 : 0));
      for (const int32_t operand : one.operands) words.push_back(static_cast<uint64_t>(operand));
    }
    return words;
  }

  // What runs this queue, compiled when it comes the second time: most programs' odd queues come once.
  const compiler::Executable* known(const std::vector<bool>& live) {
    std::vector<uint64_t> words = words_of(live);
    const uint64_t key = hash_of(std::span<const uint64_t>(words));
    const auto found = known_.find(key);
    if (found == known_.end()) {
      if (known_.size() >= kMaxKnown) known_.clear();
      known_.emplace(key, Known{std::move(words), nullptr});
      return nullptr;
    }
    Known& entry = found->second;
    if (entry.words != words) return nullptr;
    if (!entry.executable) {
      entry.executable = compiler::compile(graph_of(live)).executable;
      queues_compiled.fetch_add(1, std::memory_order_relaxed);
    }
    return entry.executable.get();
  }

  void run_program(const compiler::Executable& program, const std::vector<bool>& live, std::vector<Tensor>& values) {
    std::vector<Tensor> inputs, outputs;
    for (const Given& one : given_) inputs.push_back(one.memory);
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (live[i]) outputs.push_back(values[i] = Tensor::empty(calls_[i].result.type(), calls_[i].location));
    }
    program.run(inputs, outputs);
    clusters_run.fetch_add(1, std::memory_order_relaxed);
  }

  void run_calls(const std::vector<bool>& live, std::vector<Tensor>& values) {
    std::vector<Tensor> inputs;
    for (const Given& one : given_) {
      Tensor x = one.memory;
      if (one.repeated) x = call_op(ops::broadcast_in_dim, *one.repeated, {}, x);
      inputs.push_back(std::move(x));
    }
    std::vector<size_t> last(calls_.size());
    for (size_t i = 0; i < calls_.size(); ++i) {
      for (const int32_t operand : calls_[i].operands) {
        if (operand >= 0) last[static_cast<size_t>(operand)] = i;
      }
    }
    for (size_t i = 0; i < calls_.size(); ++i) {
      const Waiting& one = calls_[i];
      SmallVector<Tensor, 4> operands;
      for (const int32_t operand : one.operands)
        operands.push_back(operand >= 0 ? values[static_cast<size_t>(operand)] : inputs[static_cast<size_t>(~operand)]);
      Call call{*one.op, one.attrs, {operands.data(), operands.size()}, {&values[i], 1}, one.location};
      evaluate(call);
      for (const int32_t operand : one.operands) {
        const auto o = static_cast<size_t>(operand);
        if (operand >= 0 && last[o] == i && !live[o]) values[o] = Tensor();
      }
    }
    for (Tensor& value : values) {
      if (value.defined()) value = value.dense();
    }
    queues_op_by_op.fetch_add(1, std::memory_order_relaxed);
  }

  CallSettings settings_;
  std::vector<Waiting> calls_;
  std::vector<Given> given_;
  std::unordered_map<uint64_t, Known> known_;
};

// All queues, those of ended threads too while others may hold their results. Order of locks: this, then a queue's.
struct Registry {
  std::mutex mutex;
  std::vector<std::shared_ptr<Queue>> queues;
};
Registry& registry() {
  static auto* const all = new Registry;
  return *all;
}

struct OwnQueue {
  std::shared_ptr<Queue> queue = std::make_shared<Queue>();
  OwnQueue() {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    all.queues.push_back(queue);
  }
  ~OwnQueue() {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    const std::lock_guard own(queue->mutex);
    if (queue->empty()) std::erase(all.queues, queue);
  }
  OwnQueue(const OwnQueue&) = delete;
  OwnQueue& operator=(const OwnQueue&) = delete;
};

void settle(const TensorImpl& impl) {
  std::vector<std::shared_ptr<Queue>> queues;
  {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    queues = all.queues;
  }
  for (const auto& queue : queues) {
    if (queue.get() == running) continue;  // what a queue reads has its elements
    const std::lock_guard lock(queue->mutex);
    if (queue->holds(impl)) return queue->run();
  }
}

// A fork sees no queue half changed, nor a lock of a thread that the child does not have.
void before_fork() {
  registry().mutex.lock();
  for (const auto& queue : registry().queues) queue->mutex.lock();
}
void after_fork() {
  for (const auto& queue : registry().queues) queue->mutex.unlock();
  registry().mutex.unlock();
}

Queue* own_queue() {
  static const bool installed = [] {
    Tensor::set_settler(settle);
    return pthread_atfork(before_fork, after_fork, after_fork) == 0;
  }();
  OwnQueue* const own = installed ? ThreadLocal<OwnQueue>::get() : nullptr;
  return own ? own->queue.get() : nullptr;
}

bool served(const Call& call, const TensorType& type) {
  const KernelQuery query{call.op, call.attrs, call.inputs, {&type, 1}};
  return std::ranges::any_of(kernels(call.op), [&](const Kernel& k) { return !k.refuses || !k.refuses(query); });
}

void run_own(Queue& queue) {
  const std::lock_guard lock(queue.mutex);
  if (!queue.empty()) queue.run();
}

}  // namespace

bool enqueue(Call& call) {
  if (running || settings.check_numerics || settings.reference_kernels) return false;
  Queue* const queue = own_queue();
  if (!queue) return false;
  if (!compiler::clusters(call.op) || call.outputs.size() != 1) {
    // What only makes a value or shows another side of one stands between elementwise calls: x + bias.
    if (call.op.op_class != OpClass::View && call.op.op_class != OpClass::Creation) run_own(*queue);
    return false;
  }
  const int64_t fewest = settings.auto_jit == 1 ? kLarge : settings.auto_jit == 2 ? kWorth : 0;
  if (const Shape& shape = call.inputs[0].shape(); shape.is_static() && shape.count() < fewest) return false;
  SmallVector<const TensorType*, 4> inputs;
  for (const Tensor& input : call.inputs) {
    const Buffer* const buffer = input.impl()->buffer.acquire();
    if (buffer) {
      if (buffer->borrowed()) return false;  // its owner may change it once the call has returned
    } else {
      bool own = false;
      {
        const std::lock_guard lock(queue->mutex);
        own = queue->holds(*input.impl());
      }
      if (!own && !input.concrete()) return false;
    }
    inputs.push_back(&input.type());
  }
  TensorType type;
  InferContext context(call.op, call.attrs, {inputs.data(), inputs.size()}, {&type, 1}, call.location);
  call.op.infer(context);
  if (!type.shape.is_static() || type.shape.count() == 0) return false;
  if (call.op.view && size_of(type.dtype) == size_of(call.inputs[0].dtype())) return false;
  if (!served(call, type)) return false;
  checked_bytes(type, call.location);
  const std::lock_guard lock(queue->mutex);
  queue->append(call, type);
  return true;
}

AutoJitCounts auto_jit_counts() {
  return {clusters_run.load(std::memory_order_relaxed), queues_compiled.load(std::memory_order_relaxed),
          queues_op_by_op.load(std::memory_order_relaxed)};
}

void read_auto_jit_environment() {
  const char* const text = std::getenv("HONE_AUTOJIT");
  if (!text || !*text || settings.auto_jit != 0) return;
  const std::string_view value(text);
  if (value != "0" && value != "1" && value != "2" && value != "3") {
    throw Error(Code::kInvalidArgument, fmt::format("HONE_AUTOJIT={} is not a mode", value),
                "0 computes each call at once, 1 queues elementwise calls of large tensors, 2 of all but tiny "
                "ones, 3 all of them");
  }
  settings.auto_jit = value[0] - '0';
}

}  // namespace hone
