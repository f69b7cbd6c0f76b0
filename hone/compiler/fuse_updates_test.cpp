// Optimizer steps over outer products.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "hone/compiler/passes.h"
#include "hone/compiler/pipeline.h"
#include "hone/ops/attrs.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone::compiler {
namespace {

struct Update {
  const Op& op;
  Attrs attrs;
  int slots;  // beside parameter and gradient
  int scalars;
};

std::vector<Update> updates() {
  return {{ops::sgd_update, Attrs(SgdAttrs{0.9, 0.01, true}), 1, 1},
          {ops::sgd_update, Attrs(SgdAttrs{}), 1, 1},
          {ops::adam_update, Attrs(AdamAttrs{0.8, 0.9, 1e-3, 0.01}), 2, 2}};
}

struct Program {
  DType dtype = f32;
  int64_t terms = 1, rows = 7, columns = 33;
  bool read_again = false;  // the gradient is a result too
};

// lhs [terms, rows], rhs [terms, columns], parameter, slots..., scalars...
ir::Graph graph_of(const Update& update, const Program& p) {
  ir::Builder b(std::make_shared<ir::Context>());
  const TensorType parameter{p.dtype, {p.rows, p.columns}};
  const ir::ValueId factors[] = {b.add_input({p.dtype, {p.terms, p.rows}}, {}),
                                 b.add_input({p.dtype, {p.terms, p.columns}}, {})};
  std::vector<ir::ValueId> operands{b.add_input(parameter, {}), ir::kNone};
  for (int i = 0; i < update.slots; ++i) operands.push_back(b.add_input(parameter, {}));
  for (int i = 0; i < update.scalars; ++i) operands.push_back(b.add_input({p.dtype, {}}, {}));
  operands[1] = b.add_one(ops::dot_general, DotAttrs{{}, {}, {0}, {0}}, factors, 0);
  const auto results = static_cast<uint32_t>(update.slots + 1);
  const uint32_t made = b.add(update.op, update.attrs, operands, results, 0);
  std::vector<ir::ValueId> outputs;
  for (uint32_t i = 0; i < results; ++i) outputs.push_back(b.graph().nodes()[made].first_result + i);
  if (p.read_again) outputs.push_back(operands[1]);
  return b.finish(std::move(outputs));
}

// Numbers of both signs, some of which round to -0 as a product; slots are never negative.
std::vector<Tensor> inputs_of(const ir::Graph& graph, bool extreme) {
  std::vector<Tensor> given;
  for (const ir::Input& input : graph.inputs()) {
    const TensorType& type = graph.type(input.value);
    Tensor x = sin(cast(iota({type.shape.count()}, 0), f32) * 1.7F + static_cast<float>(given.size()));
    if (given.size() > 2) x = abs(x) + 0.5F;
    if (extreme && given.size() < 2) {
      const float special[] = {0.0F, -0.0F, 1e-30F, -1e-30F, 1e-44F, INFINITY, -INFINITY, NAN};
      auto* elements = static_cast<float*>(static_cast<void*>((x = x.dense()).mutable_bytes()));
      for (int64_t i = 0; i < x.size(); ++i) elements[i] = i % 3 == 0 ? elements[i] : special[i % 8];
    }
    given.push_back(cast(reshape(x, type.shape), type.dtype));
  }
  return given;
}

bool same(const Tensor& a, const Tensor& b) {
  const auto *x = static_cast<const float*>(a.raw()), *y = static_cast<const float*>(b.raw());
  for (int64_t i = 0; i < a.size(); ++i) {
    const bool equal = std::bit_cast<uint32_t>(x[i]) == std::bit_cast<uint32_t>(y[i]);
    if (!equal && !(std::isnan(x[i]) && std::isnan(y[i]))) return false;
  }
  return a.type() == b.type();
}

TEST(FuseUpdates, AnOuterProductIsMadeInsideTheStepWithTheSameBits) {
  ensure_defaults();
  for (const Update& update : updates()) {
    for (const auto& [rows, columns] : {std::pair{2, 2}, {3, 1000}, {7, 16}, {33, 17}, {200, 90}}) {
      const ir::Graph graph = graph_of(update, {.rows = rows, .columns = columns});
      std::vector<FusionDecision> log;
      const ir::Graph fused = fuse_updates(graph, &log);
      ASSERT_EQ(fused.nodes().size(), 1U);
      EXPECT_EQ(fused.nodes()[0].op, &ops::fusion);
      ASSERT_EQ(log.size(), 1U);
      EXPECT_EQ(log[0].bytes_saved, 8.0 * rows * columns);
      for (const bool extreme : {false, true}) {
        const std::vector<Tensor> given = inputs_of(graph, extreme);
        const std::vector<Tensor> expected = ir::interpret(graph, given), actual = run_once(fused, given);
        for (size_t i = 0; i < expected.size(); ++i)
          EXPECT_TRUE(same(expected[i], actual[i])) << update.op.name << " " << rows << " x " << columns << ", " << i;
      }
    }
  }
}

TEST(FuseUpdates, OtherGradientsStayAsTheyAre) {
  ensure_defaults();
  for (const Update& update : updates()) {
    for (const Program& program : {Program{.terms = 2}, Program{.read_again = true}, Program{.dtype = f64},
                                   Program{.rows = 1}, Program{.columns = 1}}) {
      const ir::Graph graph = graph_of(update, program), after = fuse_updates(graph);
      EXPECT_EQ(after.nodes().size(), 2U);
      EXPECT_EQ(after.nodes()[0].op, &ops::dot_general);
    }
  }
}

}  // namespace
}  // namespace hone::compiler
