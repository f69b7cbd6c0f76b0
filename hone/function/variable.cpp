#include "hone/function/variable.h"

#include <fmt/format.h>

#include <atomic>

#include "hone/base/error.h"
#include "hone/ops/elementwise.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

// A tensor that other handles see gets an identity of its own: tapes tell variables apart by the ids of their values.
Tensor own(const Tensor& value) {
  const Tensor dense = value.dense();
  return dense.impl()->unique() ? dense : dense.alias(dense.type());
}

}  // namespace

Variable::Variable(const Tensor& value, VariableOptions options, Location location) : state_(new State) {
  if (!value.defined()) throw Error(Code::kInvalidArgument, {.what = "a variable needs a value", .location = location});
  state_->value = own(has_interpreters() || !value.concrete() ? dispatch_initial(value, location) : value);
  state_->type = value.type();
  state_->name = std::move(options.name);
  state_->trainable = options.trainable;
  static std::atomic<uintptr_t> serials{0};
  state_->serial = serials.fetch_add(1, std::memory_order_relaxed) + 1;
}

Tensor Variable::value() const {
  check_made();
  if (!state_->value.defined()) {
    throw Error(Code::kFailedPrecondition,
                fmt::format("reading variable '{}' after take() and before assign()", state_->name),
                "put the updated value back with assign()");
  }
  Tensor value = state_->value;
  dispatch_read(*this, value);
  return value;
}

void Variable::assign(const Tensor& value, Location location) const {
  check_made();
  if (!value.defined() || !(value.type() == state_->type)) {
    throw Error(Code::kInvalidArgument,
                {.what = fmt::format("cannot assign {} to variable '{}'",
                                     value.defined() ? to_string(value.type()) : "nothing", state_->name),
                 .location = location,
                 .details = {"expected: " + to_string(state_->type)},
                 .fix = "a variable keeps its dtype and shape; make a new one for another"});
  }
  const LocationScope scope(location);  // for entries that refuse
  if (dispatch_assign(*this, value)) return;
  if (!value.concrete()) fail_traced(value, location);
  state_->value = own(value);
}

// The old value is given away for its memory, so what cannot be added is refused before.
void Variable::check_delta(const Tensor& delta, Location location) const {
  check_made();
  Shape shape;
  if (delta.defined() && promote(dtype(), delta.dtype()) == dtype() &&
      broadcast_shapes(this->shape(), delta.shape(), shape) && shape == this->shape())
    return;
  throw Error(Code::kInvalidArgument,
              {.what = fmt::format("cannot add {} to variable '{}'",
                                   delta.defined() ? to_string(delta.type()) : "nothing", state_->name),
               .location = location,
               .details = {"expected: " + to_string(state_->type) + ", or what broadcasts to it"},
               .fix = "convert the change to the variable's dtype and reduce it to its shape"});
}

void Variable::assign_add(const Tensor& delta, Location location) const {
  check_delta(delta, location);
  assign(add({take(), location}, {delta, location}), location);
}
void Variable::assign_sub(const Tensor& delta, Location location) const {
  check_delta(delta, location);
  assign(subtract({take(), location}, {delta, location}), location);
}

void Variable::check_made() const {
  if (state_) return;
  throw Error(Code::kFailedPrecondition, "a variable that was never made is read or assigned",
              "build the layer or construct the Variable first");
}

// An interpreter may show another value, or keep what is assigned: then the cell must not be left empty.
Tensor Variable::take() const { return has_interpreters() ? value() : std::exchange(state_->value, Tensor()); }

}  // namespace hone
