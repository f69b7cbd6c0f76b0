#include "hone/ops/custom_gradient.h"

#include <fmt/format.h>

#include <memory>

#include "hone/base/error.h"
#include "hone/ops/family.h"
#include "hone/ops/table.h"
#include "hone/ops/views.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

struct BackwardAttrs {
  std::shared_ptr<Backward> backward;
  template <class V>
  void visit(V& v) {
    auto identity = static_cast<int64_t>(reinterpret_cast<intptr_t>(backward.get()));
    v.field("backward", identity);
  }
};

// The cotangent of the value goes to the input, which the value need not depend on: no differences to check it against.
std::vector<Sample> custom_gradient_samples() {
  const auto pass = std::make_shared<Backward>([](const Tensor& cotangent) { return std::vector{cotangent}; });
  return {{.inputs = {{f32, {2, 3}}, {f32, {2, 3}}}, .attrs = Attrs(BackwardAttrs{pass}), .differentiable = false}};
}

}  // namespace

// Operands: the inputs, then the value; the result is the value.
constinit const Op ops::custom_gradient = [] {
  Op op;
  op.name = name(OpId::custom_gradient);
  op.index = static_cast<int>(OpId::custom_gradient);
  op.doc = "a value with a gradient of the program's own";
  op.operands = "x value";
  op.op_class = OpClass::View;
  op.attrs = &attr_type<BackwardAttrs>();
  op.max_inputs = -1;
  op.cost = family::movement_cost;
  op.transparent = true;
  op.samples = custom_gradient_samples;
  op.infer = [](InferContext& c) { c.out() = c.in(c.inputs() - 1); };
  op.view = [](const Call& call, std::span<const TensorType> types) {
    call.outputs[0] = alias_as(call.inputs.back(), types[0]);
    return true;
  };
  op.batch = [](BatchContext& c) {
    TensorList inputs;
    for (int i = 0; i + 1 < c.inputs(); ++i) inputs.push_back(c.in(i));
    inputs.push_back(c.stacked(c.inputs() - 1));
    const BackwardAttrs attrs{std::make_shared<Backward>(c.lifted(*c.attrs_as<BackwardAttrs>().backward))};
    batch::call(c, attrs, {inputs.data(), inputs.size()});
    return true;
  };
  op.vjp = [](VjpContext& c) {
    const std::vector<Tensor> gradients = (*c.attrs_as<BackwardAttrs>().backward)(c.ct());
    if (static_cast<int>(gradients.size()) != c.inputs() - 1) {
      throw Error(Code::kInvalidArgument, {.what = fmt::format("a custom gradient gave {} gradients for {} inputs",
                                                               gradients.size(), c.inputs() - 1),
                                           .location = LocationScope::resolve({}),
                                           .fix = "return one for each input; Tensor() stands for zero"});
    }
    for (int i = 0; i < c.inputs() - 1; ++i) {
      const Tensor& gradient = gradients[static_cast<size_t>(i)];
      if (gradient.defined() && !(gradient.type() == c.in_type(i))) {
        throw Error(Code::kInvalidArgument,
                    {.what = fmt::format("a custom gradient gave {} for input {}, which is {}",
                                         to_string(gradient.type()), i, to_string(c.in_type(i))),
                     .location = LocationScope::resolve({}),
                     .fix = "return a gradient of the input's dtype and shape"});
      }
      c.set(i, gradient);
    }
  };
  return op;
}();

Tensor attach_gradient(const std::vector<Tensor>& inputs, const Tensor& value, Backward backward) {
  std::vector<Tensor> operands = inputs;
  operands.push_back(value);
  return dispatch(ops::custom_gradient, BackwardAttrs{std::make_shared<Backward>(std::move(backward))}, operands, {});
}

}  // namespace hone
