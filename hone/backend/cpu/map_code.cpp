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

#include "hone/base/error.h"
#include "hone/base/file.h"
#include "hone/base/hash.h"
#include "hone/base/log.h"
#include "hone/base/parallel.h"
#include "hone/compiler/code_cache.h"
#include "hone/compiler/pipeline.h"
#include "hone/ops/attrs.h"
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

// "map v3 multiply add relu": what a cluster does, for people.
std::string title_of(const ir::Graph& body, IsaLevel level) {
  constexpr size_t kLongest = 160;
  std::string title = fmt::format("map {}", name(level));
  for (const ir::Node& node : body.nodes()) {
    if (title.size() > kLongest) return title + " ...";
    title += fmt::format(" {}", node.op->name);
  }
  return title;
}

const void* tile_by_name(std::string_view name) {
  codegen::MapStep step;
  int result = 0;
  if (!codegen::read_tile_name(std::string(name).c_str(), step, result)) return nullptr;
  const auto known = [](int type) { return type >= 0 && type < math::kElementTypes; };
  if (!known(step.type) || !known(result)) return nullptr;
  const math::Kernels& level = kernels();
  if (step.row == codegen::MapStep::kConvert) return reinterpret_cast<const void*>(level.convert[step.type][result]);
  const auto rows = std::ranges::max(op_table(), {}, &Op::elementwise)->elementwise;
  return step.row < 0 || step.row > rows ? nullptr
                                         : reinterpret_cast<const void*>(level.elementwise[step.row][step.type]);
}

}  // namespace

MapCodeCounts map_code_counts() { return {compiled_count, run_count}; }

void wait_for_map_code() {
  Shared& s = shared();
  std::unique_lock lock(s.mutex);
  s.idle.wait(lock, [&] { return !s.busy; });
}

MapCode::MapCode(const ir::Graph& body, IsaLevel level, uint64_t splats) : level_(level), splats_(splats) {
  std::vector<int32_t> place(body.values());  // of a value of the body: operands first
  const auto add = [&](ir::ValueId v) {
    place[v] = static_cast<int32_t>(types_.size());
    types_.push_back(static_cast<int32_t>(body.type(v).dtype));
  };
  for (const ir::Input& input : body.inputs()) {
    add(input.value);
    items_.push_back(static_cast<uint8_t>(size_of(body.type(input.value).dtype)));
  }
  for (const ir::Node& node : body.nodes()) {
    codegen::MapStep step{};
    step.row = node.op == &ops::convert ? codegen::MapStep::kConvert : node.op->elementwise;
    step.operands = static_cast<int32_t>(node.operands);
    const std::span<const ir::ValueId> operands = body.operands(node);
    step.type = static_cast<int32_t>(body.type(operands[node.op == &ops::select ? 1 : 0]).dtype);
    for (size_t i = 0; i < operands.size(); ++i) step.in[i] = place[operands[i]];
    if (node.attrs.type() == &attr_type<ParamAttrs>()) {
      step.params[0] = node.attrs.as<ParamAttrs>().a;
      step.params[1] = node.attrs.as<ParamAttrs>().b;
    }
    steps_.push_back(step);
    add(node.first_result);
  }
  for (const ir::ValueId output : body.outputs()) {
    results_.push_back(place[output]);
    items_.push_back(static_cast<uint8_t>(size_of(body.type(output).dtype)));
  }
  const int32_t counts[] = {static_cast<int32_t>(level), static_cast<int32_t>(body.inputs().size()),
                            static_cast<int32_t>(steps_.size())};
  append<int32_t>(key_, counts);
  append<uint64_t>(key_, {&splats_, 1});
  append<int32_t>(key_, types_);
  append<codegen::MapStep>(key_, steps_);
  append<int32_t>(key_, results_);
  lanes_ = codegen::lanes_of(program());
  title_ = title_of(body, level);
}

codegen::MapProgram MapCode::program() const {
  return {static_cast<codegen::Level>(level_),
          static_cast<int32_t>(types_.size() - steps_.size()),
          splats_,
          types_.data(),
          steps_.data(),
          static_cast<int32_t>(steps_.size()),
          results_.data(),
          static_cast<int32_t>(results_.size())};
}

MapCode::~MapCode() {
  Shared& s = shared();
  const std::shared_lock generating(s.generating);
  {
    const std::lock_guard lock(s.mutex);
    const auto found = s.codes.find(key_);
    if (found != s.codes.end() && found->second.expired()) s.codes.erase(found);
  }
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
    load();
  } catch (const std::exception& failure) {
    logging::warning(fmt::format("no machine code for a fused call, which runs tile by tile: {}", failure.what()));
  }
  tried_.store(true, std::memory_order_release);
  return ready();
}

void MapCode::load() {
  static const Ending ending;
  {
    const std::lock_guard lock(shared().mutex);
    if (shared().ended) return;
  }
  loaded_ = code_cache::load(
      title_, key_, [this] { return generate(); }, [](std::string_view name) { return tile_by_name(name); });
  if (!loaded_) return;
  run_.store(loaded_.function<codegen::MapFn>(), std::memory_order_release);
  ++compiled_count;
}

// The object; empty where there is no generator.
std::string MapCode::generate() const {
  const codegen::Generator* const generator = codegen::generator();
  if (!generator) return {};
  std::string texts[4];  // by codegen::Text
  const codegen::TextSink sink{texts,
                               [](void* to, codegen::Text kind, const char* text, size_t size) {
                                 static_cast<std::string*>(to)[static_cast<int>(kind)].append(text, size);
                               },
                               !compiler::dump_directory().empty()};
  const bool made = generator->compile_map(program(), sink);
  if (sink.listings) {
    const uint64_t hash = hash_of(key_);
    dump(hash, level_, "ll", texts[1]);
    dump(hash, level_, "s", texts[2]);
  }
  if (!made) throw Error(Code::kInternal, texts[0]);
  return std::move(texts[3]);
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
  if (whole > 0) code(pointers.data(), whole);
  if (whole < n) run_rest(pointers, whole, n - whole);
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
  run_.load(std::memory_order_relaxed)(moved.data(), lanes_);
  for (size_t i = operands; i < pointers.size(); ++i) {
    const auto item = static_cast<int64_t>(items_[i]);
    std::memcpy(static_cast<std::byte*>(pointers[i]) + begin * item, pads[i].bytes, static_cast<size_t>(n * item));
  }
}

void MapCode::count_run() { run_count.fetch_add(1, std::memory_order_relaxed); }

}  // namespace hone
