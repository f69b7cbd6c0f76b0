// Variable: state that a training step changes.
#pragma once
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "hone/tensor/tensor.h"

namespace hone {

struct VariableOptions {
  std::string name = "variable";
  bool trainable = true;
};

/// A named cell that holds a tensor of fixed type; copies share the cell. Reading it is an event that tapes and
/// recorders see. Not to be assigned from several threads at once.
class Variable {
 public:
  Variable() = default;
  /// Error kInvalidArgument for an undefined value.
  explicit Variable(const Tensor& value, VariableOptions options = {}, Location location = Location::current());

  bool defined() const { return static_cast<bool>(state_); }
  /// The current value. Error kFailedPrecondition where none was made, or it was taken.
  Tensor value() const;
  operator Tensor() const { return value(); }  // NOLINT: a variable stands for its value in every op

  const std::string& name() const { return state_->name; }
  void rename(std::string name) const { state_->name = std::move(name); }
  bool trainable() const { return state_->trainable; }
  void set_trainable(bool trainable) const { state_->trainable = trainable; }
  const TensorType& type() const { return state_->type; }
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  int64_t size() const { return shape().count(); }

  /// A new value of the same dtype and shape. Error kInvalidArgument otherwise.
  void assign(const Tensor& value, Location location = Location::current()) const;
  /// The old value plus (minus) what broadcasts to it. Error kInvalidArgument otherwise; the variable is then as it
  /// was.
  void assign_add(const Tensor& delta, Location location = Location::current()) const;
  void assign_sub(const Tensor& delta, Location location = Location::current()) const;

  /// Takes the value out so that an update may reuse its memory; put a value back with assign before anyone reads.
  /// While a tape or another interpreter is active on this thread, the same as value().
  Tensor take() const;

  /// Identity of the cell, which no later one gets; null for none. Not an address.
  const void* key() const { return state_ ? std::bit_cast<const void*>(state_->serial) : nullptr; }
  friend bool operator==(const Variable& a, const Variable& b) { return a.key() == b.key(); }

 private:
  void check_made() const;
  void check_delta(const Tensor& delta, Location location) const;
  struct State : RefCounted<State> {
    Tensor value;
    TensorType type;
    std::string name;
    bool trainable = true;
    uintptr_t serial = 0;
    static void destroy(State* state) { delete state; }
  };
  Ref<State> state_;
};

}  // namespace hone
