// Machine code of clusters: a tier above the tiles. Equal clusters share code, whatever their shapes.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "hone/backend/cpu/isa.h"
#include "hone/compiler/codegen.h"
#include "hone/ir/graph.h"

namespace hone {

/// The code of one cluster at one level, or a wish for it. Thread-safe.
class MapCode {
 public:
  /// The one of a cluster (compiler::RowSpace) whose calls have kernels. Bit i of `splats`: operand i is one element;
  /// where rows are reduced, one for each row.
  static std::shared_ptr<MapCode> of(const ir::Graph& body, IsaLevel level = isa_level(), uint64_t splats = 0);
  ~MapCode();
  MapCode(const MapCode&) = delete;
  MapCode& operator=(const MapCode&) = delete;

  /// Whether run may be called.
  bool ready() const { return run_.load(std::memory_order_acquire) != nullptr; }
  /// Makes the code now, unless that was tried before. False where it cannot be made, which a warning says once.
  bool compile();
  /// Makes it in the background, or now where there is one thread. Asked again, does nothing.
  static void request(const std::shared_ptr<MapCode>& code);

  /// Elements [0, n) of contiguous arrays: the operands, then the results. A result may lie where an operand of its
  /// type does that is no splat.
  void run(std::span<void* const> pointers, int64_t n) const;
  /// Where rows are reduced: rows of n elements, as codegen::MapFn has them. Behind the results stand rows of scratch
  /// for kept().
  void run_rows(std::span<void* const> pointers, std::span<const int64_t> strides, int64_t rows, int64_t n) const;
  /// Bytes of an element of each value that is kept from one loop over a row to the next.
  std::span<const uint8_t> kept() const { return kept_; }
  /// Notes a run of the cluster for map_code_counts().
  static void count_run();

 private:
  MapCode(const ir::Graph& body, IsaLevel level, uint64_t splats);
  void add_steps(const ir::Graph& body);
  void plan_phases(const std::vector<bool>& approximate);
  void generate();
  void run_rest(std::span<void* const> pointers, int64_t begin, int64_t n) const;

  IsaLevel level_;
  uint64_t splats_;
  std::vector<int32_t> types_, results_;
  std::vector<codegen::MapStep> steps_;
  std::string key_;             // all of the above
  std::vector<uint8_t> items_;  // bytes of an element, by pointer
  std::vector<uint8_t> kept_;
  std::mutex mutex_;  // held while the code is made
  std::atomic<bool> tried_{false}, requested_{false};
  int64_t lanes_ = 1;  // both set before run_
  void* owner_ = nullptr;
  std::atomic<codegen::MapFn> run_{nullptr};
};

/// Since the process began, for tests.
struct MapCodeCounts {
  int64_t compiled;  ///< clusters that got code
  int64_t runs;      ///< of clusters as machine code
};
MapCodeCounts map_code_counts();

/// Until nothing is made in the background.
void wait_for_map_code();

}  // namespace hone
