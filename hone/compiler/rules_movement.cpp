// Rules over places: moves that undo each other, end where they began, or are one move.
#include <numeric>

#include "hone/compiler/rule_domain.h"
#include "hone/compiler/rules.h"

namespace hone::compiler {
namespace {

using ir::ValueId;
using Result = std::optional<ValueId>;
namespace d = domain;

Result same_type(const Match& m) { return m.in_type(0) == m.type() ? Result(m.in(0)) : std::nullopt; }

// --- reshape ---

Result reshape_of_reshape(const Match& m) {
  const ir::Node* inner = m.made_by(0, ops::reshape);
  return inner ? Result(m.make(ops::reshape, ShapeAttrs{m.type().shape}, {m.operand_of(*inner, 0)})) : std::nullopt;
}
Result constant_in_shape(const Match& m) {
  const auto bits = m.splat_bits(0);
  if (!bits) return std::nullopt;
  return m.make(ops::constant, ConstantAttrs{m.type().dtype, m.type().shape, *bits}, {});
}
std::vector<ir::Graph> reshape_domain() {
  std::vector<ir::Graph> graphs;
  for (const Shape& from : d::shapes(2)) {
    for (const Shape& to : d::shapes(2)) {
      if (!(from.elements() == to.elements())) continue;
      graphs.push_back(d::graph(
          {{f32, from}}, [&](ir::Builder& b, auto in) { return d::call(b, ops::reshape, ShapeAttrs{to}, {in[0]}); }));
      graphs.push_back(d::graph({{f32, from}}, [&](ir::Builder& b, auto in) {
        const ValueId flat = d::call(b, ops::reshape, ShapeAttrs{{from.elements()}}, {in[0]});
        return d::call(b, ops::reshape, ShapeAttrs{to}, {flat});
      }));
      graphs.push_back(d::graph({}, [&](ir::Builder& b, auto) {
        return d::call(b, ops::reshape, ShapeAttrs{to}, {d::constant(b, {f32, from}, 3)});
      }));
    }
  }
  return graphs;
}

// --- transpose ---

Result transpose_of_transpose(const Match& m) {
  const ir::Node* inner = m.made_by(0, ops::transpose);
  if (!inner) return std::nullopt;
  const Ints &first = inner->attrs.as<TransposeAttrs>().permutation, &second = m.attrs<TransposeAttrs>().permutation;
  Ints both;
  for (const int64_t axis : second) both.push_back(first[axis]);
  return m.make(ops::transpose, TransposeAttrs{both}, {m.operand_of(*inner, 0)});
}
Result transpose_of_nothing(const Match& m) {
  const Ints& order = m.attrs<TransposeAttrs>().permutation;
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int64_t>(i)) return std::nullopt;
  }
  return m.in(0);
}
std::vector<ir::Graph> transpose_domain() {
  std::vector<ir::Graph> graphs;
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{2, 1, 3}, Shape{0, 2, 1}}) {
    for (const Ints& first : d::permutations(shape.rank())) {
      graphs.push_back(d::graph({{f32, shape}}, [&](ir::Builder& b, auto in) {
        return d::call(b, ops::transpose, TransposeAttrs{first}, {in[0]});
      }));
      for (const Ints& second : d::permutations(shape.rank())) {
        graphs.push_back(d::graph({{f32, shape}}, [&](ir::Builder& b, auto in) {
          const ValueId once = d::call(b, ops::transpose, TransposeAttrs{first}, {in[0]});
          return d::call(b, ops::transpose, TransposeAttrs{second}, {once});
        }));
      }
    }
  }
  return graphs;
}

// --- broadcast ---

Result broadcast_of_nothing(const Match& m) {
  const Ints& axes = m.attrs<BroadcastAttrs>().dimensions;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<int64_t>(i)) return std::nullopt;
  }
  return same_type(m);
}
Result broadcast_of_broadcast(const Match& m) {
  const ir::Node* inner = m.made_by(0, ops::broadcast_in_dim);
  if (!inner) return std::nullopt;
  Ints axes;
  for (const int64_t axis : inner->attrs.as<BroadcastAttrs>().dimensions)
    axes.push_back(m.attrs<BroadcastAttrs>().dimensions[axis]);
  return m.make(ops::broadcast_in_dim, BroadcastAttrs{m.type().shape, axes}, {m.operand_of(*inner, 0)});
}
std::vector<ir::Graph> broadcast_domain() {
  std::vector<ir::Graph> graphs;
  const auto add = [&](const Shape& from, const Shape& middle, const Ints& first, const Shape& to, const Ints& second) {
    graphs.push_back(d::graph({{f32, from}}, [&](ir::Builder& b, auto in) {
      const ValueId once = d::call(b, ops::broadcast_in_dim, BroadcastAttrs{middle, first}, {in[0]});
      return d::call(b, ops::broadcast_in_dim, BroadcastAttrs{to, second}, {once});
    }));
  };
  for (const int64_t n : {0, 1, 3}) {
    add({n}, {2, n}, {1}, {4, 2, n}, {1, 2});
    add({n}, {n, 2}, {0}, {2, n}, {1, 0});
    add({}, {n}, {}, {n, n}, {0});
    add({1}, {n}, {0}, {2, n}, {1});
    add({n, 1}, {n, 2}, {0, 1}, {n, 2}, {0, 1});
    add({n}, {n}, {0}, {n}, {0});
  }
  graphs.push_back(d::graph({}, [](ir::Builder& b, auto) {
    return d::call(b, ops::broadcast_in_dim, BroadcastAttrs{{2, 3}, {}}, {d::constant(b, {f32, {}}, 2)});
  }));
  return graphs;
}

// --- slice, pad, reverse, concatenate ---

Result slice_of_slice(const Match& m) {
  const ir::Node* inner = m.made_by(0, ops::slice);
  if (!inner) return std::nullopt;
  const auto &in = inner->attrs.as<SliceAttrs>(), &out = m.attrs<SliceAttrs>();
  SliceAttrs both;
  for (size_t i = 0; i < in.start.size(); ++i) {
    if (!(in.start[i].is_number() && out.start[i].is_number() && out.limit[i].is_number())) return std::nullopt;
    const int64_t start = in.start[i].number() + out.start[i].number() * in.strides[i];
    const int64_t count = m.type().shape[i].number(), stride = in.strides[i] * out.strides[i];
    both.start.push_back(count == 0 ? Dim(0) : Dim(start));
    both.limit.push_back(count == 0 ? Dim(0) : Dim(start + (count - 1) * stride + 1));
    both.strides.push_back(stride);
  }
  return m.make(ops::slice, both, {m.operand_of(*inner, 0)});
}
std::vector<ir::Graph> slice_domain() {
  std::vector<SliceAttrs> of_five;
  for (int64_t start = 0; start <= 5; ++start) {
    for (int64_t limit = start; limit <= 5; ++limit) {
      for (const int64_t stride : {1, 2, 3}) of_five.push_back({{start}, {limit}, {stride}});
    }
  }
  std::vector<ir::Graph> graphs;
  for (const SliceAttrs& first : of_five) {
    const auto start = first.start[0].number(), limit = first.limit[0].number();
    const int64_t n = (limit - start + first.strides[0] - 1) / first.strides[0];
    for (const SliceAttrs& second : of_five) {
      if (second.limit[0].number() > n) continue;
      graphs.push_back(d::graph({{f32, {5}}}, [&](ir::Builder& b, auto in) {
        return d::call(b, ops::slice, second, {d::call(b, ops::slice, first, {in[0]})});
      }));
    }
    graphs.push_back(
        d::graph({{f32, {5}}}, [&](ir::Builder& b, auto in) { return d::call(b, ops::slice, first, {in[0]}); }));
  }
  return graphs;
}

// Padding and cutting by nothing; a negative padding on one side may keep the type and is something.
Result pad_by_nothing(const Match& m) {
  const auto& attrs = m.attrs<PadAttrs>();
  for (size_t i = 0; i < attrs.low.size(); ++i) {
    if (attrs.low[i] != 0 || attrs.high[i] != 0) return std::nullopt;
  }
  return same_type(m);
}
std::vector<ir::Graph> pad_domain() {
  std::vector<ir::Graph> graphs;
  for (const int64_t n : {0, 1, 4}) {
    for (int64_t low = -2; low <= 2; ++low) {
      for (int64_t high = -2; high <= 2; ++high) {
        for (const int64_t interior : {0, 1}) {
          const int64_t spread = n == 0 ? 0 : n + (n - 1) * interior;
          if (spread + low + high < 0) continue;
          graphs.push_back(d::graph({{f32, {n}}, {f32, {}}}, [&](ir::Builder& b, auto in) {
            return d::call(b, ops::pad, PadAttrs{{low}, {high}, {interior}}, {in[0], in[1]});
          }));
        }
      }
    }
  }
  return graphs;
}

Result reverse_of_reverse(const Match& m) {
  const ir::Node* inner = m.made_by(0, ops::reverse);
  if (!inner) return std::nullopt;
  return inner->attrs.as<AxesAttrs>().axes == m.attrs<AxesAttrs>().axes ? Result(m.operand_of(*inner, 0))
                                                                        : std::nullopt;
}
std::vector<ir::Graph> reverse_domain() {
  std::vector<ir::Graph> graphs;
  for (const Ints& first : {Ints{0}, Ints{1}, Ints{0, 1}}) {
    for (const Ints& second : {Ints{0}, Ints{1}, Ints{0, 1}}) {
      graphs.push_back(d::graph({{f32, {2, 3}}}, [&](ir::Builder& b, auto in) {
        return d::call(b, ops::reverse, AxesAttrs{second}, {d::call(b, ops::reverse, AxesAttrs{first}, {in[0]})});
      }));
    }
  }
  return graphs;
}

Result concatenate_one(const Match& m) { return m.inputs() == 1 ? Result(m.in(0)) : std::nullopt; }
std::vector<ir::Graph> concatenate_domain() {
  return {d::graph({{f32, {2, 3}}},
                   [](ir::Builder& b, auto in) { return d::call(b, ops::concatenate, AxisAttrs{1}, {in[0]}); }),
          d::graph({{f32, {2, 3}}, {f32, {2, 1}}},
                   [](ir::Builder& b, auto in) { return d::call(b, ops::concatenate, AxisAttrs{1}, {in[0], in[1]}); })};
}

Result known_extent(const Match& m) {
  const Dim extent = m.in_type(0).shape[m.attrs<AxisAttrs>().axis];
  if (!extent.is_number()) return std::nullopt;
  return m.make(ops::constant, ConstantAttrs{i32, {}, extent.number()}, {});
}
std::vector<ir::Graph> extent_domain() {
  std::vector<ir::Graph> graphs;
  for (const Shape& shape : {Shape{0}, Shape{1}, Shape{3, 70000}}) {
    for (int64_t axis = 0; axis < shape.rank(); ++axis)
      graphs.push_back(d::graph({{u8, shape}}, [&](ir::Builder& b, auto in) {
        return d::call(b, ops::get_dimension_size, AxisAttrs{axis}, {in[0]});
      }));
  }
  return graphs;
}

// --- pooling ---

// Only where a window's largest element lies does its gradient pass, and that element is the pooled one: so the mask
// is applied to the small side. The pooled values are those of the forward pass.
Result mask_before_pool_grad(const Match& m) {
  const ir::Node* pool = m.made_by(1, ops::max_pool_grad);
  if (!pool || m.operand_of(*pool, 0) != m.in(0)) return std::nullopt;
  const AttrRef window = pool->attrs;
  const ValueId ct = m.operand_of(*pool, 1);  // before a new call moves the nodes
  const ValueId masked = m.make(ops::relu_grad, {}, {m.make(ops::max_pool, window, {m.in(0)}), ct});
  return m.make(ops::max_pool_grad, window, {m.in(0), masked});
}
std::vector<ir::Graph> pool_domain() {
  std::vector<ir::Graph> graphs;
  for (const int64_t n : {1, 4, 5}) {
    for (const int64_t window : {1, 2, 3}) {
      for (const int64_t stride : {1, 2, 3}) {
        for (const int64_t low : {0, 1}) {
          if (n + low < window || low >= window) continue;
          PoolAttrs attrs;
          attrs.window = {window}, attrs.strides = {stride}, attrs.low = {low}, attrs.high = {0};
          for (const DType dtype : {f32, f64, bf16}) {
            const TensorType x{dtype, {1, n, 2}}, ct{dtype, {1, (n + low - window) / stride + 1, 2}};
            graphs.push_back(d::graph({x, ct}, [&](ir::Builder& b, auto in) {
              return d::call(b, ops::relu_grad, {}, {in[0], d::call(b, ops::max_pool_grad, attrs, {in[0], in[1]})});
            }));
            graphs.push_back(d::graph({x, ct, x}, [&](ir::Builder& b, auto in) {
              return d::call(b, ops::relu_grad, {}, {in[2], d::call(b, ops::max_pool_grad, attrs, {in[0], in[1]})});
            }));
          }
        }
      }
    }
  }
  return graphs;
}

const Rule kRules[] = {
    {"reshape_of_nothing", "reshape(x, own shape) = x", Rule::Exact, &ops::reshape, same_type, reshape_domain},
    {"reshape_of_reshape", "reshape(reshape(x, s), t) = reshape(x, t)", Rule::Exact, &ops::reshape, reshape_of_reshape,
     reshape_domain},
    {"reshape_of_constant", "reshape(constant, s) = constant of shape s", Rule::Exact, &ops::reshape, constant_in_shape,
     reshape_domain},
    {"transpose_of_nothing", "transpose(x, own order) = x", Rule::Exact, &ops::transpose, transpose_of_nothing,
     transpose_domain},
    {"transpose_of_transpose", "transpose(transpose(x, p), q) = transpose(x, p[q])", Rule::Exact, &ops::transpose,
     transpose_of_transpose, transpose_domain},
    {"broadcast_of_nothing", "broadcast(x, own shape, own axes) = x", Rule::Exact, &ops::broadcast_in_dim,
     broadcast_of_nothing, broadcast_domain},
    {"broadcast_of_constant", "broadcast(constant, s) = constant of shape s", Rule::Exact, &ops::broadcast_in_dim,
     constant_in_shape, broadcast_domain},
    {"broadcast_of_broadcast", "broadcast(broadcast(x, s, a), t, b) = broadcast(x, t, b[a])", Rule::Exact,
     &ops::broadcast_in_dim, broadcast_of_broadcast, broadcast_domain},
    {"slice_of_slice", "slice(slice(x)) = one slice", Rule::Exact, &ops::slice, slice_of_slice, slice_domain},
    {"slice_of_all", "slice(x, everything) = x", Rule::Exact, &ops::slice, same_type, slice_domain},
    {"pad_by_nothing", "pad(x, 0, 0) = x", Rule::Exact, &ops::pad, pad_by_nothing, pad_domain},
    {"reverse_of_reverse", "reverse(reverse(x, a), a) = x", Rule::Exact, &ops::reverse, reverse_of_reverse,
     reverse_domain},
    {"concatenate_one", "concatenate(x) = x", Rule::Exact, &ops::concatenate, concatenate_one, concatenate_domain},
    {"known_extent", "the extent of a known axis is a constant", Rule::Exact, &ops::get_dimension_size, known_extent,
     extent_domain},
    {"mask_before_pool_grad", "relu_grad(x, max_pool_grad(x, ct)) = max_pool_grad(x, relu_grad(max_pool(x), ct))",
     Rule::Exact, &ops::relu_grad, mask_before_pool_grad, pool_domain},
};

}  // namespace

std::span<const Rule> movement_rules() { return kRules; }

}  // namespace hone::compiler
