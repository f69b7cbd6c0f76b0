#include "hone/backend/cpu/onednn.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "hone/base/parallel.h"
#include "hone/base/probe.h"
#include "hone/base/thread_local.h"
#include "hone/device/device.h"

namespace hone::onednn {
namespace {

struct Hash {
  size_t operator()(const Key& key) const {
    uint64_t h = 0;
    for (size_t i = 0; i < key.fields.size(); i += 2) {
      const uint64_t word =
          static_cast<uint32_t>(key.fields[i]) | static_cast<uint64_t>(static_cast<uint32_t>(key.fields[i + 1])) << 32;
      h = (h ^ word) * 0x9E3779B97F4A7C15U;
      h ^= h >> 29;
    }
    return h;
  }
};

// Weights in the layout of a primitive. An entry is made at the first use and filled at the second, so that training,
// where every step brings new weights, keeps none. Entries not used for kAge lookups are dropped.
class PackedWeights {
 public:
  struct Entry {
    uint64_t primitive = 0, tensor = 0, used = 0;
    Ref<Buffer> data;
  };
  /// The entry of a pair; `seen` tells if it was there before.
  Entry& find(uint64_t primitive, uint64_t tensor, bool& seen) {
    constexpr uint64_t kAge = 4096;
    ++clock_;
    Entry& oldest = entries_[clock_ % kEntries];
    if (oldest.data && clock_ - oldest.used > kAge) oldest = {};
    Entry* set = &entries_[(primitive * 0x9E3779B97F4A7C15U ^ tensor * 0xC2B2AE3D27D4EB4FU) >> 32 & (kEntries - kWays)];
    Entry* victim = set;
    for (Entry* entry = set; entry < set + kWays; ++entry) {
      if (entry->primitive == primitive && entry->tensor == tensor) {
        entry->used = clock_;
        seen = true;
        return *entry;
      }
      if (entry->used < victim->used) victim = entry;
    }
    *victim = {primitive, tensor, clock_, {}};
    seen = false;
    return *victim;
  }
  size_t bytes() const {
    size_t total = 0;
    for (const Entry& entry : entries_) total += entry.data ? entry.data->bytes() : 0;
    return total;
  }

 private:
  static constexpr uint64_t kEntries = 512, kWays = 4;
  std::array<Entry, kEntries> entries_;
  uint64_t clock_ = 0;
};

struct Slot {
  Primitive primitive;
  uint64_t used = 0;
};

// One cache a thread: memory objects carry the pointers of the running call.
struct State {
  dnnl::stream stream{engine()};
  std::unordered_map<Key, Slot, Hash> primitives;
  PackedWeights weights;
  uint64_t clock = 0;
  std::string last;
};
State& state() { return *ThreadLocal<State>::get(); }

void set(const dnnl::memory& memory, void* pointer) { dnnl_memory_set_data_handle(memory.get(), pointer); }

void run(const dnnl::primitive& primitive, const dnnl::stream& stream, std::span<const dnnl_exec_arg_t> args) {
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(args.size()), args.data()),
      "a oneDNN primitive failed");
}

void run_reorder(const Primitive& p, const dnnl::stream& stream, bool back) {
  const dnnl_memory_t packed = p.arguments[static_cast<size_t>(p.packed)].get(), plain = p.plain.get();
  const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, back ? packed : plain}, {DNNL_ARG_TO, back ? plain : packed}};
  run(p.reorder, stream, args);
}

}  // namespace

const dnnl::engine& engine() {
  static const auto* instance = new dnnl::engine(dnnl::engine::kind::cpu, 0);  // outlives every thread's cache
  return *instance;
}

bool native_bf16() {
  static const bool native = [] {
    const auto isa = dnnl::get_effective_cpu_isa();
    return isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
  }();
  return native;
}

Primitive& find(const Key& key, FunctionRef<void(Primitive&)> make) {
  State& s = state();
  if (const auto found = s.primitives.find(key); found != s.primitives.end()) {
    found->second.used = ++s.clock;
    return found->second.primitive;
  }
  static std::atomic<uint64_t> serials{0};
  Slot slot;
  slot.used = ++s.clock;
  {
    const probe::Scope timed("library", "primitive");
    make(slot.primitive);
  }
  slot.primitive.serial = ++serials;
  if (s.primitives.size() >= kMaxPrimitives) {
    s.primitives.erase(std::min_element(s.primitives.begin(), s.primitives.end(),
                                        [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  return s.primitives.emplace(key, std::move(slot)).first->second.primitive;
}

size_t cached_primitives() { return state().primitives.size(); }
size_t packed_bytes() { return state().weights.bytes(); }
const std::string& last_implementation() { return state().last; }

void execute(Primitive& p, const std::array<void*, Primitive::kMaxArguments>& pointers, uint64_t weights_id) {
  State& s = state();
  s.last = p.implementation;
  const bool result_packed = p.packed >= 0 && p.packed == p.count - 1;
  Ref<Buffer> packed, scratch;
  bool reorder = p.packed >= 0;
  if (reorder && !result_packed && weights_id != 0) {  // 0: their elements change
    bool seen = false;
    PackedWeights::Entry& entry = s.weights.find(p.serial, weights_id, seen);
    reorder = !entry.data;
    packed = entry.data ? entry.data : cpu().allocate(p.packed_bytes);
    if (seen) entry.data = packed;
  } else if (reorder) {
    packed = cpu().allocate(p.packed_bytes);
  }
  if (p.scratch_bytes) scratch = cpu().allocate(p.scratch_bytes);
  std::array<dnnl_exec_arg_t, Primitive::kMaxArguments + 1> args;
  for (size_t i = 0; i < static_cast<size_t>(p.count); ++i) {
    set(p.arguments[i], static_cast<int>(i) == p.packed ? packed->data() : pointers[i]);
    args[i] = {p.names[i], p.arguments[i].get()};
  }
  if (p.packed >= 0) set(p.plain, pointers[static_cast<size_t>(p.packed)]);
  auto count = static_cast<size_t>(p.count);
  if (scratch) {
    set(p.scratch, scratch->data());
    args[count++] = {DNNL_ARG_SCRATCHPAD, p.scratch.get()};
  }
  run_library([&] {
    if (reorder && !result_packed) run_reorder(p, s.stream, false);
    run(p.primitive, s.stream, {args.data(), count});
    if (result_packed) run_reorder(p, s.stream, true);
  });
}

}  // namespace hone::onednn
