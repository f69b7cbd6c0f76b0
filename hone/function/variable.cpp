#include "hone/function/variable.h"

#include <fmt/format.h>

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
  state_->value = own(value);
  state_->type = value.type();
  state_->name = std::move(options.name);
  state_->trainable = options.trainable;
}

Tensor Variable::value() const {
  if (!state_)
    throw Error(Code::kFailedPrecondition, "reading a variable that was never made",
                "build the layer or construct the Variable first");
  Tensor value = state_->value;
  dispatch_read(key(), state_->trainable, value);
  return value;
}

void Variable::assign(const Tensor& value, Location location) const {
  if (!(value.type() == state_->type)) {
    throw Error(Code::kInvalidArgument,
                {.what = fmt::format("cannot assign {} to variable '{}'",
                                     value.defined() ? to_string(value.type()) : "nothing", state_->name),
                 .location = location,
                 .details = {"expected: " + to_string(state_->type)},
                 .fix = "a variable keeps its dtype and shape; make a new one for another"});
  }
  if (!dispatch_assign(key(), value)) state_->value = own(value);
}

void Variable::assign_add(const Tensor& delta, Location location) const {
  assign(add({take(), location}, {delta, location}), location);
}
void Variable::assign_sub(const Tensor& delta, Location location) const {
  assign(subtract({take(), location}, {delta, location}), location);
}

Tensor Variable::take() const { return std::exchange(state_->value, Tensor()); }

}  // namespace hone
