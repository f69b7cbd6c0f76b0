// Random graphs with what means nothing put into them: barriers, moves there and back, dead calls, calls computed
// twice. The bits stay.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "hone/base/error.h"
#include "hone/base/settings.h"
#include "hone/compiler/pipeline.h"
#include "hone/ops/attrs.h"
#include "hone/ops/table.h"
#include "tests/conformance/cases.h"
#include "tests/fuzz/hunt.h"

namespace hone::fuzz {
namespace {

// A value equal to `value`, by way of calls.
ir::ValueId by_way(ir::Builder& to, ir::ValueId value, uint32_t origin, Draw& draw) {
  const TensorType type = to.graph().type(value);
  const auto call = [&](const Op& op, AttrRef attrs, ir::ValueId operand) {
    return to.add_one(op, attrs, {&operand, 1}, origin);
  };
  switch (draw.integer(0, 3)) {
    case 0:
      return call(ops::optimization_barrier, {}, value);
    case 1: {
      Ints order, back(static_cast<size_t>(type.shape.rank()), 0);
      for (int i = 0; i < type.shape.rank(); ++i) order.insert(static_cast<size_t>(draw.integer(0, i)), i);
      for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
      return call(ops::transpose, TransposeAttrs{back}, call(ops::transpose, TransposeAttrs{order}, value));
    }
    case 2:
      return call(ops::reshape, ShapeAttrs{type.shape}, call(ops::reshape, ShapeAttrs{{type.shape.count()}}, value));
    default:
      call(is_floating(type.dtype) ? ops::tanh : ops::not_, {}, call(ops::optimization_barrier, {}, value));  // dead
      return value;
  }
}

ir::Graph disturbed(const ir::Graph& graph, Draw& draw, int& changes) {
  ir::Rewriter rewriter(graph);
  for (const ir::Node& node : graph.nodes()) {
    rewriter.copy(node);
    if (ir::has_effect(node)) continue;
    if (draw.chance(0.1)) {
      const SmallVector<ir::ValueId, 8> operands = rewriter.operands(node);
      const uint32_t second =
          rewriter.to().add(*node.op, node.attrs, {operands.data(), operands.size()}, node.results, node.origin, true);
      for (uint32_t i = 0; i < node.results; ++i)
        rewriter.set(node.first_result + i, rewriter.to().graph().nodes()[second].first_result + i);
      ++changes;
    }
    for (uint32_t i = 0; i < node.results; ++i) {
      if (!draw.chance(0.25)) continue;
      const ir::ValueId value = node.first_result + i;
      rewriter.set(value, by_way(rewriter.to(), rewriter[value], node.origin, draw));
      ++changes;
    }
  }
  return rewriter.finish();
}

std::string disturbed_difference(const Program& program, int& changes) {
  try {
    const Recorded whole = recorded(program);
    const ir::Graph& graph = whole.trace.graph;
    const std::vector<Tensor> expected = compiler::run_once(graph, whole.inputs);
    for (const uint64_t way : {1, 2}) {
      Draw draw(program.inputs * 2 + way);
      const ir::Graph other = disturbed(graph, draw, changes);
      ir::verify(other, "disturbed");
      if (std::string differ = conformance::difference(compiler::run_once(other, whole.inputs), expected);
          !differ.empty())
        return fmt::format("disturbed in way {}: {}", way, differ);
    }
    return {};
  } catch (const Error& error) {
    return error.code() == Code::kInternal ? error.what() : "";
  }
}

TEST(GraphFuzz, WhatMeansNothingChangesNoBit) {
  settings.poison_memory = true;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const int n = rounds(100);
#else
  const int n = rounds(1000);
#endif
  int failures = 0, changes = 0;
  for (int seed = 0; seed < n && failures < 5; ++seed) {
    trace(fmt::format("disturbed program {}", seed));
    failures += hold("disturbed", random_program(static_cast<uint64_t>(seed)),
                     [&](const Program& p) { return disturbed_difference(p, changes); });
  }
  settings.poison_memory = false;
  EXPECT_GT(changes, 5 * n);
}

}  // namespace
}  // namespace hone::fuzz
