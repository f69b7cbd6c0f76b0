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
/// Slot 0 is the arena, 1 the constants, 2 the state; then inputs, then outputs, then places that move in loops.
enum ObjectSlots : int32_t { kArenaSlot, kConstantSlot, kStateSlot, kFirstInputSlot };

/// A row of the table: a work, or with a null function what an ObjectControl says (`params`).
struct ObjectWork {
  WorkFn function;
  const void* params;
  WorkCode code;
  const ObjectMemory* memory;
  int32_t memory_count;
  int64_t count, grain, scratch;  ///< as Work's
};

/// Control flow. Its parts are tables that stand behind its row, one after the other; the row's `count` is how many
/// rows that are. Behind the struct lie numbers: the rows of each part, then the strides of the places that move. In
/// trip t, slot first_slot + i is memory[2 i + t % 2] (behind what the kind reads), t strides on (`reverse`: trips - 1
/// - t): rows of a sequence, which have the same memory twice, or a carry, which goes from one memory to the other.
struct ObjectControl {
  enum Kind : int32_t {
    Scan,   ///< `trips` times its part
    While,  ///< while the first part writes true to memory[0]: the second. Slots stay as the last condition read them
    If,     ///< the first part where the bool memory[0] is true, else the second
    Case,   ///< the part of the int32 memory[0], or the last for one outside
  };
  Kind kind;
  int32_t parts, first_slot, moving;
  int64_t trips;
  int64_t reverse;
};
inline constexpr WorkId kObjectControl = WorkId::Count;  ///< in place of a function's name

inline constexpr int kObjectMemory = 128;  ///< that a work may have
inline constexpr int kObjectParts = 16;    ///< that a loop is split into at most
inline constexpr int64_t kObjectAlign = 64;

/// A host's loop: calls task(argument, i) for each i in [0, tasks), on any threads, and returns when all are done.
using ObjectParallelFor = void (*)(void* context, int64_t tasks, void (*task)(void* argument, int64_t index),
                                   void* argument);

struct ObjectRun {
  const ObjectWork* works;
  int64_t work_count;
  std::byte** slots;
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

namespace object_detail {

inline std::byte* place(const ObjectRun& run, const ObjectMemory& memory) {
  return run.slots[memory.slot] + memory.offset;
}

inline void run_work(const ObjectRun& run, const ObjectWork& work) {
  std::byte* memory[kObjectMemory];
  for (int32_t m = 0; m < work.memory_count; ++m) memory[m] = place(run, work.memory[m]);
  const WorkArgs args{work.params, memory, run.scratch, work.code};
  if (!run.parallel_for || work.count <= work.grain) {
    if (work.count > 0) work.function(args, 0, work.count);
    return;
  }
  const int64_t wanted = (work.count + work.grain - 1) / work.grain;
  const int64_t parts = wanted < kObjectParts ? wanted : kObjectParts;
  const int64_t each = (work.count + parts - 1) / parts;
  Part part{&run, &work, args, each};
  run.parallel_for(run.context, (work.count + each - 1) / each, run_part, &part);
}

inline void run_table(const ObjectRun& run, const ObjectWork* works, int64_t count);

inline void run_branch(const ObjectRun& run, const ObjectWork& work, const ObjectControl& control,
                       const int64_t* parts) {
  const std::byte* const selector = place(run, work.memory[0]);
  int32_t index;
  if (control.kind == ObjectControl::If)
    index = *selector != std::byte{0} ? 0 : 1;
  else
    __builtin_memcpy(&index, selector, sizeof index);
  const int32_t chosen = index >= 0 && index < control.parts ? index : control.parts - 1;
  const ObjectWork* part = &work + 1;
  for (int32_t i = 0; i < chosen; ++i) part += parts[i];
  run_table(run, part, parts[chosen]);
}

inline void run_control(const ObjectRun& run, const ObjectWork& work) {
  const ObjectControl& control = *static_cast<const ObjectControl*>(work.params);
  const auto* const parts = static_cast<const int64_t*>(static_cast<const void*>(&control + 1));
  if (control.kind >= ObjectControl::If) return run_branch(run, work, control, parts);
  const int64_t* const strides = parts + control.parts;
  const bool counted = control.kind == ObjectControl::Scan;
  const ObjectMemory* const moving = work.memory + (counted ? 0 : 1);
  for (int64_t trip = 0; !counted || trip < control.trips; ++trip) {
    const int64_t row = control.reverse ? control.trips - 1 - trip : trip;
    for (int32_t i = 0; i < control.moving; ++i)
      run.slots[control.first_slot + i] = place(run, moving[2 * i + (trip & 1)]) + row * strides[i];
    run_table(run, &work + 1, parts[0]);
    if (counted) continue;
    if (*place(run, work.memory[0]) == std::byte{0}) return;
    run_table(run, &work + 1 + parts[0], parts[1]);
  }
}

inline void run_table(const ObjectRun& run, const ObjectWork* works, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (works[i].function) {
      run_work(run, works[i]);
    } else {
      run_control(run, works[i]);
      i += works[i].count;
    }
  }
}

}  // namespace object_detail

/// All works, in the caller's floating-point mode but for what other threads do. Writes the slots of places that move.
inline void run_object(const ObjectRun& run) { object_detail::run_table(run, run.works, run.work_count); }

}  // namespace HONE_LEVEL
}  // namespace hone::math
