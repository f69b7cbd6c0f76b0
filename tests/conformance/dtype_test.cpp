// Every op runs in each dtype that it names.
#include <gtest/gtest.h>

#include "hone/base/error.h"
#include "hone/ops/creation.h"
#include "tests/conformance/cases.h"

namespace hone::conformance {
namespace {

TEST(DTypes, EveryOpServesThoseItNames) {
  int runs = 0;
  for (const Case& c : cases()) {
    if (c.number > 1 || c.sample.inputs.empty() || c.op.op_class == OpClass::Effect || c.fixed_types()) continue;
    for (int t = 0; t < kDTypes; ++t) {
      const auto dtype = static_cast<DType>(t);
      if ((c.op.dtypes & bit(dtype)) == 0) continue;
      SCOPED_TRACE(c.label() + " in " + std::string(name(dtype)));
      const std::vector<TensorType> types = retyped(c, dtype);
      // Another width needs another shape.
      if (&c.op == &ops::bitcast_convert && size_of(dtype) != size_of(c.sample.inputs[0].dtype)) continue;
      try {
        const std::vector<Tensor> results = run(c, draw(c, types));
        const std::vector<TensorType> expected = inferred(c, types);
        for (size_t k = 0; k < results.size(); ++k) EXPECT_EQ(to_string(results[k].type()), to_string(expected[k]));
        ++runs;
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
  EXPECT_GT(runs, 800);
}

// A primitive of a 16-bit type computes in f32 and rounds once.
TEST(DTypes, SixteenBitElementwiseOpsRoundOnce) {
  int runs = 0;
  for (const Case& c : cases()) {
    if (c.op.op_class != OpClass::Elementwise || !is_floating(c.sample.inputs.back().dtype)) continue;
    for (const DType narrow : {f16, bf16}) {
      if (is_floating(c.sample.inputs[0].dtype) && (c.op.dtypes & bit(narrow)) == 0) continue;
      std::vector<TensorType> types = c.sample.inputs;
      for (TensorType& type : types) type.dtype = is_floating(type.dtype) ? narrow : type.dtype;
      const std::vector<Tensor> inputs = draw(c, types);
      std::vector<Tensor> wide = inputs;
      for (Tensor& x : wide) x = is_floating(x.dtype()) ? cast(x, f32) : x;
      std::vector<Tensor> expected = run(c, wide);
      expected[0] = cast(expected[0], inferred(c, types)[0].dtype);
      EXPECT_EQ(difference(run(c, inputs), expected), "") << c.label() << " in " << name(narrow);
      ++runs;
    }
  }
  EXPECT_GT(runs, 1000);
}

// Sizes are where vector code ends and the tail begins: 16-bit and 8-bit types have other widths than f32.
TEST(DTypes, ElementwiseOpsDoTheSameAtAnyLength) {
  for (const Case& c : cases()) {
    if (c.op.op_class != OpClass::Elementwise || c.sample.inputs[0].shape != Shape{17}) continue;
    for (int t = 0; t < kDTypes; ++t) {
      const auto dtype = static_cast<DType>(t);
      if ((c.op.dtypes & bit(dtype)) == 0) continue;
      std::vector<TensorType> types = retyped(c, dtype);
      for (TensorType& type : types) type.shape = {131};
      const std::vector<Tensor> inputs = draw(c, types);
      const Tensor whole = run(c, inputs)[0];
      for (const int64_t length : {1, 3, 8, 15, 31, 33, 63, 65, 130}) {
        std::vector<Tensor> parts;
        for (const Tensor& x : inputs) parts.push_back(x[slice(0, length)].dense());
        EXPECT_EQ(difference(run(c, parts), std::vector{whole[slice(0, length)]}), "")
            << c.label() << " in " << name(dtype) << ", length " << length;
      }
    }
  }
}

}  // namespace
}  // namespace hone::conformance
