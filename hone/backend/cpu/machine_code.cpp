#include "hone/backend/cpu/machine_code.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <shared_mutex>
#include <thread>
#include <unordered_map>

#include "hone/backend/cpu/isa.h"
#include "hone/base/error.h"
#include "hone/base/file.h"
#include "hone/base/hash.h"
#include "hone/base/log.h"
#include "hone/base/parallel.h"
#include "hone/compiler/code_cache.h"
#include "hone/compiler/pipeline.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

// Everything that outlives static objects: code may be asked for, and freed, while those are destroyed.
struct Shared {
  // Held while the generator works, by any number of threads; a fork waits for them, for its child could not. Before
  // every other mutex.
  std::shared_mutex generating;
  std::mutex mutex;  // guards all below
  std::unordered_map<std::string, std::weak_ptr<MachineCode>> codes;
  std::deque<std::shared_ptr<MachineCode>> queue;
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
// The worker is gone, and what waited for it keeps to what it has.
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
    std::shared_ptr<MachineCode> code = std::move(s.queue.front());
    s.queue.pop_front();
    lock.unlock();
    code->compile();
    code.reset();
    lock.lock();
  }
  s.busy = false;
  s.idle.notify_all();
}

// HONE_DUMP: IR and assembly, under the name of what the code depends on.
void dump(uint64_t hash, const std::string& level, const char* ending, const std::string& text) {
  write_file_atomic(fmt::format("{}/kernel-{:016x}-{}.{}", compiler::dump_directory(), hash, level, ending), text);
}

std::atomic<int64_t> made_count{0};

// What code calls from outside: tiles, memcpy, and fma of processors without it.
const void* function_by_name(std::string_view name) {
  if (name == "memcpy")
    return reinterpret_cast<const void*>(static_cast<void* (*)(void*, const void*, size_t)>(&std::memcpy));
  if (name == "fmaf") return reinterpret_cast<const void*>(static_cast<float (*)(float, float, float)>(&std::fmaf));
  if (name == "fma") return reinterpret_cast<const void*>(static_cast<double (*)(double, double, double)>(&std::fma));
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

int64_t machine_code_count() { return made_count; }

void wait_for_machine_code() {
  Shared& s = shared();
  std::unique_lock lock(s.mutex);
  s.idle.wait(lock, [&] { return !s.busy; });
}

MachineCode::~MachineCode() {
  Shared& s = hone::shared();
  const std::shared_lock generating(s.generating);
  {
    const std::lock_guard lock(s.mutex);
    const auto found = s.codes.find(key_);
    if (found != s.codes.end() && found->second.expired()) s.codes.erase(found);
  }
}

std::shared_ptr<MachineCode> MachineCode::shared(std::shared_ptr<MachineCode> code) {
  Shared& s = hone::shared();
  const std::lock_guard lock(s.mutex);
  std::weak_ptr<MachineCode>& known = s.codes[code->key_];
  if (std::shared_ptr<MachineCode> same = known.lock()) return same;
  known = code;
  return code;
}

bool MachineCode::compile() {
  if (tried_.load(std::memory_order_acquire)) return ready();
  Shared& s = hone::shared();
  const std::shared_lock generating(s.generating);
  const std::lock_guard lock(mutex_);
  if (tried_.load(std::memory_order_relaxed)) return ready();
  try {
    load();
  } catch (const std::exception& failure) {
    logging::warning(fmt::format("no machine code for {}: {}", what_, failure.what()));
  }
  tried_.store(true, std::memory_order_release);
  return ready();
}

void MachineCode::load() {
  static const Ending ending;
  {
    const std::lock_guard lock(hone::shared().mutex);
    if (hone::shared().ended) return;
  }
  loaded_ = code_cache::load(
      title_, key_, [this] { return generate(); }, [](std::string_view name) { return function_by_name(name); });
  if (!loaded_) return;
  function_.store(loaded_.function<Function>(), std::memory_order_release);
  ++made_count;
}

// The object; empty where there is no generator.
std::string MachineCode::generate() const {
  const codegen::Generator* const generator = codegen::generator();
  if (!generator) return {};
  std::string texts[4];  // by codegen::Text
  const codegen::TextSink sink{texts,
                               [](void* to, codegen::Text kind, const char* text, size_t size) {
                                 static_cast<std::string*>(to)[static_cast<int>(kind)].append(text, size);
                               },
                               !compiler::dump_directory().empty()};
  const bool made = make(*generator, sink);
  if (sink.listings) {
    const uint64_t hash = hash_of(key_);
    dump(hash, level_, "ll", texts[1]);
    dump(hash, level_, "s", texts[2]);
  }
  if (!made) throw Error(Code::kInternal, texts[0]);
  return std::move(texts[3]);
}

void MachineCode::request(const std::shared_ptr<MachineCode>& code) {
  if (code->requested_.exchange(true, std::memory_order_relaxed)) return;
  if (threads() == 1) return void(code->compile());
  static const Ending ending;  // for a worker that still loads the generator
  Shared& s = hone::shared();
  const std::lock_guard lock(s.mutex);
  if (s.ended) return;
  s.queue.push_back(code);
  if (s.busy) return;
  if (s.worker.joinable()) s.worker.join();  // it has left the queue
  try {
    s.worker = std::thread(work);
    s.busy = true;
  } catch (const std::system_error&) {  // no thread to be had: what runs goes on
    s.queue.clear();
  }
}

}  // namespace hone
