#include "hone/backend/cpu/map_code.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <shared_mutex>
#include <thread>
#include <unordered_map>

#include "hone/base/file.h"
#include "hone/base/hash.h"
#include "hone/base/log.h"
#include "hone/base/parallel.h"
#include "hone/compiler/pipeline.h"
#include "hone/compiler/row_space.h"
#include "hone/ops/attrs.h"
#include "hone/ops/reduce_steps.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

std::atomic<int64_t> compiled_count{0}, run_count{0};

// Everything that outlives static objects: code may be asked for, and freed, while those are destroyed.
struct Shared {
  // Held while the generator works, by any number of threads; a fork waits for them, for its child could not. Before
  // every other mutex.
  std::shared_mutex generating;
  std::mutex mutex;  // guards all below
  std::unordered_map<std::string, std::weak_ptr<MapCode>> codes;
  std::deque<std::shared_ptr<MapCode>> queue;
  std::condition_variable idle;
  std::thread worker;  // lives while there is something in the queue
  bool busy = false, ended = false;
};

Shared& shared() {
  static Shared& only = *new Shared;
  return only;
}

// No code is made afterwards.
void end() {
  Shared& s = shared();
  std::unique_lock lock(s.mutex);
  s.ended = true;
  s.idle.wait(lock, [&] { return !s.busy; });
  if (s.worker.joinable()) s.worker.join();
}
struct Ending {
  ~Ending() { end(); }
};

void before_fork() {
  shared().generating.lock();
  shared().mutex.lock();
}
void in_parent() {
  shared().mutex.unlock();
  shared().generating.unlock();
}
// The worker is gone, and what waited for it keeps to its tiles.
void in_child() {
  Shared& s = shared();
  std::construct_at(&s.generating);
  std::construct_at(&s.idle);
  std::construct_at(&s.worker);
  s.busy = false;
  std::construct_at(&s.queue);
  s.mutex.unlock();
}
[[maybe_unused]] const int kForkHandlers = pthread_atfork(before_fork, in_parent, in_child);

void work() {
  Shared& s = shared();
  std::unique_lock lock(s.mutex);
  while (!s.queue.empty() && !s.ended) {
    std::shared_ptr<MapCode> code = std::move(s.queue.front());
    s.queue.pop_front();
    lock.unlock();
    code->compile();
    code.reset();
    lock.lock();
  }
  s.busy = false;
  s.idle.notify_all();
}

template <class T>
void append(std::string& key, std::span<const T> values) {
  key.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

// HONE_DUMP: IR and assembly, under the name of what the code depends on.
void dump(uint64_t hash, IsaLevel level, const char* ending, const std::string& text) {
  write_file_atomic(fmt::format("{}/kernel-{:016x}-{}.{}", compiler::dump_directory(), hash, name(level), ending),
                    text);
}

}  // namespace

MapCodeCounts map_code_counts() { return {compiled_count, run_count}; }

void wait_for_map_code() {
  Shared& s = shared();
  std::unique_lock lock(s.mutex);
  s.idle.wait(lock, [&] { return !s.busy; });
}

MapCode::MapCode(const ir::Graph& body, IsaLevel level, uint64_t splats) : level_(level), splats_(splats) {
  add_steps(body);
  const int32_t counts[] = {static_cast<int32_t>(level), static_cast<int32_t>(body.inputs().size()),
                            static_cast<int32_t>(steps_.size())};
  append<int32_t>(key_, counts);
  append<uint64_t>(key_, {&splats_, 1});
  append<int32_t>(key_, types_);
  append<codegen::MapStep>(key_, steps_);
  append<int32_t>(key_, results_);
}

void MapCode::add_steps(const ir::Graph& body) {
  const compiler::RowSpace space(body);
  std::vector<int32_t> place(body.values());  // of a value of the body: operands first
  std::vector<bool> approximate;              // by step
  const auto add = [&](ir::ValueId v) {
    place[v] = static_cast<int32_t>(types_.size());
    types_.push_back(static_cast<int32_t>(body.type(v).dtype));
  };
  for (const ir::Input& input : body.inputs()) {
    if (space.per_row[input.value] != 0) splats_ |= uint64_t{1} << types_.size();
    add(input.value);
    items_.push_back(static_cast<uint8_t>(size_of(body.type(input.value).dtype)));
  }
  for (const ir::Node& node : body.nodes()) {
    const std::span<const ir::ValueId> operands = body.operands(node);
    if (compiler::repeats(body, node) > 0) {
      place[node.first_result] = place[operands[0]];
      continue;
    }
    codegen::MapStep step{};
    const int reduction = reduce_kind(*node.op);
    step.row = reduction >= 0             ? codegen::MapStep::kReduce - reduction
               : node.op == &ops::convert ? codegen::MapStep::kConvert
                                          : node.op->elementwise;
    step.operands = static_cast<int32_t>(node.operands);
    step.type = static_cast<int32_t>(body.type(operands[node.op == &ops::select ? 1 : 0]).dtype);
    step.per_row = space.per_row[node.first_result];
    for (size_t i = 0; i < operands.size(); ++i) step.in[i] = place[operands[i]];
    if (node.attrs.type() == &attr_type<ParamAttrs>()) {
      step.params[0] = node.attrs.as<ParamAttrs>().a;
      step.params[1] = node.attrs.as<ParamAttrs>().b;
    }
    steps_.push_back(step);
    approximate.push_back(node.op->numerics == NumericsClass::Approximate);
    add(node.first_result);
  }
  for (const ir::ValueId output : body.outputs()) {
    results_.push_back(place[output]);
    items_.push_back(static_cast<uint8_t>(size_of(body.type(output).dtype)));
  }
  if (space.length > 1) plan_phases(approximate);
}

// Which loop over a row computes what, and what later ones read again: values that take an approximate function or
// more than a few exact ones to compute.
void MapCode::plan_phases(const std::vector<bool>& approximate) {
  constexpr int kFew = 4, kMany = 100;
  const size_t operands = types_.size() - steps_.size();
  std::vector<int32_t> ready(types_.size()), last_read(types_.size());  // loops
  std::vector<int> price(types_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    codegen::MapStep& step = steps_[i];
    const size_t v = operands + i;
    for (int k = 0; k < step.operands; ++k) step.phase = std::max(step.phase, ready[static_cast<size_t>(step.in[k])]);
    ready[v] = step.phase + (codegen::reduces(step) ? 1 : 0);
    if (step.per_row != 0) continue;
    price[v] = approximate[i] ? kMany : 1;
    for (int k = 0; k < step.operands; ++k) {
      const auto in = static_cast<size_t>(step.in[k]);
      price[v] += ready[in] < step.phase && price[in] > kFew ? 1 : price[in];
    }
    price[v] = std::min(price[v], kMany);
  }
  const int32_t last = codegen::phases(steps_.data(), static_cast<int32_t>(steps_.size())) - 1;
  for (const int32_t v : results_) last_read[static_cast<size_t>(v)] = last;
  for (size_t i = steps_.size(); i-- > 0;) {
    codegen::MapStep& step = steps_[i];
    const size_t v = operands + i;
    step.kept = step.per_row == 0 && last_read[v] > step.phase && price[v] > kFew ? 1 : 0;
    const int32_t reads = step.per_row != 0 || step.kept != 0 ? step.phase : std::max(step.phase, last_read[v]);
    for (int k = 0; k < step.operands; ++k) {
      int32_t& read = last_read[static_cast<size_t>(step.in[k])];
      read = std::max(read, reads);
    }
  }
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].kept != 0) kept_.push_back(static_cast<uint8_t>(size_of(static_cast<DType>(types_[operands + i]))));
  }
}

MapCode::~MapCode() {
  Shared& s = shared();
  const std::shared_lock generating(s.generating);
  {
    const std::lock_guard lock(s.mutex);
    const auto found = s.codes.find(key_);
    if (found != s.codes.end() && found->second.expired()) s.codes.erase(found);
  }
  if (owner_) codegen::generator()->release(owner_);
}

std::shared_ptr<MapCode> MapCode::of(const ir::Graph& body, IsaLevel level, uint64_t splats) {
  std::shared_ptr<MapCode> code(new MapCode(body, level, splats));
  Shared& s = shared();
  const std::lock_guard lock(s.mutex);
  std::weak_ptr<MapCode>& known = s.codes[code->key_];
  if (std::shared_ptr<MapCode> same = known.lock()) return same;
  known = code;
  return code;
}

bool MapCode::compile() {
  if (tried_.load(std::memory_order_acquire)) return ready();
  Shared& s = shared();
  const std::shared_lock generating(s.generating);
  const std::lock_guard lock(mutex_);
  if (tried_.load(std::memory_order_relaxed)) return ready();
  try {
    generate();
  } catch (const std::exception& failure) {
    logging::warning(fmt::format("no machine code for a fused call, which runs tile by tile: {}", failure.what()));
  }
  tried_.store(true, std::memory_order_release);
  return ready();
}

void MapCode::generate() {
  const codegen::Generator* const generator = codegen::generator();
  if (!generator) return;
  static const Ending ending;
  {
    const std::lock_guard lock(shared().mutex);
    if (shared().ended) return;
  }
  std::string texts[3];  // by codegen::Text
  const codegen::TextSink sink{texts,
                               [](void* to, codegen::Text kind, const char* text, size_t size) {
                                 static_cast<std::string*>(to)[static_cast<int>(kind)].append(text, size);
                               },
                               !compiler::dump_directory().empty()};
  const codegen::MapCode code = generator->compile_map(
      {static_cast<codegen::Level>(level_), static_cast<int32_t>(types_.size() - steps_.size()), splats_, types_.data(),
       steps_.data(), static_cast<int32_t>(steps_.size()), results_.data(), static_cast<int32_t>(results_.size())},
      sink);
  if (sink.listings) {
    const uint64_t hash = hash_of(key_);
    dump(hash, level_, "ll", texts[1]);
    dump(hash, level_, "s", texts[2]);
  }
  if (!code.run) {
    logging::warning(fmt::format("no machine code for a fused call, which runs tile by tile: {}", texts[0]));
    return;
  }
  lanes_ = code.lanes, owner_ = code.owner;
  run_.store(code.run, std::memory_order_release);
  ++compiled_count;
}

void MapCode::request(const std::shared_ptr<MapCode>& code) {
  if (code->requested_.exchange(true, std::memory_order_relaxed)) return;
  if (threads() == 1) return void(code->compile());
  static const Ending ending;  // for a worker that still loads the generator
  Shared& s = shared();
  const std::lock_guard lock(s.mutex);
  if (s.ended) return;
  s.queue.push_back(code);
  if (s.busy) return;
  if (s.worker.joinable()) s.worker.join();  // it has left the queue
  try {
    s.worker = std::thread(work);
    s.busy = true;
  } catch (const std::system_error&) {  // no thread to be had: the tiles go on
    s.queue.clear();
  }
}

void MapCode::run(std::span<void* const> pointers, int64_t n) const {
  const codegen::MapFn code = run_.load(std::memory_order_acquire);
  const int64_t whole = n - n % lanes_;
  if (whole > 0) code(pointers.data(), nullptr, 1, whole);
  if (whole < n) run_rest(pointers, whole, n - whole);
}

void MapCode::run_rows(std::span<void* const> pointers, std::span<const int64_t> strides, int64_t rows,
                       int64_t n) const {
  run_.load(std::memory_order_acquire)(pointers.data(), strides.data(), rows, n);
}

// The last elements, repeated to fill a vector: other lanes do what these do, and no more.
void MapCode::run_rest(std::span<void* const> pointers, int64_t begin, int64_t n) const {
  struct alignas(64) Pad {
    Pad() {}  // NOLINT(modernize-use-equals-default): which would fill it with zeros first
    std::byte bytes[codegen::kVectorBytes];
  };
  SmallVector<Pad, 24> pads(pointers.size());
  SmallVector<void*, 24> moved;
  const size_t operands = pointers.size() - results_.size();
  for (size_t i = 0; i < pointers.size(); ++i) {
    std::byte* const pad = pads[i].bytes;
    const bool splat = i < operands && codegen::splat(splats_, i);
    moved.push_back(splat ? pointers[i] : pad);
    if (i >= operands || splat) continue;
    const auto item = static_cast<int64_t>(items_[i]), bytes = lanes_ * item;
    std::memcpy(pad, static_cast<const std::byte*>(pointers[i]) + begin * item, static_cast<size_t>(n * item));
    for (int64_t filled = n * item; filled < bytes; filled *= 2)
      std::memcpy(pad + filled, pad, static_cast<size_t>(std::min(filled, bytes - filled)));
  }
  run_.load(std::memory_order_relaxed)(moved.data(), nullptr, 1, lanes_);
  for (size_t i = operands; i < pointers.size(); ++i) {
    const auto item = static_cast<int64_t>(items_[i]);
    std::memcpy(static_cast<std::byte*>(pointers[i]) + begin * item, pads[i].bytes, static_cast<size_t>(n * item));
  }
}

void MapCode::count_run() { run_count.fetch_add(1, std::memory_order_relaxed); }

}  // namespace hone
