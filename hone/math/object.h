// A compiled model as tables, and what runs them: no tensors, no C++ library, no allocation. Objects that are compiled
// ahead of time hold these tables and this code.
#pragma once
#include "hone/math/level.h"
#include "hone/math/work.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hone::math {

/// Bytes at an offset of one of the places that a run is given: see ObjectSlots.
struct ObjectMemory {
  int32_t slot;
  int64_t offset;
};
/// Slot 0 is the arena, 1 the constants, 2 the state; then inputs, then outputs.
enum ObjectSlots : int32_t { kArenaSlot, kConstantSlot, kStateSlot, kFirstInputSlot };

struct ObjectWork {
  WorkFn function;
  const void* params;
  WorkCode code;
  const ObjectMemory* memory;
  int32_t memory_count;
  int64_t count, grain, scratch;  ///< as Work's
};
inline constexpr int kObjectMemory = 128;  ///< that a work may have
inline constexpr int kObjectParts = 16;    ///< that a loop is split into at most
inline constexpr int64_t kObjectAlign = 64;

/// A host's loop: calls task(argument, i) for each i in [0, tasks), on any threads, and returns when all are done.
using ObjectParallelFor = void (*)(void* context, int64_t tasks, void (*task)(void* argument, int64_t index),
                                   void* argument);

struct ObjectRun {
  const ObjectWork* works;
  int64_t work_count;
  std::byte* const* slots;
  std::byte* scratch;    ///< behind the arena: one part's, or kObjectParts of them
  int64_t scratch_each;  ///< bytes, a multiple of kObjectAlign
  ObjectParallelFor parallel_for;
  void* context;
  bool flush_denormals;
};

namespace HONE_LEVEL {

/// Floats as Hone computes with them, for as long as it lives: rounding to nearest, no traps, denormals kept or not,
/// whatever mode the caller is in.
class FloatMode {
 public:
#if defined(__x86_64__)
  explicit FloatMode(bool flush) : before_(_mm_getcsr()) { _mm_setcsr(flush ? 0x9FC0U : 0x1F80U); }
  ~FloatMode() { _mm_setcsr((_mm_getcsr() & 0x3FU) | before_); }

 private:
  unsigned before_;
#elif defined(__aarch64__)
  explicit FloatMode(bool flush) {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" : : "r"(flush ? uint64_t{1} << 24 : uint64_t{0}));
  }
  ~FloatMode() { asm volatile("msr fpcr, %0" : : "r"(before_)); }

 private:
  uint64_t before_;
#else
#error "floating-point mode of this processor"
#endif
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;
};

namespace object_detail {

struct Part {
  const ObjectRun* run;
  const ObjectWork* work;
  WorkArgs args;
  int64_t each;  // items
};

inline void run_part(void* argument, int64_t index) {
  const Part& part = *static_cast<const Part*>(argument);
  const FloatMode mode(part.run->flush_denormals);
  WorkArgs args = part.args;
  args.scratch += index * part.run->scratch_each;
  const int64_t begin = index * part.each, end = begin + part.each;
  part.work->function(args, begin, end < part.work->count ? end : part.work->count);
}

}  // namespace object_detail

/// All works, in the caller's floating-point mode but for what other threads do.
inline void run_object(const ObjectRun& run) {
  for (int64_t i = 0; i < run.work_count; ++i) {
    const ObjectWork& work = run.works[i];
    std::byte* memory[kObjectMemory];
    for (int32_t m = 0; m < work.memory_count; ++m) memory[m] = run.slots[work.memory[m].slot] + work.memory[m].offset;
    const WorkArgs args{work.params, memory, run.scratch, work.code};
    if (!run.parallel_for || work.count <= work.grain) {
      if (work.count > 0) work.function(args, 0, work.count);
      continue;
    }
    const int64_t wanted = (work.count + work.grain - 1) / work.grain;
    const int64_t parts = wanted < kObjectParts ? wanted : kObjectParts;
    const int64_t each = (work.count + parts - 1) / parts;
    object_detail::Part part{&run, &work, args, each};
    run.parallel_for(run.context, (work.count + each - 1) / each, object_detail::run_part, &part);
  }
}

}  // namespace HONE_LEVEL
}  // namespace hone::math
