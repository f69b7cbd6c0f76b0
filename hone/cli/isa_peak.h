// How many multiply-adds this CPU can do: the bound that library calls are measured against.
#pragma once
#include <cstdint>

namespace hone::cli {

enum class PeakLevel { Sse2, Fma, Avx512 };

/// The widest that this CPU has.
PeakLevel peak_level();
const char* name(PeakLevel level);

/// Runs `rounds` rounds of independent f32 multiply-adds in registers on this thread; returns how many operations (two
/// a multiply-add) that were.
double multiply_adds_in_registers(PeakLevel level, int64_t rounds);

}  // namespace hone::cli
