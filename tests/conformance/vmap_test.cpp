// vmap of every op against a loop over the examples: values, gradients inside and outside, symbolic numbers of
// examples.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "hone/base/error.h"
#include "hone/function/tape.h"
#include "hone/function/vmap.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"
#include "hone/tensor/interpreter.h"
#include "tests/conformance/cases.h"

namespace hone::conformance {
namespace {

constexpr int64_t kExamples = 3;
using Mask = std::vector<bool>;

std::string to_string(const Mask& mask) {
  std::string text = "mapped:";
  for (size_t i = 0; i < mask.size(); ++i) text += mask[i] ? " " + std::to_string(i) : "";
  return text;
}

// All operands, each alone, all but the first, all but the last.
std::set<Mask> masks(size_t operands) {
  std::set<Mask> result;
  if (operands == 0) return result;
  result.insert(Mask(operands, true));
  for (size_t i = 0; i < operands; ++i) {
    Mask one(operands, false);
    one[i] = true;
    result.insert(one);
  }
  for (const size_t out : {size_t{0}, operands - 1}) {
    Mask others(operands, true);
    others[out] = false;
    if (operands > 1) result.insert(others);
  }
  return result;
}

// Operands by example, put together for vmap: one axis more where they are mapped.
struct Examples {
  std::vector<std::vector<Tensor>> each;  // [example][operand]
  std::vector<Tensor> physical;
  VmapAxes axes;

  Examples(const Case& c, std::span<const TensorType> types, const Mask& mask, bool last) {
    std::vector<TensorType> longer(types.begin(), types.end());
    std::vector<std::optional<int>> in_axes;
    for (size_t i = 0; i < mask.size(); ++i) {
      if (mask[i]) longer[i].shape.insert(0, kExamples);
      in_axes.push_back(mask[i] ? std::optional(last ? -1 : 0) : std::nullopt);
    }
    axes = in_axes;
    physical = draw(c, longer);
    each.resize(kExamples);
    for (size_t i = 0; i < mask.size(); ++i) {
      const std::vector<Tensor> parts = mask[i] ? unstack(physical[i]) : std::vector<Tensor>(kExamples, physical[i]);
      for (size_t e = 0; e < parts.size(); ++e) each[e].push_back(parts[e]);
      if (mask[i] && last) physical[i] = stack(parts, -1);
    }
  }
};

template <class F>
std::vector<Tensor> loop(const Examples& examples, F f, int out_axis) {
  std::vector<std::vector<Tensor>> results;
  for (const std::vector<Tensor>& inputs : examples.each) {
    const std::vector<Tensor> outputs = f(inputs);
    results.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) results[i].push_back(outputs[i]);
  }
  std::vector<Tensor> stacked;
  for (const std::vector<Tensor>& parts : results) stacked.push_back(stack(parts, out_axis));
  return stacked;
}

// Contractions may depend on the size of the batch. A composite that its rule does not serve is decomposed; with one
// mapped operand, the first, every rule serves.
double bound(const Op& op, const Mask& mask) {
  if (op.numerics == NumericsClass::Accumulating) return 2e-5;
  if (!op.decompose || op.elementwise >= 0) return 0;
  return op.batch && mask[0] && std::ranges::count(mask, true) == 1 ? 0 : 2e-5;
}

TEST(Vmap, OfEveryOpEqualsALoop) {
  int exact = 0, bounded = 0;
  for (const Case& c : cases()) {
    if (c.reads_values()) continue;
    for (const Mask& mask : masks(c.sample.inputs.size())) {
      for (const bool last : {false, true}) {
        SCOPED_TRACE(c.label() + "  " + to_string(mask) + (last ? ", last axis" : ""));
        try {
          const Examples examples(c, c.sample.inputs, mask, last);
          const auto f = [&](const std::vector<Tensor>& inputs) { return run(c, inputs); };
          const std::vector<Tensor> expected = loop(examples, f, last ? -1 : 0);
          const std::vector<Tensor> got =
              vmap(f, {.in_axes = examples.axes, .out_axes = last ? -1 : 0})(examples.physical);
          const double tolerance = bound(c.op, mask);
          ++(tolerance == 0 ? exact : bounded);
          EXPECT_EQ(tolerance == 0 ? difference(got, expected) : difference(got, expected, tolerance), "");
        } catch (const std::exception& error) {
          ADD_FAILURE() << error.what();
        }
      }
    }
  }
  EXPECT_GT(exact, 3000);
  EXPECT_GT(bounded, 500);
}

// The examples in two axes, one vmap for each: the outer one batches what the inner one's rule calls.
TEST(Vmap, OfVmapOfEveryOpEqualsOneOverAllExamples) {
  int checked = 0;
  for (const Case& c : cases()) {
    if (c.sample.inputs.empty()) continue;
    SCOPED_TRACE(c.label());
    std::vector<TensorType> types = c.sample.inputs;
    for (TensorType& type : types) type.shape.insert(0, 6);
    try {
      const std::vector<Tensor> flat = draw(c, types);
      std::vector<Tensor> nested;
      for (const Tensor& x : flat) {
        Shape shape = x.shape();
        shape[0] = 3;
        shape.insert(0, 2);
        nested.push_back(reshape(x, shape));
      }
      const auto f = [&](const std::vector<Tensor>& inputs) { return run(c, inputs); };
      const std::vector<Tensor> expected = vmap(f)(flat);
      std::vector<Tensor> got = vmap(vmap(f))(nested);
      for (size_t i = 0; i < got.size(); ++i) got[i] = reshape(got[i], expected[i].shape());
      EXPECT_EQ(difference(got, expected, 2e-5), "");
      ++checked;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  EXPECT_GT(checked, 900);
}

// Floating operands and results in f64, so that only rounding separates vmap from the loop.
std::vector<TensorType> wide(const Case& c) {
  std::vector<TensorType> types = c.sample.inputs;
  int64_t elements = 0;
  for (TensorType& type : types) {
    elements += type.shape.count();
    if (is_floating(type.dtype)) type.dtype = f64;
  }
  if (elements > 400 || !c.sample.differentiable || (!c.op.vjp && !c.op.decompose)) return {};
  if (types.empty() || (is_floating(types[0].dtype) && (c.op.dtypes & bit(f64)) == 0)) return {};
  return types;
}

// Gradients for the floating operands of the results weighted by noise; zeros where there is none.
std::vector<Tensor> gradients(const Case& c, const std::vector<Tensor>& inputs) {
  GradientTape tape({.watch_accessed_variables = false});
  std::vector<Tensor> sources, targets, cotangents, fresh;
  for (const Tensor& input : inputs) {
    fresh.push_back(identity(input));
    if (!is_floating(input.dtype())) continue;
    sources.push_back(fresh.back());
    tape.watch(sources.back());
  }
  for (const Tensor& result : run(c, fresh)) {
    if (!is_floating(result.dtype())) continue;
    cotangents.push_back(cast(noise(result.shape(), targets.size() + 5), result.dtype()));
    targets.push_back(result);
  }
  std::vector<Tensor> found = tape.gradient(targets, sources, cotangents);
  for (size_t i = 0; i < found.size(); ++i) found[i] = found[i].defined() ? found[i] : zeros_like(sources[i]);
  return found;
}

TEST(Vmap, OfTheGradientOfEveryOpEqualsALoop) {
  int checked = 0;
  for (const Case& c : cases()) {
    const std::vector<TensorType> types = wide(c);
    if (types.empty() || c.fixed_types()) continue;
    for (const Mask& mask : masks(types.size())) {
      SCOPED_TRACE(c.label() + "  " + to_string(mask));
      try {
        const Examples examples(c, types, mask, false);
        const auto f = [&](const std::vector<Tensor>& inputs) { return gradients(c, inputs); };
        const std::vector<Tensor> expected = loop(examples, f, 0);
        EXPECT_EQ(difference(vmap(f, {.in_axes = examples.axes})(examples.physical), expected, 1e-10), "");
        ++checked;
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
  EXPECT_GT(checked, 1500);
}

// With a tape outside, what is mapped gets the gradient of its example, what is shared the sum over examples.
TEST(Vmap, GradientsThroughEveryOpAreThoseOfALoop) {
  int checked = 0;
  for (const Case& c : cases()) {
    const std::vector<TensorType> types = wide(c);
    if (types.empty() || c.fixed_types()) continue;
    for (const Mask& mask : masks(types.size())) {
      SCOPED_TRACE(c.label() + "  " + to_string(mask));
      try {
        const Examples examples(c, types, mask, false);
        const std::vector<Tensor> inside =
            loop(examples, [&](const std::vector<Tensor>& inputs) { return gradients(c, inputs); }, 0);
        GradientTape tape({.watch_accessed_variables = false});
        std::vector<Tensor> sources, targets, cotangents, expected;
        for (size_t i = 0; i < types.size(); ++i) {
          if (!is_floating(types[i].dtype)) continue;
          const Tensor& mine = inside[sources.size()];
          expected.push_back(mask[i] ? mine : sum(mine, 0));
          sources.push_back(examples.physical[i]);
          tape.watch(sources.back());
        }
        const auto f = [&](const std::vector<Tensor>& inputs) { return run(c, inputs); };
        for (const Tensor& result : vmap(f, {.in_axes = examples.axes})(examples.physical)) {
          if (!is_floating(result.dtype())) continue;
          Shape one = result.shape();
          one.erase(0);
          cotangents.push_back(broadcast_to(cast(noise(one, targets.size() + 5), result.dtype()), result.shape()));
          targets.push_back(result);
        }
        std::vector<Tensor> found = tape.gradient(targets, sources, cotangents);
        for (size_t i = 0; i < found.size(); ++i) found[i] = found[i].defined() ? found[i] : zeros_like(sources[i]);
        EXPECT_EQ(difference(found, expected, 1e-10), "");
        ++checked;
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
  EXPECT_GT(checked, 1500);
}

// The last word of a trace: gives each call results that have types only.
class TypesOnly final : public Interpreter {
 public:
  TypesOnly() : scope_(nullptr) { push(); }
  ~TypesOnly() override { remove(); }
  void process(Call& call) override {
    std::vector<const TensorType*> inputs;
    for (const Tensor& input : call.inputs) inputs.push_back(&input.type());
    std::vector<TensorType> outputs(call.outputs.size());
    InferContext context(call.op, call.attrs, inputs, outputs, call.location);
    call.op.infer(context);
    for (size_t i = 0; i < outputs.size(); ++i) call.outputs[i] = Tensor::traced(outputs[i], *this, call.location);
  }

 private:
  InterpreterScope scope_;
};

TEST(Vmap, RulesWorkForASymbolicNumberOfExamples) {
  const Dim batch("batch");
  std::set<std::string_view> one_by_one;
  for (const Case& c : cases()) {
    if (c.reads_values()) continue;
    for (const Mask& mask : masks(c.sample.inputs.size())) {
      SCOPED_TRACE(c.label() + "  " + to_string(mask));
      const TypesOnly trace;
      std::vector<Tensor> inputs;
      std::vector<std::optional<int>> axes;
      for (size_t i = 0; i < mask.size(); ++i) {
        TensorType type = c.sample.inputs[i];
        if (mask[i]) type.shape.insert(0, batch);
        axes.push_back(mask[i] ? std::optional(0) : std::nullopt);
        inputs.push_back(Tensor::traced(type, trace, {}));
      }
      try {
        const std::vector<Tensor> got =
            vmap([&](const std::vector<Tensor>& x) { return run(c, x); }, {.in_axes = axes})(inputs);
        std::vector<TensorType> expected = inferred(c, c.sample.inputs);
        for (TensorType& type : expected) type.shape.insert(0, batch);
        EXPECT_EQ(types_of(got), expected);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kUnsupported) << error.what();
        one_by_one.insert(c.op.name);
      }
    }
  }
  // A random state or a host function for each example; groups of a convolution, whose number is an attribute.
  const std::set<std::string_view> expected = {"rng_bit_generator",      "custom_call", "convolution",
                                               "convolution_input_grad", "dropout",     "convolution_kernel_grad",
                                               "separable_conv"};
  EXPECT_EQ(one_by_one, expected);
}

}  // namespace
}  // namespace hone::conformance
