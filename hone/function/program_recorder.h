// Records what control flow is given as a region. Internal to control flow.
#pragma once
#include <list>
#include <string>

#include "hone/function/structure.h"
#include "hone/function/variable.h"
#include "hone/ir/region.h"

namespace hone::control_detail {

/// "f32[2], made at file.cpp:3"
std::string described(const Tensor& x);
/// True where calls on concrete tensors are recorded, not computed.
bool recording();

/// Variables in the order in which programs assigned them.
using Assigned = std::vector<Variable>;

/// A region recorder that sees Variables: one that is read is an operand, one that is assigned keeps the value inside
/// until the program is over.
class ProgramRecorder final : public ir::RegionRecorder {
 public:
  explicit ProgramRecorder(std::shared_ptr<ir::Context> context) : RegionRecorder(std::move(context)) {}

  /// Calls the body on values of these types; its results stay here until finish.
  void record(std::span<const TensorType> types, function_detail::Body body, Location location);
  const std::vector<Tensor>& results() const { return results_; }
  const function_detail::Statics& structure() const { return structure_; }
  /// Adds what this program assigns.
  void add_assigned(Assigned& assigned) const;
  /// The program with the new values of `assigned` behind its first `before` results.
  ir::Graph finish(const Assigned& assigned, size_t before, Location location);
  /// The variable whose old value input i behind the declared ones is, if one is.
  const Variable* variable_at(size_t captured) const;
  size_t declared() const { return declared_; }

  void process(Call& call) override;
  void read_variable(const Variable& variable, Tensor& value) override;
  bool assign_variable(const Variable& variable, const Tensor& value) override;
  Tensor initial_value(const Tensor& value, Location location) override;

 private:
  struct Cell {
    Variable variable;
    size_t captured;
    Tensor now;
    bool assigned = false;
  };
  Cell& cell_of(const Variable& variable, const Tensor& outside);
  Cell& cell_of(const Variable& variable);

  size_t declared_ = 0;
  std::list<Cell> cells_;
  std::vector<Tensor> results_;
  function_detail::Statics structure_;
};

}  // namespace hone::control_detail
