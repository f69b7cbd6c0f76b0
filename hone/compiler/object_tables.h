// Plans on their way into the tables of an object.
#pragma once
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "hone/compiler/executable.h"
#include "hone/compiler/works.h"
#include "hone/math/object.h"

namespace hone::compiler {

/// A table and what its rows refer to. Sizes in bytes, multiples of math::kObjectAlign.
struct ObjectTables {
  struct Row {
    Work work;
    std::vector<math::ObjectMemory> memory;
  };
  std::vector<Row> rows;
  std::string constants;
  std::set<std::string> missing;  ///< calls that have no works
  size_t arena_bytes = 0;         ///< the furthest that a row reaches
  size_t scratch_bytes = 0;       ///< of one thread
  int32_t slots = 0;              ///< so far; each loop adds some for what moves

  /// Where these bytes lie among the constants, each content once.
  math::ObjectMemory constant(const void* data, size_t bytes);
  math::ObjectMemory constant(const Tensor& value);

 private:
  std::unordered_multimap<uint64_t, std::pair<size_t, size_t>> known_;  // places and sizes by hash
};

inline size_t object_aligned(size_t bytes) {
  return (bytes + math::kObjectAlign - 1) / math::kObjectAlign * math::kObjectAlign;
}

/// if, while, scan: rows of a table without works of their own.
bool is_control(const Op& op);

/// Where a program finds its surroundings.
struct ObjectFrame {
  std::vector<math::ObjectMemory> inputs;                  ///< of the graph's inputs; those that it holds are not read
  std::vector<std::optional<math::ObjectMemory>> outputs;  ///< of its outputs; none: nobody reads it there
  size_t arena = 0;                                        ///< free from here
};

/// Adds a plan to a table: a row for each of its works, behind a row of control flow those of its programs.
class ObjectPlan {
 public:
  ObjectPlan(ObjectTables& tables, const Executable& executable, ObjectFrame frame);
  /// Appends the rows of all steps, and of what brings results to their places.
  void add_rows();
  /// Appends a dense copy.
  void copy(const Tensor& layout, math::ObjectMemory from, math::ObjectMemory to);

 private:
  using Memory = math::ObjectMemory;
  using Memories = std::vector<math::ObjectMemory>;
  // What a call of the plan reads and writes.
  struct Operands {
    SmallVector<Tensor, 4> inputs;  // their layouts
    SmallVector<TensorType, 4> outputs;
    Memories of_input, of_output;
  };

  void place_storages();
  Memory memory_of(const Place& place) const;
  Operands operands_of(const Step& step);
  void add(const Step& step);
  void append(Works works, const Memories& inputs, const Memories& outputs);
  Memory temporary(size_t bytes);
  void missing(const ir::Node& node, std::string_view why);

  // object_control.cpp
  void add_control(const ir::Node& node, const Operands& operands);
  void add_branches(const ir::Node& node, const Operands& operands);
  void add_while(const ir::Node& node, const Operands& operands);
  void add_scan(const ir::Node& node, const Operands& operands);
  size_t begin_control();
  void end_control(size_t row, math::ObjectControl control, const std::vector<int64_t>& parts,
                   const std::vector<int64_t>& strides, Memories memory);
  int64_t add_part(const Executable& program, ObjectFrame frame);

  ObjectTables& tables_;
  const Plan& plan_;
  std::span<const OutputPlace> outputs_;
  ObjectFrame frame_;
  Memories storages_;
  size_t temporaries_at_ = 0, temporaries_used_ = 0;  // those of the step
};

}  // namespace hone::compiler
