// The kernels of the CPU against the plain loops of the reference back end.
#include <gtest/gtest.h>

#include "hone/base/settings.h"
#include "tests/conformance/cases.h"

namespace hone::conformance {
namespace {

// What a kernel may differ from the reference by, relative to the largest element of the result. 0: not in any bit.
double bound(const Op& op) {
  const bool exact_class = op.op_class == OpClass::Elementwise || op.op_class == OpClass::Movement ||
                           op.op_class == OpClass::View || op.op_class == OpClass::Creation ||
                           op.op_class == OpClass::Reduction || op.op_class == OpClass::Random;
  // Elementwise composites have a kernel of their own; the reference computes them by their decomposition.
  if (op.decompose) return 2e-5;
  return exact_class && op.numerics != NumericsClass::Accumulating ? 0 : 2e-5;
}

TEST(Reference, AgreesWithTheCpuOnEverySample) {
  int exact = 0;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.label());
    try {
      const std::vector<Tensor> inputs = draw(c), got = run(c, inputs);
      std::vector<Tensor> expected;
      {
        const ReferenceKernels reference;
        expected = run(c, inputs);
      }
      const double tolerance = bound(c.op);
      exact += tolerance == 0;
      EXPECT_EQ(tolerance == 0 ? difference(got, expected) : difference(got, expected, tolerance), "");
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  EXPECT_GT(exact, 700);
}

TEST(Reference, RepeatedRunsGiveTheSameBits) {
  for (const Case& c : cases()) {
    const std::vector<Tensor> inputs = draw(c);
    EXPECT_EQ(difference(run(c, inputs), run(c, inputs)), "") << c.label();
  }
}

}  // namespace
}  // namespace hone::conformance
