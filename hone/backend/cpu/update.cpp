// Optimizer steps: one pass over parameter, gradient and slots.
#include <algorithm>
#include <cmath>

#include "hone/backend/cpu/fused.h"
#include "hone/backend/cpu/install.h"
#include "hone/ir/region.h"
#include "hone/ops/dot_axes.h"

namespace hone {
namespace {

constexpr int64_t kGrain = 16384;

const char* refuses(const KernelQuery& query) {
  for (const Tensor& input : query.inputs) {
    if (input.dtype() == f64) return "f64 runs as its decomposition";
  }
  return nullptr;
}

// A step of SGD over the call's arrays: parameter, velocity and rate are the operands `param`, `slots` and the next.
class Sgd {
 public:
  using Attrs = SgdAttrs;
  Sgd(const KernelCall& call, const Attrs& a, int param, int slots)
      : p_(call.in<float>(param)), v_(call.in<float>(slots)), next_p_(call.out<float>(0)), next_v_(call.out<float>(1)) {
    const float rate = call.in<float>(slots + 1)[0];
    step_ = {rate, static_cast<float>(a.momentum), rate * static_cast<float>(a.weight_decay), a.nesterov};
  }
  /// Elements [begin, begin + n), whose gradients are g[0, n).
  void operator()(const float* g, int64_t begin, int64_t n) const {
    kernels().nn.sgd(step_, p_ + begin, g, v_ + begin, next_p_ + begin, next_v_ + begin, n);
  }
  /// The same, whose gradients are x row[0, n).
  void outer(float x, const float* row, int64_t begin, int64_t n) const {
    kernels().nn.sgd_outer(step_, p_ + begin, x, row, v_ + begin, next_p_ + begin, next_v_ + begin, n);
  }

 private:
  math::SgdStep step_{};
  const float *p_, *v_;
  float *next_p_, *next_v_;
};

// A step of Adam, likewise: m, v, rate and count of steps follow each other.
class Adam {
 public:
  using Attrs = AdamAttrs;
  Adam(const KernelCall& call, const Attrs& a, int param, int slots)
      : p_(call.in<float>(param)),
        m_(call.in<float>(slots)),
        v_(call.in<float>(slots + 1)),
        next_p_(call.out<float>(0)),
        next_m_(call.out<float>(1)),
        next_v_(call.out<float>(2)) {
    const float rate = call.in<float>(slots + 2)[0];
    const double count = call.in<float>(slots + 3)[0];
    const auto correction_1 = static_cast<float>(1 - std::pow(a.beta_1, count)),
               correction_2 = static_cast<float>(1 - std::pow(a.beta_2, count));
    step_ = {rate * std::sqrt(correction_2) / correction_1, static_cast<float>(1 - a.beta_1),
             static_cast<float>(1 - a.beta_2), static_cast<float>(a.epsilon),
             rate * static_cast<float>(a.weight_decay)};
  }
  void operator()(const float* g, int64_t begin, int64_t n) const {
    kernels().nn.adam(step_, p_ + begin, g, m_ + begin, v_ + begin, next_p_ + begin, next_m_ + begin, next_v_ + begin,
                      n);
  }
  void outer(float x, const float* row, int64_t begin, int64_t n) const {
    kernels().nn.adam_outer(step_, p_ + begin, x, row, m_ + begin, v_ + begin, next_p_ + begin, next_m_ + begin,
                            next_v_ + begin, n);
  }

 private:
  math::AdamStep step_{};
  const float *p_, *m_, *v_;
  float *next_p_, *next_m_, *next_v_;
};

template <class Update>
void run_update(const KernelCall& call) {
  const Update update(call, call.attrs.as<typename Update::Attrs>(), 0, 2);
  const float* g = call.in<float>(1);
  parallel_for(call.outputs[0].size(), kGrain,
               [&](int64_t begin, int64_t end) { update(g + begin, begin, end - begin); });
}

// The step of a parameter whose gradient is an outer product, a cluster of dot_general and update over the operands
// lhs, rhs, parameter, slots and scalars: the gradient is never in memory. It has the bits of cpu.small_contraction.
const ir::Graph& body_of(AttrRef attrs) { return ir::graph_of(attrs.as<FusionAttrs>().body[0]); }

const char* refuses_cluster(const KernelQuery& query) {
  const ir::Graph& body = body_of(query.attrs);
  if (body.nodes().size() != 2 || body.inputs().size() < 3) return "another cluster than product and update";
  const ir::Node &product = body.nodes()[0], &update = body.nodes()[1];
  if (product.op != &ops::dot_general || (update.op != &ops::sgd_update && update.op != &ops::adam_update))
    return "another cluster than product and update";
  SmallVector<ir::ValueId, 8> operands;
  for (const ir::Input& input : body.inputs()) {
    if (body.type(input.value).dtype != f32) return "not all f32";
    operands.push_back(input.value);
  }
  const auto in_order = [&](const ir::Node& node, std::span<const ir::ValueId> expected) {
    return std::ranges::equal(body.operands(node), expected);
  };
  SmallVector<ir::ValueId, 8> updated{operands[2], product.first_result};
  for (size_t i = 3; i < operands.size(); ++i) updated.push_back(operands[i]);
  if (!in_order(product, {operands.data(), 2}) || !in_order(update, {updated.data(), updated.size()}))
    return "operands in another order";
  if (body.outputs().size() != update.results || body.outputs()[0] != update.first_result)
    return "other results than the update's";
  const Shape& shape = body.type(product.first_result).shape;
  if (shape.rank() != 2 || !shape.is_static() ||
      !is_outer_product(body.type(operands[0]).shape, body.type(operands[1]).shape, product.attrs.as<DotAttrs>()))
    return "not an outer product";
  return shape[0].number() < 2 || shape[1].number() < 2 ? "a vector" : nullptr;
}

template <class Update>
void run_outer(const KernelCall& call, const Update& update) {
  const int64_t rows = call.out_shape()[0].number(), columns = call.out_shape()[1].number();
  const float *lhs = call.in<float>(0), *rhs = call.in<float>(1);
  parallel_for(rows, row_grain(columns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) update.outer(lhs[i], rhs, i * columns, columns);
  });
}

void run_cluster(const KernelCall& call) {
  const ir::Node& update = body_of(call.attrs).nodes()[1];
  if (update.op == &ops::sgd_update)
    run_outer(call, Sgd(call, update.attrs.as<SgdAttrs>(), 2, 3));
  else
    run_outer(call, Adam(call, update.attrs.as<AdamAttrs>(), 2, 3));
}

}  // namespace

void install_cpu_updates() {
  add_kernels(ops::sgd_update,
              {{.name = "cpu.sgd_update", .refuses = refuses, .run = run_fused<run_update<Sgd>>, .in_place = true}});
  add_kernels(ops::adam_update,
              {{.name = "cpu.adam_update", .refuses = refuses, .run = run_fused<run_update<Adam>>, .in_place = true}});
  add_kernels(ops::fusion,
              {{.name = "cpu.outer_update", .refuses = refuses_cluster, .run = run_cluster, .in_place = true}});
}

}  // namespace hone
