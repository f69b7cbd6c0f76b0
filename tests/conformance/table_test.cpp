// What every row of the op table must say about itself.
#include <gtest/gtest.h>

#include <set>

#include "tests/conformance/cases.h"

namespace hone::conformance {
namespace {

size_t words(std::string_view text) {
  size_t count = 0;
  bool inside = false;
  for (char c : text) {
    count += c != ' ' && !inside;
    inside = c != ' ';
  }
  return count;
}

TEST(Table, NamesAreUniqueAndFindTheirOp) {
  std::set<std::string_view> names;
  int index = 0;
  for (const Op* op : op_table()) {
    EXPECT_TRUE(names.insert(op->name).second) << op->name;
    EXPECT_EQ(find_op(op->name), op) << op->name;
    EXPECT_EQ(op->index, index++) << op->name;
    EXPECT_EQ(op->name, name(static_cast<OpId>(op->index)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(OpId::kCount));
  EXPECT_EQ(find_op("no_such_op"), nullptr);
}

TEST(Table, EveryOpSaysWhatItIs) {
  for (const Op* op : op_table()) {
    EXPECT_FALSE(op->name.empty());
    EXPECT_FALSE(op->doc.empty()) << op->name;
    EXPECT_TRUE(op->infer) << op->name;
    EXPECT_TRUE(op->cost) << op->name;
    EXPECT_TRUE(op->samples) << op->name;
    EXPECT_NE(op->dtypes & kAnyType, 0U) << op->name;
    EXPECT_GE(op->outputs, -1) << op->name;
    if (op->max_inputs >= 0) {
      EXPECT_LE(op->min_inputs, op->max_inputs) << op->name;
      EXPECT_EQ(words(op->operands), static_cast<size_t>(op->max_inputs)) << op->name << ": " << op->operands;
    } else if (op->min_inputs > 0) {
      EXPECT_FALSE(op->operands.empty()) << op->name;
    }
  }
}

TEST(Table, EveryOpHasSamplesThatItsTypesAllow) {
  std::set<std::string_view> sampled;
  for (const Case& c : cases()) {
    sampled.insert(c.op.name);
    const int inputs = static_cast<int>(c.sample.inputs.size());
    EXPECT_GE(inputs, c.op.min_inputs) << c.label();
    EXPECT_TRUE(c.op.max_inputs < 0 || inputs <= c.op.max_inputs) << c.label();
    EXPECT_TRUE(inputs == 0 || (c.op.dtypes & bit(c.sample.inputs[0].dtype)) != 0) << c.label();
    EXPECT_GT(c.outputs(), 0) << c.label();
    EXPECT_EQ(AttrRef(c.sample.attrs).type(), c.op.attrs) << c.label();
    EXPECT_LE(c.sample.low, c.sample.high) << c.label();
  }
  for (const Op* op : op_table()) EXPECT_TRUE(sampled.contains(op->name)) << op->name;
}

// A floating-point op has a gradient rule or a decomposition that has one; others say why not by their types or class.
TEST(Table, EveryFloatingOpIsDifferentiable) {
  for (const Op* op : op_table()) {
    if (op->vjp || op->decompose || (op->dtypes & kFloats) == 0) continue;
    bool differentiable = false;
    for (const Sample& sample : op->samples()) differentiable = differentiable || sample.differentiable;
    EXPECT_FALSE(differentiable && op->op_class != OpClass::Effect) << op->name;
  }
}

TEST(Table, ElementwiseRowsAreTheElementwiseOps) {
  int rows = 0;
  for (const Op* op : op_table()) {
    EXPECT_EQ(op->elementwise, elementwise_row(static_cast<OpId>(op->index))) << op->name;
    if (op->elementwise < 0) continue;
    EXPECT_EQ(op->elementwise, rows++) << op->name;
    EXPECT_EQ(op->op_class, OpClass::Elementwise) << op->name;
    EXPECT_EQ(op->outputs, 1) << op->name;
    EXPECT_EQ(op->min_inputs, op->max_inputs) << op->name;
  }
  EXPECT_GT(rows, 50);
}

TEST(Table, CostsCountTheBytesOfOperandsAndResults) {
  for (const Case& c : cases()) {
    std::vector<const TensorType*> inputs;
    for (const TensorType& type : c.sample.inputs) inputs.push_back(&type);
    const std::vector<TensorType> outputs = inferred(c, c.sample.inputs);
    const Cost cost = c.op.cost(c.sample.attrs, inputs, outputs);
    double result_bytes = 0;
    for (const TensorType& type : outputs)
      result_bytes += static_cast<double>(type.shape.count()) * static_cast<double>(size_of(type.dtype));
    EXPECT_GE(cost.bytes, result_bytes) << c.label();
    EXPECT_GE(cost.flops, 0) << c.label();
  }
}

}  // namespace
}  // namespace hone::conformance
