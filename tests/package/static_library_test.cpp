// A program that links the library as one archive: nothing is dropped, since nothing registers itself from a static
// initialiser.
#include <gtest/gtest.h>

#include <set>

#include "hone/ops/kernel.h"
#include "tests/conformance/cases.h"

namespace hone {
namespace {

TEST(StaticLibrary, HasEveryOp) {
  ASSERT_EQ(op_table().size(), static_cast<size_t>(OpId::kCount));
  std::set<std::string_view> computed;
  for (const conformance::Case& c : conformance::cases()) {
    if (!computed.insert(c.op.name).second) continue;
    EXPECT_NO_THROW({
      for (const Tensor& result : conformance::run(c, conformance::draw(c))) EXPECT_TRUE(result.defined()) << c.label();
    }) << c.label();
  }
  size_t with_kernels = 0;
  for (const Op* op : op_table()) {
    EXPECT_EQ(find_op(op->name), op);
    EXPECT_TRUE(computed.contains(op->name)) << op->name;
    EXPECT_TRUE(!kernels(*op).empty() || op->decompose || op->view) << op->name << " has nobody to compute it";
    with_kernels += !kernels(*op).empty();
  }
  EXPECT_GT(with_kernels, op_table().size() / 2);
}

}  // namespace
}  // namespace hone
