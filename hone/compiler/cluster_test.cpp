// Clusters as calls of a graph.
#include <gtest/gtest.h>

#include <set>

#include "hone/compiler/passes.h"
#include "hone/compiler/rule_domain.h"
#include "hone/ops/attrs.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone::compiler {
namespace {

// A long program repeats itself; looking for equal regions must not take longer with each cluster.
TEST(Cluster, EqualClustersAreKeptOnce) {
  ensure_defaults();
  ir::Builder builder(std::make_shared<ir::Context>());
  const TensorType type{f32, {4096}};
  const ir::ValueId y = builder.add_input(type, {});
  ir::ValueId x = builder.add_input(type, {});
  for (int i = 0; i < 64 * 20; ++i)
    x = i % 2 == 0 ? builder.add_one(ops::tanh, {}, std::array{x}, 0)
                   : builder.add_one(ops::add, {}, std::array{x, y}, 0);
  const ir::Graph clustered = cluster(builder.finish({x}));
  std::set<const void*> bodies;
  int clusters = 0;
  for (const ir::Node& node : clustered.nodes()) {
    if (node.op != &ops::fusion) continue;
    ++clusters;
    bodies.insert(node.attrs.data());
  }
  EXPECT_EQ(clusters, 20);
  EXPECT_EQ(bodies.size(), 1U);
}

// What the fuzzer relies on: a seed gives another partition of the same calls.
TEST(Cluster, SeedsCutItDifferently) {
  const ir::Graph chain = domain::graph({{f32, {64}}}, [](ir::Builder& b, auto in) {
    ir::ValueId x = in[0];
    for (int i = 0; i < 12; ++i) x = domain::call(b, i % 2 == 0 ? ops::tanh : ops::negate, {}, {x});
    return x;
  });
  EXPECT_EQ(cluster(chain).nodes().size(), 1U);
  std::set<size_t> sizes;
  for (uint64_t seed = 1; seed <= 20; ++seed) sizes.insert(cluster(chain, nullptr, seed).nodes().size());
  EXPECT_GT(*sizes.begin(), 1U);
  EXPECT_GT(sizes.size(), 3U);
}

}  // namespace
}  // namespace hone::compiler
