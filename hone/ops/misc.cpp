#include "hone/ops/misc.h"

#include <fmt/format.h>

#include <cstdio>
#include <deque>
#include <mutex>
#include <optional>

#include "hone/base/error.h"
#include "hone/ops/creation.h"
#include "hone/ops/family.h"
#include "hone/ops/movement.h"
#include "hone/ops/promote.h"
#include "hone/ops/views.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

struct HostEntry {
  Tensor (*run)(const HostEntry& entry, const Call& call);
  HostFunction function{};
  std::optional<TensorType> result{};  ///< none: operand 0 itself, and its gradient
};

Tensor run_print(const HostEntry&, const Call& call) {
  const std::string& text = call.attrs.as<CustomCallAttrs>().text;
  const std::string line = (text.empty() ? "" : text + ": ") + to_string(call.inputs[0]) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  return call.inputs[0];
}

Tensor run_check(const HostEntry&, const Call& call) {
  const Tensor& x = call.inputs[0];
  const Tensor holds = cast({x, call.location}, bool_);
  int64_t failed = 0, first = -1, i = 0;
  for (bool each : holds.data<bool>()) {
    if (!each && failed++ == 0) first = i;
    ++i;
  }
  if (failed == 0) return x;
  throw Error(Code::kFailedPrecondition,
              {.what = "check failed: " + call.attrs.as<CustomCallAttrs>().text,
               .location = call.location,
               .details = {fmt::format("x: {}, false at {} of {} elements, first at flat index {}", to_string(x.type()),
                                       failed, x.size(), first)}});
}

Tensor run_function(const HostEntry& entry, const Call& call) {
  Tensor result = entry.function(call.inputs);
  if (result.defined() && result.type() == *entry.result) return result;
  throw Error(Code::kInvalidArgument,
              {.what = "a host function returned another type than it was registered with",
               .location = call.location,
               .details = {fmt::format("expected: {}, got: {}", to_string(*entry.result),
                                       result.defined() ? to_string(result.type()) : "an undefined tensor")},
               .fix = "return a tensor of the type passed as `result`"});
}

// Append-only; entries stay where they are.
class Registry {
 public:
  static constexpr int64_t kPrint = 0, kCheck = 1;
  static Registry& get() {
    static auto* registry = new Registry;
    return *registry;
  }
  int64_t add(HostEntry entry) {
    const std::lock_guard lock(mutex_);
    entries_.push_back(std::move(entry));
    return static_cast<int64_t>(entries_.size()) - 1;
  }
  const HostEntry* find(int64_t index) {
    const std::lock_guard lock(mutex_);
    return index >= 0 && index < static_cast<int64_t>(entries_.size()) ? &entries_[static_cast<size_t>(index)]
                                                                       : nullptr;
  }

 private:
  Registry() : entries_{{.run = run_print}, {.run = run_check}} {}
  std::mutex mutex_;
  std::deque<HostEntry> entries_;
};

void infer_custom_call(InferContext& c) {
  const auto& attrs = c.attrs<CustomCallAttrs>();
  const HostEntry* entry = Registry::get().find(attrs.function);
  if (!entry) {
    c.fail("unknown host function",
           fmt::format("index {} (target '{}') is not registered in this process", attrs.function, attrs.target),
           "register it first: register_host_function(...)");
  }
  if (!entry->result && c.inputs() < 1) c.fail("missing operand", fmt::format("'{}' takes a tensor", attrs.target));
  c.out() = entry->result ? *entry->result : c.in(0);
}

bool run_custom_call(const Call& call, std::span<const TensorType> types) {
  const HostEntry& entry = *Registry::get().find(call.attrs.as<CustomCallAttrs>().function);
  // An alias: the result is a value of its own also where it is an operand.
  call.outputs[0] = alias_as(entry.run(entry, call), types[0]);
  return true;
}

void vjp_custom_call(VjpContext& c) {
  const auto& attrs = c.attrs_as<CustomCallAttrs>();
  if (!Registry::get().find(attrs.function)->result) return c.set(0, c.ct());
  throw Error(Code::kUnsupported, fmt::format("a host function ('{}') has no gradient", attrs.target),
              "wrap the call in custom_gradient, or pass it stop_gradient(x)");
}

std::vector<Sample> custom_call_samples() {
  return {{.inputs = {{f32, {2, 3}}},
           .attrs = Attrs(CustomCallAttrs{"check", "x is positive", Registry::kCheck, true}),
           .low = 1,
           .high = 2}};
}

void infer_dimension_size(InferContext& c) {
  const int64_t axis = c.attrs<AxisAttrs>().axis;
  if (axis < 0 || axis >= c.shape(0).rank()) {
    c.fail("invalid axis", fmt::format("axis {} of a tensor of rank {}", axis, c.shape(0).rank()), "name an axis of x");
  }
  c.out() = {i32, {}};
}

Tensor call_host(int64_t function, const char* target, std::string text, std::span<const Tensor> inputs, bool effect,
                 Location location) {
  TensorList operands;
  for (const Tensor& input : inputs) operands.push_back(input);
  const CustomCallAttrs attrs{target, std::move(text), function, effect};
  return dispatch(ops::custom_call, attrs, {operands.data(), operands.size()}, location);
}

}  // namespace

constinit const Op ops::custom_call =
    family::define(OpId::custom_call, OpClass::Effect,
                   {
                       .doc = "a function of the host, by the index under which it was registered",
                       .operands = "x",
                       .attrs = &attr_type<CustomCallAttrs>(),
                       .min_inputs = 0,
                       .max_inputs = -1,
                       .infer = infer_custom_call,
                       .vjp = vjp_custom_call,
                       .view = run_custom_call,
                       .effects = [](AttrRef attrs) { return attrs.as<CustomCallAttrs>().effect; },
                       .samples = custom_call_samples,
                   });

constinit const Op ops::get_dimension_size = family::define(
    OpId::get_dimension_size, OpClass::View,
    {
        .doc = "the extent of an axis as an i32 scalar",
        .operands = "x",
        .attrs = &attr_type<AxisAttrs>(),
        .infer = infer_dimension_size,
        .batch =
            [](BatchContext& c) {
              const AxisAttrs attrs = batch::lead(c.attrs_as<AxisAttrs>(), c.size());
              c.set(0, call_op(ops::get_dimension_size, attrs, {}, c.in(0)), false);
              return true;
            },
        .view =
            [](const Call& call, std::span<const TensorType>) {
              call.outputs[0] =
                  Tensor(static_cast<int32_t>(call.inputs[0].shape()[call.attrs.as<AxisAttrs>().axis].number()));
              return true;
            },
        .samples =
            [] {
              return std::vector<Sample>{
                  {.inputs = {{f32, {2, 3}}}, .attrs = Attrs(AxisAttrs{1}), .differentiable = false},
                  {.inputs = {{f32, {0}}}, .attrs = Attrs(AxisAttrs{0}), .differentiable = false}};
            },
    });

int64_t register_host_function(HostFunction function, const TensorType& result) {
  return Registry::get().add({.run = run_function, .function = std::move(function), .result = result});
}

Tensor host_callback(int64_t function, std::span<const Tensor> inputs, bool effect, Location location) {
  return call_host(function, "host_callback", {}, inputs, effect, location);
}

Tensor host_callback(HostFunction function, std::span<const Tensor> inputs, const TensorType& result, bool effect,
                     Location location) {
  return host_callback(register_host_function(std::move(function), result), inputs, effect, location);
}

Tensor print(Operand x, std::string text) {
  const Location location = x.location;
  const Tensor value = to_tensor(std::move(x));
  return call_host(Registry::kPrint, "print", std::move(text), {&value, 1}, true, location);
}

Tensor check(Operand x, std::string message) {
  const Location location = x.location;
  const Tensor value = to_tensor(std::move(x));
  return call_host(Registry::kCheck, "check", std::move(message), {&value, 1}, true, location);
}

Tensor dimension_size(Operand x, int axis) {
  const Location location = x.location;
  Tensor value = to_tensor(std::move(x));
  const AxisAttrs attrs{checked_axis(value.shape(), axis, "dimension_size", location)};
  return call_op(ops::get_dimension_size, attrs, location, std::move(value));
}

}  // namespace hone
