// The tables of an object: the generator lays them out, runtime.h reads them.
#pragma once
#include "hone/math/object.h"

namespace hone::object {

struct Table {
  int64_t batch;
  const math::ObjectWork* works;
  int64_t work_count;
};
/// The tables of one instruction-set level.
struct Level {
  const Table* tables;  ///< by decreasing batch, the last of 1 example
  int64_t table_count;
};
/// What a state starts with.
struct Initial {
  int64_t constant, state, bytes;
};
struct Mutable {
  const Level* level;
  const std::byte* weights;  ///< loaded, aligned
  void* loaded;
  math::ObjectParallelFor parallel_for;
  void* context;
};
inline constexpr int kWeightHeader = 64;

struct Model {
  const Level* levels[3];      ///< v2, v3, v4; null where the object has none. Other processors: the first
  const std::byte* constants;  ///< null: to be loaded
  const char* weight_header;   ///< kWeightHeader bytes that a file of weights begins with
  Mutable* mutable_part;
  const Initial* initial;
  const int64_t* example_bytes;  ///< of inputs, then outputs; null: the model has one batch size
  int64_t initial_count;
  int64_t constant_bytes, state_bytes, arena_bytes, scratch_bytes, slots_bytes;
  int32_t input_count, output_count;
  bool flush_denormals;
};

}  // namespace hone::object
