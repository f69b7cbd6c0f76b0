// Which ops an object that is compiled ahead of time can hold, in which dtypes: by works of a kernel, or decomposed
// into calls that have some.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "hone/base/error.h"
#include "hone/compiler/object.h"
#include "hone/ir/graph.h"
#include "tests/conformance/cases.h"

namespace hone::conformance {
namespace {

// What keeps one call out of an object. The call is written as it is: programs of control flow are not entered.
std::vector<std::string> obstacles(const Case& c, const std::vector<TensorType>& types) {
  ir::Builder builder(std::make_shared<ir::Context>());
  std::vector<ir::ValueId> operands, outputs;
  for (const TensorType& type : types) operands.push_back(builder.add_input(type, {}));
  const auto results = static_cast<uint32_t>(c.outputs());
  const uint32_t node = builder.add(c.op, c.sample.attrs, operands, results, 0);
  for (uint32_t i = 0; i < results; ++i) outputs.push_back(builder.graph().nodes()[node].first_result + i);
  return compiler::object_obstacles(builder.finish(outputs), {}, results);
}

TEST(Objects, HoldEveryOpInEveryDtypeButThese) {
  std::map<std::string, std::set<std::string>> without;  // op and what keeps it out: dtypes of the first operand
  int held = 0;
  for (const Case& c : cases()) {
    const bool one = c.sample.inputs.empty() || c.fixed_types() || c.op.op_class == OpClass::Effect;
    for (int t = 0; t < kDTypes; ++t) {
      const auto dtype = static_cast<DType>(t);
      if (one ? t > 0 : (c.op.dtypes & bit(dtype)) == 0) continue;
      if (&c.op == &ops::bitcast_convert && size_of(dtype) != size_of(c.sample.inputs[0].dtype)) continue;
      const std::vector<TensorType> types = one ? c.sample.inputs : retyped(c, dtype);
      std::vector<std::string> found;
      try {
        found = obstacles(c, types);
      } catch (const Error& error) {
        if (!one) continue;  // not of this dtype with the sample's others
        found = {error.parts().what};
      }
      held += found.empty();
      for (const std::string& each : found)
        without[fmt::format("{}: {}", c.op.name, each.substr(0, each.find("  ")))].emplace(one ? "any" : name(dtype));
    }
  }
  std::string list;
  for (const auto& [what, dtypes] : without) list += fmt::format("{}: {}\n", what, fmt::join(dtypes, " "));
  EXPECT_EQ(list, "custom_call: custom_call (calls the host): any\n");
  EXPECT_GT(held, 4000);
  RecordProperty("held", held);
}

}  // namespace
}  // namespace hone::conformance
