#include "hone/function/vmap.h"

#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/function/variable.h"
#include "hone/ops/batch.h"
#include "hone/ops/creation.h"
#include "hone/ops/kernel.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"
#include "hone/tensor/donation.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

TensorType with_axis(const TensorType& type, Dim size) {
  TensorType physical = type;
  physical.shape.insert(0, size);
  return physical;
}

Tensor repeated(const Tensor& x, Dim size) {
  Ints axes;
  for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis + 1);
  return broadcast_in_dim(x, with_axis(x.type(), size).shape, axes);
}

std::vector<TensorType> infer(const Call& call) {
  std::vector<const TensorType*> inputs;
  for (const Tensor& input : call.inputs) inputs.push_back(&input.type());
  std::vector<TensorType> outputs(call.outputs.size());
  InferContext context(call.op, call.attrs, inputs, outputs, call.location);
  call.op.infer(context);
  return outputs;
}

}  // namespace

namespace vmap_detail {

/// The interpreter. A value that is mapped is known to the program by its type for one example; the value itself, with
/// the examples along axis 0, is held by the handle, which also keeps the interpreter: gradients may come back later.
class Mapping final : public Interpreter, public std::enable_shared_from_this<Mapping> {
 public:
  explicit Mapping(Dim size) : size_(size) {}
  Dim size() const { return size_; }

  /// The value for one example that stands for `physical`.
  Tensor mapped(const Tensor& physical, Location made) const {
    TensorType type = physical.type();
    type.shape.erase(0);
    return Tensor::traced(type, *this, made, std::make_shared<Held>(physical, shared_from_this()));
  }
  /// What a value stands for; null for one that is not mapped here.
  const Tensor* physical(const Tensor& value) const {
    if (value.concrete() || is_donated(value)) return nullptr;
    const auto* const impl = static_cast<const TracedImpl*>(value.impl());
    if (impl->owner != identity() || !impl->held) return nullptr;
    return &static_cast<const Held*>(impl->held.get())->physical;
  }

  void process(Call& call) override;

  bool assign_variable(const Variable& variable, const Tensor& value) override {
    if (!physical(value)) return false;
    throw Error(
        Code::kFailedPrecondition,
        {.what = fmt::format("variable '{}' is assigned another value for each example", variable.name()),
         .location = LocationScope::resolve({}),
         .details = {fmt::format("value: {}, under vmap over {} examples", to_string(value.type()), to_string(size_))},
         .fix = "return the value and assign it outside, or reduce it over the examples there"});
  }
  HostRead host_read() const override {
    return {"a value under vmap is read on the host",
            "the function runs once for all examples, so there is no one value to read",
            "select with where(condition, a, b) instead of branching, show it with print, or return it"};
  }

 private:
  friend class Rule;
  struct Held {
    Tensor physical;
    std::shared_ptr<const Mapping> owner;
  };
  Dim size_;
};

class Rule final : public BatchContext {
 public:
  Rule(Mapping& mapping, Call& call, std::vector<TensorType> types)
      : mapping_(mapping), call_(call), types_(std::move(types)) {
    for (const Tensor& input : call.inputs) {
      const Tensor* physical = mapping.physical(input);
      inputs_.push_back(physical ? *physical : input);
    }
  }
  const Call& call() const override { return call_; }
  const Tensor& in(int i) const override { return inputs_[static_cast<size_t>(i)]; }
  Tensor stacked(int i) const override { return mapped(i) ? in(i) : repeated(in(i), size()); }
  const TensorType& out_type(int i) const override { return types_[static_cast<size_t>(i)]; }
  Dim size() const override { return mapping_.size(); }

  void set(int i, Tensor result, bool mapped) override {
    const TensorType expected = mapped ? with_axis(out_type(i), size()) : out_type(i);
    if (!(result.type() == expected)) {
      throw Error(Code::kInternal,
                  {.what = fmt::format("the batching rule of {} gives {} for result {}, which is {}", call_.op.name,
                                       to_string(result.type()), i, to_string(expected)),
                   .location = call_.location});
    }
    call_.outputs[static_cast<size_t>(i)] = mapped ? mapping_.mapped(result, call_.location) : std::move(result);
  }

  bool decompose(void (*rule)(const Call&)) override {
    const InterpreterScope again(&mapping_);
    hone::decompose(call_, rule);
    return true;
  }

  Function lifted(Function function) const override {
    std::vector<bool> mapped_inputs;
    for (int i = 0; i < inputs(); ++i) mapped_inputs.push_back(mapped(i));
    return [mapping = mapping_.shared_from_this(), function = std::move(function), mapped_inputs](const Tensor& x) {
      std::vector<Tensor> results = inside(*mapping, function, x);
      for (size_t i = 0; i < results.size() && i < mapped_inputs.size(); ++i) {
        Tensor& result = results[i];
        if (!result.defined()) continue;
        const Tensor* physical = mapping->physical(result);
        result = physical ? *physical : repeated(result, mapping->size());
        if (!mapped_inputs[i]) result = call_op(ops::reduce_sum, AxesAttrs{{0}}, {}, result);
      }
      return results;
    };
  }

  std::vector<Tensor> call_mapped(const Program& program, std::span<const Tensor> physical,
                                  std::vector<bool>& mapped) const override {
    const auto inner = std::make_shared<Mapping>(size());
    std::vector<Tensor> values;
    for (size_t i = 0; i < physical.size(); ++i)
      values.push_back(mapped[i] ? inner->mapped(physical[i], call_.location) : physical[i]);
    inner->push();
    std::vector<Tensor> results = program(values);
    inner->remove();
    mapped.assign(results.size(), false);
    for (size_t i = 0; i < results.size(); ++i) {
      if (const Tensor* whole = inner->physical(results[i])) results[i] = Tensor(*whole), mapped[i] = true;
    }
    return results;
  }

 private:
  static std::vector<Tensor> inside(Mapping& mapping, const Function& function, const Tensor& x) {
    struct Inside {
      explicit Inside(Mapping& m) : mapping(m) { mapping.push(); }
      ~Inside() { mapping.remove(); }
      Inside(const Inside&) = delete;
      Inside& operator=(const Inside&) = delete;
      Mapping& mapping;
    };
    const Tensor value = mapping.mapped(x, LocationScope::resolve({}));
    if (mapping.active()) {
      const InterpreterScope scope(&mapping);
      return function(value);
    }
    const Inside scope(mapping);
    return function(value);
  }

  Mapping& mapping_;
  Call& call_;
  std::vector<TensorType> types_;
  std::vector<Tensor> inputs_;
};

void Mapping::process(Call& call) {
  bool any = false;
  for (const Tensor& input : call.inputs) any = any || physical(input) != nullptr;
  if (!any) return pass_on(call);
  Rule rule(*this, call, infer(call));
  bool done = false;
  {
    const InterpreterScope rest(below());
    const LocationScope location(call.location);
    if (size_ == Dim(0)) {
      for (int i = 0; i < rule.outputs(); ++i) {
        const TensorType type = with_axis(rule.out_type(i), 0);
        rule.set(i, zeros(type.shape, type.dtype), true);
      }
      return;
    }
    done = call.op.batch && call.op.batch(rule);
    if (!done && !call.op.decompose) done = batch::each(rule);
  }
  if (!done) rule.decompose(call.op.decompose);
}

namespace {

[[noreturn]] void fail(Location location, std::string what, std::vector<std::string> details, std::string fix) {
  throw Error(Code::kInvalidArgument,
              {.what = std::move(what), .location = location, .details = std::move(details), .fix = std::move(fix)});
}

std::string described(const Tensor& argument, size_t i, std::optional<int> axis) {
  const std::string text = fmt::format("argument {}: {}, ", i, to_string(argument.type()));
  if (!axis) return text + "not mapped";
  const bool exists = *axis >= -argument.rank() && *axis < argument.rank();
  return text + fmt::format("axis {}", *axis) +
         (exists ? fmt::format(" has {}", to_string(argument.shape().dim(*axis))) : "");
}

std::vector<std::string> described(std::span<const Tensor> arguments, const VmapAxes& axes) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < arguments.size(); ++i) lines.push_back(described(arguments[i], i, axes[i]));
  return lines;
}

// The axes of the arguments, each in [0, rank).
std::vector<std::optional<int>> checked_axes(std::span<const Tensor> arguments, const VmapAxes& axes,
                                             Location location) {
  if (axes.is_list() && axes.size() != arguments.size()) {
    fail(location, "in_axes of vmap does not fit the arguments",
         {fmt::format("in_axes has {} entries, the function got {} arguments", axes.size(), arguments.size())},
         "give one entry for each argument (kUnmapped where it has no examples), or one axis for all");
  }
  std::vector<std::optional<int>> result;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Tensor& argument = arguments[i];
    if (!argument.defined()) {
      fail(location, fmt::format("argument {} of vmap is an undefined tensor", i), {},
           "set the tensor before the call (Tensor() holds nothing)");
    }
    const std::optional<int> axis = axes[i];
    if (axis && argument.rank() == 0) {
      fail(location, fmt::format("argument {} of vmap is a scalar, so it has no axis to map", i),
           {described(argument, i, axis)}, "pass in_axes with kUnmapped for it, or give it an axis of examples");
    }
    if (axis && (*axis < -argument.rank() || *axis >= argument.rank())) {
      fail(location, fmt::format("in_axes of vmap: axis {} is out of range for argument {}", *axis, i),
           {described(argument, i, axis)},
           fmt::format("use an axis in [{}, {}]", -argument.rank(), argument.rank() - 1));
    }
    result.push_back(axis && *axis < 0 ? *axis + argument.rank() : axis);
  }
  return result;
}

Dim checked_size(std::span<const Tensor> arguments, const std::vector<std::optional<int>>& axes,
                 const VmapOptions& options, Location location) {
  std::optional<Dim> size;
  if (options.axis_size) size = Dim(*options.axis_size);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!axes[i]) continue;
    const Dim extent = arguments[i].shape()[static_cast<size_t>(*axes[i])];
    if (size && !(*size == extent)) {
      std::vector<std::string> details = described(arguments, options.in_axes);
      if (options.axis_size) details.push_back(fmt::format("axis_size: {}", *options.axis_size));
      fail(location, "the mapped axes of vmap have different sizes", std::move(details),
           "each mapped argument has one entry for each example; pass kUnmapped for what all examples share");
    }
    size = extent;
  }
  if (!size) {
    fail(location, "vmap maps no argument", described(arguments, options.in_axes),
         "name the axis of the examples of at least one argument in in_axes, or give axis_size");
  }
  if (size->is_number() && size->number() < 0) {
    fail(location, fmt::format("axis_size of vmap is {}", size->number()), {}, "give a number of examples >= 0");
  }
  return *size;
}

}  // namespace

Trace::Trace(std::span<const Tensor> arguments, const VmapOptions& options, Location location)
    : out_axes_(options.out_axes), location_(LocationScope::resolve(location)) {
  const std::vector<std::optional<int>> axes = checked_axes(arguments, options.in_axes, location_);
  mapping_ = std::make_shared<Mapping>(checked_size(arguments, axes, options, location_));
  for (size_t i = 0; i < arguments.size(); ++i) {
    inputs_.push_back(axes[i] ? mapping_->mapped(batch::moved(arguments[i], *axes[i], 0), location_) : arguments[i]);
  }
  mapping_->push();
}

Trace::~Trace() { leave(); }

void Trace::leave() {
  if (mapping_->active()) mapping_->remove();
  inputs_.clear();
}

Tensor Trace::output(const Tensor& result, size_t i, size_t count) const {
  if (out_axes_.is_list() && out_axes_.size() != count) {
    fail(location_, "out_axes of vmap does not fit the results",
         {fmt::format("out_axes has {} entries, the function returned {} tensors", out_axes_.size(), count)},
         "give one entry for each result, or one axis for all");
  }
  if (!result.defined()) {
    fail(location_, fmt::format("result {} of a function under vmap is an undefined tensor", i), {},
         "return a tensor (Tensor() holds nothing)");
  }
  const std::optional<int> axis = out_axes_[i];
  const Tensor* physical = mapping_->physical(result);
  if (!axis) {
    if (!physical) return result;
    fail(location_, fmt::format("result {} of vmap differs between examples, but out_axes says it does not", i),
         {fmt::format("result {}: {} for each of {} examples", i, to_string(result.type()),
                      to_string(mapping_->size()))},
         "name the axis where the examples go in out_axes, or reduce over the examples outside");
  }
  const int rank = result.rank() + 1;
  if (*axis < -rank || *axis >= rank) {
    fail(location_, fmt::format("out_axes of vmap: axis {} is out of range for result {}", *axis, i),
         {fmt::format("result {}: {} for each example", i, to_string(result.type()))},
         fmt::format("use an axis in [{}, {}]", -rank, rank - 1));
  }
  return batch::moved(physical ? *physical : repeated(result, mapping_->size()), 0, *axis < 0 ? *axis + rank : *axis);
}

}  // namespace vmap_detail
}  // namespace hone
