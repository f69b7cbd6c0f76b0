// Process-wide settings. Reading is cheap; change them between steps, not while ops run.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace hone {

/// What must give the same bits (docs/numerics.md states the cost of each).
enum class Reproducible {
  Off,       ///< own kernels: any thread count; library calls: the same thread count
  Threads,   ///< library calls too: fixed partitions, one single-threaded call each, reduced in a fixed tree
  Portable,  ///< any processor and thread count, objects too: no library calls, own products and convolutions of fixed
             ///< order
};

/// Passes of the compiler, by the names that HONE_PASSES and reports use (hone/compiler/passes.h says what each does).
/// One that is off is left out of what is compiled from then on, with the same bits: for finding which pass is at
/// fault. Without `decompose`, ops that no kernel serves are Error kUnsupported.
struct PassSettings {
  bool remove_dead = true;
  bool simplify = true;
  bool constant_folding = true;  ///< a part of simplify
  bool expand_norm = true;
  bool decompose = true;
  bool share_transposes = true;
  bool fuse_updates = true;
  bool recompute = true;
  bool cluster = true;
  bool schedule = true;
};

struct Settings {
  Reproducible reproducible = Reproducible::Off;
  size_t memory_limit = 0;         ///< bytes the device allocator may hold; 0 = no limit
  bool reference_kernels = false;  ///< serve every op by the reference backend: slow, for finding a kernel's fault
  /// The first NaN or infinity that comes of finite operands is Error kNumerical: op, ranges, line. Functions run op by
  /// op meanwhile, with the same bits.
  bool check_numerics = false;
  /// Functions that run often get machine code for their fused calls, with the same bits: made in the background, or at
  /// the second call where there is one thread. Off: only those with jit_compile.
  bool jit = true;
  /// Where machine code is kept for the next process, which then does not load the code generator. Empty:
  /// HONE_CACHE_DIR, else $XDG_CACHE_HOME/hone, else ~/.cache/hone.
  std::string code_cache_folder;
  uint64_t code_cache_bytes = uint64_t{256} << 20;  ///< what was used longest ago goes beyond them; 0: no cache
  PassSettings passes;
  /// Eager elementwise calls wait in a queue of their thread and run as fused clusters when their elements are asked
  /// for, with the same bits, under the settings of the call. 0: off; 1: calls of large tensors; 2: all but tiny ones,
  /// which a queue slows down; 3: all. HONE_AUTOJIT sets what is 0 at the first op. Lack of memory may show later.
  int auto_jit = 0;
  /// Denormal floats count as zero, as operands and as results, in ops and in compiled functions alike; off, they are
  /// kept, whatever mode the caller's thread is in.
  bool flush_denormals = false;
  bool poison_memory = false;  ///< plans fill memory with NaN when its content is dead: for finding a plan's fault
  /// function() records each function twice and compares: finds what the host does differently each time (counters,
  /// clocks, random numbers of its own). On in builds with asserts.
#ifdef NDEBUG
  bool trace_twice = false;
#else
  bool trace_twice = true;
#endif
};

inline Settings settings;

}  // namespace hone
