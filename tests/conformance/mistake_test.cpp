// Operands that do not fit: every op refuses them, and says that it was this op.
#include <gtest/gtest.h>

#include <set>

#include "hone/base/error.h"
#include "tests/conformance/cases.h"

namespace hone::conformance {
namespace {

// The message of the error that the call gives; "" where it gives none.
std::string message(const Case& c, const std::vector<TensorType>& types) {
  try {
    run(c, draw(c, types));
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(name(error.code()), name(Code::kInvalidArgument)) << c.label() << "\n" << error.what();
    EXPECT_NE(std::string(error.what()).find(c.op.name), std::string::npos) << c.label() << "\n" << error.what();
    return error.what();
  }
}

// The first pair of operands of one type; -1 where there is none.
int twin(const Sample& sample) {
  for (size_t i = 1; i < sample.inputs.size(); ++i) {
    if (sample.inputs[i] == sample.inputs[0]) return static_cast<int>(i);
  }
  return -1;
}

std::set<std::string_view> ops_with_twins() {
  std::set<std::string_view> ops;
  for (const Case& c : cases()) {
    if (twin(c.sample) < 0 || c.op.op_class == OpClass::View) continue;  // a view passes operands through as they are
    ops.insert(c.op.name);
  }
  return ops;
}

template <class Change>
std::set<std::string_view> refused(Change change) {
  std::set<std::string_view> ops;
  for (const Case& c : cases()) {
    const int second = twin(c.sample);
    if (second < 0) continue;
    std::vector<TensorType> types = c.sample.inputs;
    change(types[static_cast<size_t>(second)]);
    if (!message(c, types).empty()) ops.insert(c.op.name);
  }
  return ops;
}

TEST(Mistakes, AnOperandOfAnotherShapeIsRefused) {
  const auto longer = refused([](TensorType& type) {
    if (type.shape.rank() == 0)
      type.shape.push_back(2);
    else
      type.shape[0] = type.shape[0].number() + 1;
  });
  const auto deeper = refused([](TensorType& type) { type.shape.push_back(2); });
  for (std::string_view op : ops_with_twins()) EXPECT_TRUE(longer.contains(op) || deeper.contains(op)) << op;
  EXPECT_GE(deeper.size(), 35U);
}

TEST(Mistakes, AnOperandOfAnotherDtypeIsRefused) {
  const auto other = refused([](TensorType& type) { type.dtype = type.dtype == i64 ? f32 : i64; });
  for (std::string_view op : ops_with_twins()) {
    EXPECT_TRUE(other.contains(op) || op == ops::sort.name) << op;  // sort takes keys and values of any dtypes
  }
  EXPECT_GE(other.size(), 35U);
}

// Public functions cannot give a wrong number: a rule that does has a defect, and reads which op it was.
TEST(Mistakes, AWrongNumberOfOperandsIsRefused) {
  for (const Case& c : cases()) {
    if (c.op.max_inputs < 0 || c.number > 0) continue;
    const std::vector<TensorType> types(static_cast<size_t>(c.op.max_inputs) + 1, TensorType{f32, {2}});
    try {
      run(c, draw(c, types));
      ADD_FAILURE() << c.label();
    } catch (const Error& error) {
      EXPECT_EQ(name(error.code()), name(Code::kInternal)) << c.label();
      EXPECT_NE(std::string(error.what()).find(c.op.name), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace hone::conformance
