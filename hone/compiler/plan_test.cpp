// What a plan copies.
#include "hone/compiler/plan.h"

#include <gtest/gtest.h>

#include "hone/compiler/pipeline.h"
#include "hone/compiler/rule_domain.h"

namespace hone::compiler {
namespace {

using ir::ValueId;

int64_t copies(const ir::Graph& graph) {
  const Compiled compiled = compile(graph);
  return std::ranges::count(compiled.executable->plan().steps, Step::Pack, &Step::kind);
}

// The gradient of a sum of stacked rows: parts of one element repeated.
TEST(Plan, PartsOfARepeatedElementAreNotCopied) {
  EXPECT_EQ(copies(domain::graph({{f32, {}}, {f32, {4, 4}}},
                                 [](ir::Builder& b, auto in) {
                                   const ValueId all =
                                       domain::call(b, ops::broadcast_in_dim, BroadcastAttrs{{6, 4, 4}, {}}, {in[0]});
                                   ValueId sum = in[1];
                                   for (int64_t row = 0; row < 6; ++row) {
                                     const SliceAttrs one{{row, 0, 0}, {row + 1, 4, 4}, {1, 1, 1}};
                                     const ValueId part = domain::call(b, ops::reshape, ShapeAttrs{{4, 4}},
                                                                       {domain::call(b, ops::slice, one, {all})});
                                     sum = domain::call(b, ops::dot_general, DotAttrs{{}, {}, {1}, {0}}, {part, sum});
                                   }
                                   return sum;
                                 })),
            0);
}

TEST(Plan, AStridedValueIsCopiedOnceForAllItsViews) {
  EXPECT_EQ(copies(domain::graph({{f32, {4}}},
                                 [](ir::Builder& b, auto in) {
                                   const ValueId all =
                                       domain::call(b, ops::broadcast_in_dim, BroadcastAttrs{{6, 4}, {1}}, {in[0]});
                                   ValueId sum = domain::call(b, ops::reshape, ShapeAttrs{{2, 12}}, {all});
                                   const ValueId flat = domain::call(b, ops::reshape, ShapeAttrs{{24}}, {all});
                                   sum = domain::call(b, ops::reshape, ShapeAttrs{{24}},
                                                      {domain::call(b, ops::tanh, {}, {sum})});
                                   return domain::call(b, ops::add, {}, {sum, flat});
                                 })),
            1);
}

}  // namespace
}  // namespace hone::compiler
