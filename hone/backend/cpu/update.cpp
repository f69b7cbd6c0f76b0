// Optimizer steps: one pass over parameter, gradient and slots.
#include <algorithm>

#include "hone/backend/cpu/fused.h"
#include "hone/backend/cpu/install.h"
#include "hone/ir/region.h"
#include "hone/math/nn_works.h"
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
  static math::SgdParams params(const Attrs& a) {
    return {static_cast<float>(a.momentum), static_cast<float>(a.weight_decay), a.nesterov};
  }
  Sgd(const KernelCall& call, const Attrs& a, int param, int slots)
      : p_(call.in<float>(param)), v_(call.in<float>(slots)), next_p_(call.out<float>(0)), next_v_(call.out<float>(1)) {
    step_ = math::sgd_step(params(a), call.in<float>(slots + 1)[0]);
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
  static math::AdamParams params(const Attrs& a) {
    return {a.beta_1, a.beta_2, static_cast<float>(a.epsilon), static_cast<float>(a.weight_decay)};
  }
  Adam(const KernelCall& call, const Attrs& a, int param, int slots)
      : p_(call.in<float>(param)),
        m_(call.in<float>(slots)),
        v_(call.in<float>(slots + 1)),
        next_p_(call.out<float>(0)),
        next_m_(call.out<float>(1)),
        next_v_(call.out<float>(2)) {
    step_ = math::adam_step(params(a), call.in<float>(slots + 2)[0], call.in<float>(slots + 3)[0]);
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

Works sgd_works(const KernelQuery& query) {
  const math::SgdWork params{Sgd::params(query.attrs.as<SgdAttrs>()), 0};
  return one_work(query, math::WorkId::Sgd, params, query.outputs[0].shape.count(), kGrain);
}
Works adam_works(const KernelQuery& query) {
  const math::AdamWork params{Adam::params(query.attrs.as<AdamAttrs>()), 0};
  return one_work(query, math::WorkId::Adam, params, query.outputs[0].shape.count(), kGrain);
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

Works cluster_works(const KernelQuery& query) {
  const ir::Node& update = body_of(query.attrs).nodes()[1];
  const int64_t rows = query.outputs[0].shape[0].number(), columns = query.outputs[0].shape[1].number();
  if (update.op == &ops::sgd_update) {
    const math::SgdWork params{Sgd::params(update.attrs.as<SgdAttrs>()), columns};
    return one_work(query, math::WorkId::SgdOuter, params, rows, row_grain(columns));
  }
  const math::AdamWork params{Adam::params(update.attrs.as<AdamAttrs>()), columns};
  return one_work(query, math::WorkId::AdamOuter, params, rows, row_grain(columns));
}

}  // namespace

void install_cpu_updates() {
  add_kernels(ops::sgd_update, {{.name = "cpu.sgd_update",
                                 .refuses = refuses,
                                 .run = run_fused<run_update<Sgd>>,
                                 .works = fused_works<sgd_works>,
                                 .in_place = true}});
  add_kernels(ops::adam_update, {{.name = "cpu.adam_update",
                                  .refuses = refuses,
                                  .run = run_fused<run_update<Adam>>,
                                  .works = fused_works<adam_works>,
                                  .in_place = true}});
  add_kernels(ops::fusion, {{.name = "cpu.outer_update",
                             .refuses = refuses_cluster,
                             .run = run_cluster,
                             .works = cluster_works,
                             .in_place = true}});
}

}  // namespace hone
