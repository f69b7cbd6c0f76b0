// Rules that move transposes and reshapes through elementwise calls, where two of them meet and go. What a library call
// reads stays as it is: a dense value of the same type.
#include "hone/compiler/rule_domain.h"
#include "hone/compiler/rules.h"

namespace hone::compiler {
namespace {

using ir::ValueId;
using Result = std::optional<ValueId>;
namespace d = domain;

constexpr int kDepth = 8;  // elementwise calls one below the other

bool elementwise(const ir::Node& node) {
  return node.results == 1 && (node.op->op_class == OpClass::Elementwise || node.op == &ops::convert);
}

// A call that nobody else reads, over operands of its own shape.
const ir::Node* passable(const Match& m, ValueId value) {
  const ir::Node* node = m.producer(value);
  if (!node || !elementwise(*node) || m.readers(value) > 1) return nullptr;
  for (size_t i = 0; i < node->operands; ++i) {
    if (!(m.type_of(m.operand_of(*node, i)).shape == m.type_of(value).shape)) return nullptr;
  }
  return node;
}

// The call on other operands.
ValueId again(const Match& m, const ir::Node& node, std::span<const ValueId> operands) {
  return m.make(*node.op, node.attrs, operands);
}

// --- transpose ---

// A value in another order of axes.
class Reorder {
 public:
  Reorder(const Match& m, const Ints& order) : m_(m), order_(order) {}

  /// Counts transposes that go and that come.
  void count(ValueId value, int depth = 0) {
    const ir::Node* node = m_.producer(value);
    if (m_.splat(value) || (node && node->op == &ops::broadcast_in_dim)) return;
    if (node && node->op == &ops::transpose && undoes(*node)) {
      gone += m_.readers(value) > 1 ? 0 : 1;
    } else if (const ir::Node* call = depth < kDepth ? passable(m_, value) : nullptr) {
      for (size_t i = 0; i < call->operands; ++i) count(m_.operand_of(*call, i), depth + 1);
    } else {
      ++come;
    }
  }

  ValueId make(ValueId value, int depth = 0) {
    const ir::Node* node = m_.producer(value);
    const TensorType& type = m_.type_of(value);
    Shape shape;
    for (const int64_t axis : order_) shape.push_back(type.shape[axis]);
    if (const auto bits = m_.splat(value)) return m_.make(ops::constant, ConstantAttrs{type.dtype, shape, *bits}, {});
    if (node && node->op == &ops::broadcast_in_dim) {
      Ints places(order_.size(), 0), axes;
      for (size_t i = 0; i < order_.size(); ++i) places[order_[i]] = static_cast<int64_t>(i);
      for (const int64_t axis : node->attrs.as<BroadcastAttrs>().dimensions) axes.push_back(places[axis]);
      return m_.make(ops::broadcast_in_dim, BroadcastAttrs{shape, axes}, {m_.operand_of(*node, 0)});
    }
    if (node && node->op == &ops::transpose && undoes(*node)) return m_.operand_of(*node, 0);
    if (const ir::Node* call = depth < kDepth ? passable(m_, value) : nullptr) {
      SmallVector<ValueId, 4> operands;
      const ir::Node kept = *call;  // making calls moves the others
      for (size_t i = 0; i < kept.operands; ++i) operands.push_back(make(m_.operand_of(kept, i), depth + 1));
      return again(m_, kept, {operands.data(), operands.size()});
    }
    return m_.make(ops::transpose, TransposeAttrs{order_}, {value});
  }

  int gone = 0, come = 0;

 private:
  bool undoes(const ir::Node& node) const {
    const Ints& first = node.attrs.as<TransposeAttrs>().permutation;
    for (size_t i = 0; i < order_.size(); ++i) {
      if (first[order_[i]] != static_cast<int64_t>(i)) return false;
    }
    return true;
  }

  const Match& m_;
  const Ints& order_;
};

Result transpose_of_elementwise(const Match& m) {
  if (!passable(m, m.in(0))) return std::nullopt;
  Reorder reorder(m, m.attrs<TransposeAttrs>().permutation);
  reorder.count(m.in(0));
  if (reorder.come > reorder.gone) return std::nullopt;
  return reorder.make(m.in(0));
}

// Two transposes by one order, read here only, become one behind the call.
Result elementwise_of_transposes(const Match& m) {
  const ir::Node* first = nullptr;
  int found = 0;
  for (size_t i = 0; i < m.inputs(); ++i) {
    if (!(m.in_type(i).shape == m.type().shape)) return std::nullopt;
    const ir::Node* node = m.made_by(i, ops::transpose);
    if (!node) {
      const ir::Node* other = m.producer(m.in(i));
      if (m.splat_bits(i) || (other && other->op == &ops::broadcast_in_dim)) continue;
      return std::nullopt;
    }
    if (first && !(first->attrs.as<TransposeAttrs>().permutation == node->attrs.as<TransposeAttrs>().permutation))
      return std::nullopt;
    if (m.readers(m.in(i)) > 1) return std::nullopt;
    first = node, ++found;
  }
  if (found < 2) return std::nullopt;
  const Ints order = first->attrs.as<TransposeAttrs>().permutation;
  Ints back(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<int64_t>(i);
  Reorder reorder(m, back);
  SmallVector<ValueId, 4> operands;
  for (size_t i = 0; i < m.inputs(); ++i) operands.push_back(reorder.make(m.in(i), kDepth));
  return m.make(ops::transpose, TransposeAttrs{order}, {again(m, m.node(), {operands.data(), operands.size()})});
}

// (op, operands): programs over x and y in one order of axes.
struct Call {
  const Op* op;
  Attrs attrs;
  int operands;
};
std::vector<Call> calls() {
  return {{&ops::tanh, {}, 1}, {&ops::subtract, {}, 2}, {&ops::convert, Attrs(DTypeAttrs{f64}), 1}};
}

std::vector<ir::Graph> transpose_domain() {
  std::vector<ir::Graph> graphs;
  for (const Shape& shape : {Shape{2, 3}, Shape{1, 3}, Shape{0, 2}, Shape{2, 2}, Shape{2, 3, 4}}) {
    for (const Ints& first : d::permutations(shape.rank())) {
      Shape turned;
      for (const int64_t axis : first) turned.push_back(shape[axis]);
      const TensorType x{f32, shape}, y{f32, turned}, row{f32, {turned[turned.size() - 1]}};
      const auto turn = [&](ir::Builder& b, ValueId v) {
        return d::call(b, ops::transpose, TransposeAttrs{first}, {v});
      };
      for (const Ints& second : d::permutations(shape.rank())) {
        const auto back = [&](ir::Builder& b, ValueId v) {
          return d::call(b, ops::transpose, TransposeAttrs{second}, {v});
        };
        for (const Call& c : calls()) {
          if (c.operands == 1) {
            graphs.push_back(d::graph(
                {x}, [&](ir::Builder& b, auto in) { return back(b, d::call(b, *c.op, c.attrs, {turn(b, in[0])})); }));
            continue;
          }
          graphs.push_back(d::graph({x, x}, [&](ir::Builder& b, auto in) {
            return back(b, d::call(b, *c.op, c.attrs, {turn(b, in[0]), turn(b, in[1])}));
          }));
          graphs.push_back(d::graph({x, y}, [&](ir::Builder& b, auto in) {
            return back(b, d::call(b, *c.op, c.attrs, {turn(b, in[0]), in[1]}));
          }));
          graphs.push_back(d::graph({x, row}, [&](ir::Builder& b, auto in) {
            const BroadcastAttrs along{turned, {static_cast<int64_t>(turned.size()) - 1}};
            const ValueId repeated = d::call(b, ops::broadcast_in_dim, along, {in[1]});
            const ValueId once = d::call(b, ops::tanh, {}, {turn(b, in[0])});
            return back(b, d::call(b, *c.op, c.attrs, {once, repeated}));
          }));
          if (!(shape == Shape{2, 2})) continue;
          graphs.push_back(d::graph({x}, [&](ir::Builder& b, auto in) {  // the call has another reader
            const ValueId once = d::call(b, *c.op, c.attrs, {turn(b, in[0]), d::constant(b, y, 3)});
            return d::call(b, ops::multiply, {}, {back(b, once), once});
          }));
        }
      }
    }
  }
  return graphs;
}

// --- reshape ---

Result in_shape(const Match& m, ValueId value, const Shape& shape, int depth, int& gone) {
  const TensorType type = m.type_of(value);
  if (const auto bits = m.splat(value)) return m.make(ops::constant, ConstantAttrs{type.dtype, shape, *bits}, {});
  const ir::Node* node = m.producer(value);
  if (node && node->op == &ops::reshape && m.type_of(m.operand_of(*node, 0)).shape == shape)
    return ++gone, m.operand_of(*node, 0);
  const ir::Node* call = depth < kDepth ? passable(m, value) : nullptr;
  if (!call) return std::nullopt;
  SmallVector<ValueId, 4> operands;
  const ir::Node kept = *call;
  for (size_t i = 0; i < kept.operands; ++i) {
    const Result operand = in_shape(m, m.operand_of(kept, i), shape, depth + 1, gone);
    if (!operand) return std::nullopt;
    operands.push_back(*operand);
  }
  return again(m, kept, {operands.data(), operands.size()});
}

Result reshape_of_elementwise(const Match& m) {
  int gone = 0;
  if (!passable(m, m.in(0))) return std::nullopt;
  const Result value = in_shape(m, m.in(0), m.type().shape, 0, gone);
  return gone > 0 ? value : std::nullopt;
}

std::vector<ir::Graph> reshape_domain() {
  std::vector<ir::Graph> graphs;
  for (const Shape& from : d::shapes(2)) {
    for (const Shape& to : d::shapes(2)) {
      if (!(from.elements() == to.elements())) continue;
      const auto there = [&](ir::Builder& b, ValueId v) { return d::call(b, ops::reshape, ShapeAttrs{to}, {v}); };
      const auto back = [&](ir::Builder& b, ValueId v) { return d::call(b, ops::reshape, ShapeAttrs{from}, {v}); };
      graphs.push_back(d::graph({{f32, from}}, [&](ir::Builder& b, auto in) {
        return back(b, d::call(b, ops::tanh, {}, {there(b, in[0])}));
      }));
      graphs.push_back(d::graph({{f32, from}, {f32, from}}, [&](ir::Builder& b, auto in) {
        const ValueId scaled = d::call(b, ops::multiply, {}, {there(b, in[0]), d::constant(b, {f32, to}, 3)});
        return back(b, d::call(b, ops::subtract, {}, {scaled, there(b, in[1])}));
      }));
      graphs.push_back(d::graph({{f32, from}, {f32, to}}, [&](ir::Builder& b, auto in) {
        return back(b, d::call(b, ops::subtract, {}, {there(b, in[0]), in[1]}));
      }));
    }
  }
  return graphs;
}

const Rule kRules[] = {
    {"transpose_of_elementwise", "transpose(f(transpose(x, p), y), q) = f(x, transpose(y, q)) where q undoes p",
     Rule::Exact, &ops::transpose, transpose_of_elementwise, transpose_domain},
    {"elementwise_of_transposes", "f(transpose(x, p), transpose(y, p)) = transpose(f(x, y), p)", Rule::Exact, nullptr,
     elementwise_of_transposes, transpose_domain},
    {"reshape_of_elementwise", "reshape(f(reshape(x, s), reshape(y, s)), own shape) = f(x, y)", Rule::Exact,
     &ops::reshape, reshape_of_elementwise, reshape_domain},
};

}  // namespace

std::span<const Rule> reorder_rules() { return kRules; }

}  // namespace hone::compiler
