// What remove_dead takes out of branches and loops.
#include <gtest/gtest.h>

#include <functional>

#include "hone/compiler/passes.h"
#include "hone/ir/region.h"
#include "hone/ops/attrs.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/misc.h"
#include "hone/ops/reduction.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone::compiler {
namespace {

using Values = std::span<const Tensor>;

std::shared_ptr<const Region> region(const std::vector<TensorType>& types, const ir::RegionBody& body) {
  return std::make_shared<ir::Graph>(ir::record_region(std::make_shared<ir::Context>(), types, body, {}).graph);
}

ir::Graph calling(const Op& op, AttrRef attrs, const std::vector<TensorType>& operands, size_t results,
                  const std::vector<size_t>& read) {
  ir::Builder b(std::make_shared<ir::Context>());
  std::vector<ir::ValueId> inputs, outputs;
  for (const TensorType& type : operands) inputs.push_back(b.add_input(type, {}));
  const uint32_t made = b.add(op, attrs, inputs, static_cast<uint32_t>(results), 0);
  for (const size_t result : read)
    outputs.push_back(b.graph().nodes()[made].first_result + static_cast<uint32_t>(result));
  return b.finish(std::move(outputs));
}

const TensorType kScalar{f32, {}}, kRows{f32, {4}};

// (a, b, c; x, y; k) -> (a + x, b + c, c k; a b, y)
ScanAttrs program() {
  return {.body = {region(
              {kScalar, kScalar, kScalar, kScalar, kScalar, kScalar},
              [](Values v) { return std::vector{v[0] + v[3], v[1] + v[2], v[2] * v[5], v[0] * v[1], exp(v[4])}; })},
          .length = {4},
          .carries = 3,
          .xs = 2};
}

TEST(RemoveDead, ScansCarryOnlyWhatIsReadInTheEnd) {
  struct Case {
    std::vector<size_t> read;
    uint32_t operands;
    int64_t carries, xs;
    uint32_t results;
  };
  const std::vector<TensorType> operands{kScalar, kScalar, kScalar, kRows, kRows, kScalar};
  std::vector<Tensor> given;
  for (size_t i = 0; i < operands.size(); ++i)
    given.push_back(sin(cast(iota(operands[i].shape.empty() ? Shape{1} : operands[i].shape, 0), f32) + 1.5F * i));
  for (Tensor& each : given) {
    if (each.size() == 1) each = sum(each);
  }
  for (const Case& c : {Case{{0, 1, 2, 3, 4}, 6, 3, 2, 5}, Case{{0}, 2, 1, 1, 1}, Case{{2}, 2, 1, 0, 1},
                        Case{{1}, 3, 2, 0, 2}, Case{{3}, 5, 3, 1, 4}, Case{{4}, 1, 0, 1, 1}}) {
    SCOPED_TRACE(testing::PrintToString(c.read));
    const ir::Graph graph = calling(ops::scan, program(), operands, 5, c.read), now = remove_dead(graph);
    ir::verify(now, "remove_dead");
    ASSERT_EQ(now.nodes().size(), 1U);
    const auto& attrs = now.nodes()[0].attrs.as<ScanAttrs>();
    EXPECT_EQ(now.nodes()[0].operands, c.operands);
    EXPECT_EQ(attrs.carries, c.carries);
    EXPECT_EQ(attrs.xs, c.xs);
    EXPECT_EQ(now.nodes()[0].results, c.results);
    const std::vector<Tensor> expected = ir::interpret(graph, given), found = ir::interpret(now, given);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(found[i].to_vector<float>(), expected[i].to_vector<float>());
  }
}

TEST(RemoveDead, BranchesGiveOnlyWhatIsRead) {
  const BranchAttrs attrs{
      {region({kScalar, kScalar, kScalar}, [](Values v) { return std::vector{v[0] + v[1], exp(v[2])}; }),
       region({kScalar, kScalar, kScalar}, [](Values v) { return std::vector{v[0], v[0] * v[1]}; })}};
  const std::vector<TensorType> operands{{bool_, {}}, kScalar, kScalar, kScalar};
  for (const auto& [read, kept] : {std::pair{size_t{0}, 3U}, std::pair{size_t{1}, 4U}}) {
    const ir::Graph graph = calling(ops::if_, attrs, operands, 2, {read}), now = remove_dead(graph);
    ir::verify(now, "remove_dead");
    EXPECT_EQ(now.nodes()[0].operands, kept);
    EXPECT_EQ(now.nodes()[0].results, 1U);
    for (const bool first : {true, false}) {
      const std::vector<Tensor> given{Tensor(first), Tensor(2.0F), Tensor(3.0F), Tensor(0.5F)};
      EXPECT_EQ(ir::interpret(now, given)[0].item<float>(), ir::interpret(graph, given)[0].item<float>());
    }
  }
}

TEST(RemoveDead, EffectsInBodiesStay) {
  const int64_t host = register_host_function([](std::span<const Tensor> in) { return in[0]; }, kScalar);
  const ScanAttrs attrs{.body = {region({kScalar, kScalar, kScalar},
                                        [&](Values v) {
                                          host_callback(host, std::vector{v[0] * v[2]});
                                          return std::vector{v[0] + 1, v[1] * 2, v[2]};
                                        })},
                        .length = {4},
                        .carries = 2,
                        .xs = 1};
  const ir::Graph now = remove_dead(calling(ops::scan, attrs, {kScalar, kScalar, kRows}, 3, {}));
  ir::verify(now, "remove_dead");
  ASSERT_EQ(now.nodes().size(), 1U);
  EXPECT_EQ(now.nodes()[0].operands, 2U);
  EXPECT_EQ(ir::graph_of(now.nodes()[0].attrs.as<ScanAttrs>().body[0]).nodes().size(), 4U);  // x, host, 1, +
}

}  // namespace
}  // namespace hone::compiler
