#include <bit>
#include "hone/compiler/passes.h"
#include "hone/ops/attrs.h"
#include "hone/ops/creation.h"
#include "hone/ops/table.h"

namespace hone::compiler {
namespace {

// The kernel's steps as calls of their own: statistics, then (x - mean) * (scale / sqrt(variance + epsilon)) + offset,
// each rounded once as in the kernel. f64 and empty tensors have no kernel and decompose.
bool has_kernel(const ir::Graph& graph, const ir::Node& node) {
  if (node.op != &ops::batch_norm_training) return false;
  const TensorType& x = graph.type(graph.operands(node)[0]);
  return x.dtype == f32 && x.shape.is_static() && x.shape.count() > 0 &&
         graph.type(graph.operands(node)[1]).dtype == f32;
}

void expand(const ir::Node& node, const ir::Graph& graph, ir::Rewriter& rewriter) {
  ir::Builder& to = rewriter.to();
  const SmallVector<ir::ValueId, 8> in = rewriter.operands(node);
  const Shape &shape = graph.type(node.first_result).shape, channels = graph.type(node.first_result + 1).shape;
  const auto call = [&](const Op& op, AttrRef attrs, std::initializer_list<ir::ValueId> operands) {
    return to.add_one(op, attrs, {operands.begin(), operands.size()}, node.origin);
  };
  const auto spread = [&](ir::ValueId value) {
    return call(ops::broadcast_in_dim, BroadcastAttrs{shape, {shape.rank() - 1}}, {value});
  };
  const uint32_t moments = to.add(ops::batch_moments, {}, {in.data(), 1}, 2, node.origin);
  const ir::ValueId mean = to.graph().nodes()[moments].first_result, variance = mean + 1;
  const auto epsilon = static_cast<float>(node.attrs.as<NormAttrs>().epsilon);
  const ir::ValueId small = call(ops::constant, ConstantAttrs{f32, channels, std::bit_cast<int32_t>(epsilon)}, {});
  const ir::ValueId root = call(ops::sqrt, {}, {call(ops::add, {}, {variance, small})});
  const ir::ValueId factor = call(ops::divide, {}, {in[1], root});
  const ir::ValueId centred = call(ops::subtract, {}, {in[0], spread(mean)});
  const ir::ValueId scaled = call(ops::multiply, {}, {centred, spread(factor)});
  rewriter.set(node.first_result, call(ops::add, {}, {scaled, spread(in[2])}));
  rewriter.set(node.first_result + 1, mean);
  rewriter.set(node.first_result + 2, variance);
}

}  // namespace

ir::Graph expand_norm(const ir::Graph& graph) {
  ir::Rewriter rewriter(graph);
  for (const ir::Node& node : graph.nodes())
    has_kernel(graph, node) ? expand(node, graph, rewriter) : rewriter.copy(node);
  return rewriter.finish();
}

}  // namespace hone::compiler
