// The entries of an object, behind the functions of the model's own name, which the generator makes.
#pragma once
#include "hone/backend/jit/object/tables.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

// Of libc; its headers would want those of the target.
extern "C" {
void* malloc(size_t);
void free(void*);
void* memcpy(void*, const void*, size_t);
int memcmp(const void*, const void*, size_t);
struct FILE_;
FILE_* fopen(const char*, const char*);
size_t fread(void*, size_t, size_t, FILE_*);
int fclose(FILE_*);
}

namespace hone::object {

#if defined(__x86_64__)
// The best level of this CPU for which the operating system keeps the registers; the rule of backend/cpu/isa.cpp.
inline int best_level() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return 0;
  const bool fma = (c & bit_FMA) != 0, saved = (c & bit_OSXSAVE) != 0 && (c & bit_AVX) != 0;
  if (!fma || !saved) return 0;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & 6U) != 6U || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return 0;
  constexpr unsigned kV3 = bit_AVX2 | bit_BMI | bit_BMI2;
  if ((b & kV3) != kV3) return 0;
  constexpr unsigned kV4 = bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL;
  return (b & kV4) == kV4 && (low & 0xE0U) == 0xE0U ? 2 : 1;
}
#else
inline int best_level() { return 0; }
#endif

// Chosen once; threads that choose at the same time choose the same.
inline const Level* level_of(const Model& model) {
  const Level* level = __atomic_load_n(&model.mutable_part->level, __ATOMIC_RELAXED);
  if (level) return level;
  for (int i = best_level(); i >= 0 && !level; --i) level = model.levels[i];
  __atomic_store_n(&model.mutable_part->level, level, __ATOMIC_RELAXED);
  return level;
}

inline std::byte* align(void* p) {
  const auto at = reinterpret_cast<uintptr_t>(p);
  return reinterpret_cast<std::byte*>((at + math::kObjectAlign - 1) & ~uintptr_t{math::kObjectAlign - 1});
}

inline const std::byte* constants_of(const Model& model) {
  return model.constants ? model.constants : __atomic_load_n(&model.mutable_part->weights, __ATOMIC_ACQUIRE);
}

}  // namespace hone::object

// Statuses of the header.
enum : int {
  kHoneOk = 0,
  kHoneNoWeights = 1,
  kHoneNoCpu = 2,
  kHoneBadFile = 3,
  kHoneNoMemory = 4,
  kHoneNullPointer = 5,
  kHoneBadBatch = 6
};

extern "C" {

size_t hone_object_scratch_bytes(const hone::object::Model& m) {
  const int64_t parts = m.mutable_part->parallel_for ? hone::math::kObjectParts : 1;
  return static_cast<size_t>(m.arena_bytes + parts * m.scratch_bytes + m.slots_bytes + hone::math::kObjectAlign);
}

void hone_object_parallel(const hone::object::Model& m, hone::math::ObjectParallelFor loop, void* context) {
  m.mutable_part->parallel_for = loop;
  m.mutable_part->context = context;
}

int hone_object_run(const hone::object::Model& m, void* state, const void* const* inputs, void* const* outputs,
                    int64_t batch, void* scratch) {
  using namespace hone::object;
  const Level* const level = level_of(m);
  if (!level) return kHoneNoCpu;
  const std::byte* const constants = constants_of(m);
  if (!constants && m.constant_bytes > 0) return kHoneNoWeights;
  if (!scratch || (m.input_count > 0 && !inputs) || (m.output_count > 0 && !outputs) || (m.state_bytes > 0 && !state))
    return kHoneNullPointer;
  if (batch < 0) return kHoneBadBatch;
  std::byte* at = align(scratch);
  auto** const slots = reinterpret_cast<std::byte**>(at);
  at += m.slots_bytes;
  slots[hone::math::kArenaSlot] = at;
  slots[hone::math::kConstantSlot] = const_cast<std::byte*>(constants);
  slots[hone::math::kStateSlot] = static_cast<std::byte*>(state);
  const hone::math::level::FloatMode mode(m.flush_denormals);
  const Table* table = level->tables;
  for (int64_t done = 0; !m.example_bytes || done < batch; done += table->batch) {
    while (m.example_bytes && table->batch > batch - done) ++table;
    std::byte** slot = slots + hone::math::kFirstInputSlot;
    const int64_t* step = m.example_bytes;
    const auto place = [&](void* first) { *slot++ = static_cast<std::byte*>(first) + (step ? done * *step++ : 0); };
    for (int32_t i = 0; i < m.input_count; ++i) place(const_cast<void*>(inputs[i]));
    for (int32_t i = 0; i < m.output_count; ++i) place(outputs[i]);
    hone::math::level::run_object({table->works, table->work_count, slots, at + m.arena_bytes, m.scratch_bytes,
                                   m.mutable_part->parallel_for, m.mutable_part->context, m.flush_denormals});
    if (!m.example_bytes) break;
  }
  return kHoneOk;
}

int hone_object_init(const hone::object::Model& m, void* state) {
  const std::byte* const constants = hone::object::constants_of(m);
  if (!constants && m.constant_bytes > 0) return kHoneNoWeights;
  if (!state && m.state_bytes > 0) return kHoneNullPointer;
  for (int64_t i = 0; i < m.initial_count; ++i) {
    const hone::object::Initial& each = m.initial[i];
    memcpy(static_cast<std::byte*>(state) + each.state, constants + each.constant, static_cast<size_t>(each.bytes));
  }
  return kHoneOk;
}

int hone_object_load_weights(const hone::object::Model& m, const char* path) {
  FILE_* const file = fopen(path, "rb");
  if (!file) return kHoneBadFile;
  char header[hone::object::kWeightHeader];
  const auto bytes = static_cast<size_t>(m.constant_bytes);
  int status = kHoneBadFile;
  void* memory = nullptr;
  if (fread(header, 1, sizeof header, file) == sizeof header && memcmp(header, m.weight_header, sizeof header) == 0) {
    memory = malloc(bytes + hone::math::kObjectAlign);
    status = memory ? kHoneOk : kHoneNoMemory;
    if (memory && (fread(hone::object::align(memory), 1, bytes, file) != bytes || fread(header, 1, 1, file) != 0))
      status = kHoneBadFile;
  }
  fclose(file);
  if (status != kHoneOk) {
    free(memory);
    return status;
  }
  free(m.mutable_part->loaded);
  m.mutable_part->loaded = memory;
  __atomic_store_n(&m.mutable_part->weights, hone::object::align(memory), __ATOMIC_RELEASE);
  return kHoneOk;
}

}  // extern "C"
