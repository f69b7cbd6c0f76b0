#include "tests/fuzz/program.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <sstream>

#include "hone/base/error.h"
#include "hone/base/hash.h"
#include "hone/function/function.h"
#include "hone/function/tape.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/misc.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"
#include "hone/ops/sorting.h"
#include "hone/tensor/half.h"

namespace hone::fuzz {
namespace {

using Pool = std::vector<Tensor>;

const Tensor& pick(Draw& draw, const Pool& pool) {
  // Late values more often, so that programs are deep.
  const auto last = static_cast<int64_t>(pool.size()) - 1;
  return pool[static_cast<size_t>(draw.chance(0.6) ? draw.integer(std::max<int64_t>(0, last - 3), last)
                                                   : draw.integer(0, last))];
}

Tensor any_float(Draw& draw, const Pool& pool) {
  const Tensor x = pick(draw, pool);
  return is_floating(x.dtype()) ? x : cast(x, f32);
}

// Of x's dtype, and broadcasting with it.
Tensor partner(Draw& draw, const Pool& pool, const Tensor& x) {
  for (int i = 0; i < 4; ++i) {
    const Tensor y = pick(draw, pool);
    Shape joined;
    if (broadcast_shapes(x.shape(), y.shape(), joined) && joined.count() <= 4096) return cast(y, x.dtype());
  }
  return full({}, draw.among({0.5, -1.0, 0.0, 1.0, 3.0}), x.dtype());
}

Tensor unary(Draw& draw, const Pool& pool) {
  using F = Tensor (*)(Operand);
  const Tensor x = any_float(draw, pool);
  const F f = draw.among<F>({abs, negate, sign,  floor, ceil, exp,   expm1, log1p,    sigmoid,   tanh,   sin,
                             cos, sqrt,   rsqrt, erf,   relu, relu6, silu,  softplus, hardswish, square, reciprocal});
  return f(x);
}

Tensor binary(Draw& draw, const Pool& pool) {
  using F = Tensor (*)(Operand, Operand);
  const Tensor x = pick(draw, pool);
  const Tensor y = partner(draw, pool, x);
  if (x.dtype() == bool_) return draw.among<F>({logical_and, logical_or, bitwise_xor})(x, y);
  if (!is_floating(x.dtype()))
    return draw.among<F>({add, subtract, multiply, maximum, minimum, bitwise_and, bitwise_or})(x, y);
  return draw.among<F>({add, add, subtract, multiply, multiply, divide, maximum, minimum, atan2})(x, y);
}

// Of numbers in their domain, so that what follows is finite more often than not.
Tensor smooth(Draw& draw, const Pool& pool) {
  using One = Tensor (*)(Operand);
  using Two = Tensor (*)(Operand, Operand);
  const Tensor x = pick(draw, pool);
  if (draw.chance(0.5)) {
    if (draw.chance(0.3)) return draw.among<One>({log, log1p, sqrt, rsqrt, reciprocal, cbrt})(abs(x) + 0.5);
    if (draw.chance(0.2)) return exp(tanh(x));
    return draw.among<One>({abs, negate, sigmoid, tanh, sin, cos, erf, relu, silu, softplus, hardswish, square})(x);
  }
  const Tensor y = partner(draw, pool, x);
  if (draw.chance(0.2)) return draw.chance(0.5) ? x / (abs(y) + 0.5) : pow(abs(x) + 0.5, tanh(y));
  return draw.among<Two>({add, subtract, multiply, maximum, minimum})(x, y);
}

Tensor choose(Draw& draw, const Pool& pool) {
  using F = Tensor (*)(Operand, Operand);
  const Tensor x = pick(draw, pool), y = partner(draw, pool, x);
  if (x.dtype() == bool_) return where(x, y, logical_not(x));
  const Tensor mask = draw.among<F>({less, greater_equal, equal, not_equal})(x, y);
  return draw.chance(0.3) ? mask : where(mask, x, y);
}

// Chains over rows of the last axes, which compile to one kernel.
Tensor over_rows(Draw& draw, const Tensor& x) {
  Ints axes;
  for (int i = static_cast<int>(draw.integer(0, x.rank() - 1)); i < x.rank(); ++i) axes.push_back(i);
  switch (draw.integer(0, 3)) {
    case 0: {
      const Tensor e = exp(x - max(x, axes, true));
      return e / sum(e, axes, true);
    }
    case 1: {
      const Tensor centred = x - mean(x, axes, true);
      return centred * rsqrt(variance(x, axes, true) + 1e-3);
    }
    case 2:
      return x * tanh(mean(abs(x), axes, true));
    default:
      return log(sum(exp(tanh(x)), axes));
  }
}

Tensor reduce(Draw& draw, const Pool& pool) {
  using F = Tensor (*)(Operand, const Axes&, bool);
  const Tensor x = pick(draw, pool);
  if (is_floating(x.dtype()) && x.rank() > 0 && x.size() > 0 && draw.chance(0.4)) return over_rows(draw, x);
  Ints axes;
  for (int i = 0; i < x.rank(); ++i) {
    if (draw.chance(0.5)) axes.push_back(i);
  }
  const bool keep = draw.chance(0.5);
  if (x.dtype() == bool_) return draw.among<F>({all, any})(x, axes, keep);
  bool empty = x.size() == 0;
  if (!is_floating(x.dtype())) return draw.among<F>({sum, prod})(x, axes, keep);
  return empty ? sum(x, axes, keep) : draw.among<F>({sum, sum, mean, max, min, variance})(x, axes, keep);
}

Tensor move(Draw& draw, const Pool& pool) {
  const Tensor x = pick(draw, pool);
  const int rank = x.rank();
  switch (draw.integer(0, 8)) {
    case 0: {
      Ints order;
      for (int i = 0; i < rank; ++i) order.insert(static_cast<size_t>(draw.integer(0, i)), i);
      return transpose(x, order);
    }
    case 1:
      return rank == 0          ? reshape(x, {1, 1})
             : draw.chance(0.5) ? flatten(reshape(x, {x.size()}))
                                : expand_dims(x, static_cast<int>(draw.integer(0, rank)));
    case 2: {
      Shape start, limit;
      Ints strides;
      for (const Dim d : x.shape()) {
        const int64_t n = d.number(), from = draw.integer(0, n), to = draw.integer(from, n);
        start.push_back(from), limit.push_back(to), strides.push_back(draw.integer(1, 2));
      }
      return slice_by(x, start, limit, strides);
    }
    case 3: {
      Ints low, high, interior;
      for (const Dim d : x.shape()) {
        const int64_t n = d.number();
        low.push_back(draw.integer(n > 1 ? -1 : 0, 2)), high.push_back(draw.integer(0, 2)),
            interior.push_back(draw.integer(0, 1));
      }
      return pad(x, low, high, 0, interior);
    }
    case 4:
      return rank == 0 ? x : reverse(x, {draw.integer(0, rank - 1)});
    case 5:
      return rank == 0 ? stack(std::array{x, x})
                       : concatenate(std::array{x, x}, static_cast<int>(draw.integer(0, rank - 1)));
    case 6: {
      if (rank > 4 || x.size() > 1000) return x;
      Shape wide = x.shape();
      wide.insert(0, draw.integer(1, 3));
      return broadcast_to(x, wide);
    }
    case 7:
      return rank > 0 && x.shape()[0].number() % 2 == 0 ? split(x, 2, 0)[static_cast<size_t>(draw.integer(0, 1))]
                                                        : identity(x);
    default:
      return cast(x, draw.among({f32, f32, f64, f16, bf16, i32, bool_}));
  }
}

Tensor network(Draw& draw, const Pool& pool) {
  Tensor x = any_float(draw, pool);
  const auto too_large = [](int64_t n) { return n > 128; };
  if (x.rank() == 0 || x.size() == 0 || too_large(x.size() / x.dim(-1)) || too_large(x.size() / x.dim(0))) return x + 1;
  switch (draw.integer(0, 6)) {
    case 0:
      return softmax(x);
    case 1:
      return layer_norm(x, ones({x.shape().dim(-1)}, compute_type(x.dtype()) == f64 ? f64 : x.dtype()),
                        zeros({x.shape().dim(-1)}, x.dtype()));
    case 2: {
      const Tensor m = reshape(x, {-1, x.shape().dim(-1)});
      return matmul(m, m, {.transpose_b = true});
    }
    case 3: {
      const Tensor m = reshape(x, {x.shape()[0], -1});
      return matmul(m, m, {.transpose_a = true});
    }
    case 4:
      return gelu(x, draw.chance(0.5));
    case 5:
      return x * random::uniform(random::state(draw.word()), x.shape(), 0, 1, x.dtype()).second;
    default:
      return cast(argmax(x, -1), f32);
  }
}

// Of a tape around a branch that is taken eagerly the graph may add up gradients in another order: those are held to a
// bound, in smooth programs.
Tensor controlled(Draw& draw, const Pool& pool, const Program& program) {
  if (program.gradients && !program.smooth) return pick(draw, pool);
  const bool differentiable = program.smooth;
  const Tensor x = any_float(draw, pool);
  return control(draw, x, partner(draw, pool, x), differentiable);
}

Tensor state(Draw& draw, const Pool& pool, const std::vector<Variable>& variables) {
  const Variable& v = variables[static_cast<size_t>(draw.integer(0, static_cast<int64_t>(variables.size()) - 1))];
  if (draw.chance(0.4)) return v.value();
  if (draw.chance(0.5)) {
    v.assign(v.value() * 0.5F + 1.0F);
    return v.value();
  }
  const Tensor x = any_float(draw, pool);
  v.assign_add(cast(mean(x), f32) * (x.size() == 0 ? 0.0F : 0.1F));
  return draw.chance(0.5) ? v.value() : v.value() + 1;
}

}  // namespace

std::string Program::text() const {
  std::string out = fmt::format("inputs {:#x}{}{}{}:", inputs, gradients ? " gradients" : "", smooth ? " smooth" : "",
                                large ? " large" : "");
  for (const uint64_t each : instructions) out += fmt::format(" {:#x}", each);
  return out;
}

bool parse_program(std::string_view text, Program& program) {
  program = {};
  const size_t colon = text.find(':');
  if (!text.starts_with("inputs ") || colon == text.npos) return false;
  const std::string head(text.substr(0, colon)), rest(text.substr(colon + 1));
  program.inputs = std::stoull(head.substr(7), nullptr, 16);
  program.gradients = head.find(" gradients") != head.npos;
  program.smooth = head.find(" smooth") != head.npos;
  program.large = head.find(" large") != head.npos;
  std::istringstream words(rest);
  for (std::string word; words >> word;) program.instructions.push_back(std::stoull(word, nullptr, 16));
  return true;
}

namespace {

Program drawn(uint64_t seed, Draw& draw) {
  Program program{seed, {}, draw.chance(0.4)};
  const int64_t n = draw.integer(1, draw.chance(0.1) ? 80 : 16);
  for (int64_t i = 0; i < n; ++i)
    program.instructions.push_back(static_cast<uint64_t>(draw.word()) << 16 | static_cast<uint64_t>(i));
  return program;
}

}  // namespace

Program random_program(uint64_t seed) {
  Draw draw(seed * 2654435761U + 17);
  return drawn(seed, draw);
}

Program smooth_program(uint64_t seed) {
  Draw draw(seed * 2654435761U + 18);
  Program program = drawn(seed, draw);
  program.gradients = program.smooth = true;
  return program;
}

Program large_program(uint64_t seed) {
  Draw draw(seed * 2654435761U + 19);
  Program program = drawn(seed, draw);
  program.large = true;
  return program;
}

std::vector<Tensor> inputs_of(const Program& program) {
  Draw draw(program.inputs ^ 0x5eed);
  std::vector<Tensor> inputs;
  const int64_t n = draw.integer(1, 3);
  for (int64_t i = 0; i < n; ++i) {
    Shape shape = draw.shape(0, 4, 5);
    if (draw.chance(0.2)) shape = {draw.among<int64_t>({15, 16, 17, 63, 64, 65, 1000, 1025})};
    if (draw.chance(0.1)) shape = {draw.among<int64_t>({1, 3, 33}), draw.among<int64_t>({31, 32, 130})};
    if (program.large) shape = {draw.among<int64_t>({1, 33, 513}), draw.among<int64_t>({63, 128, 1031})};
    const DType dtype = draw.chance(0.7) ? f32 : draw.dtype();
    if (program.smooth)
      inputs.push_back(random::uniform(random::state(draw.word()), shape, -2, 2, f64).second);
    else
      inputs.push_back(draw.tensor(dtype, shape));
  }
  return inputs;
}

std::vector<Variable> variables_of(const Program& program) {
  Draw draw(program.inputs ^ 0x7a11);
  std::vector<Variable> variables;
  for (const Shape& shape : {Shape{}, Shape{draw.integer(1, 20)}})
    variables.emplace_back(cast(draw.tensor(f32, shape), f32).dense());
  return variables;
}

std::vector<Tensor> run(const Program& program, const std::vector<Tensor>& inputs,
                        const std::vector<Variable>& variables) {
  std::optional<GradientTape> tape;
  Pool pool;
  for (const Tensor& input : inputs) pool.push_back(identity(input));
  const Pool sources = pool;
  const DType wide = program.smooth ? f64 : f32;
  const int64_t largest = program.large ? 600'000 : 5000;
  if (program.gradients) {
    tape.emplace();
    for (const Tensor& source : sources) {
      if (is_floating(source.dtype())) tape->watch(source);
    }
  }
  for (const uint64_t seed : program.instructions) {
    Draw draw(seed);
    const double kind = draw.unit();
    Tensor made = program.smooth && kind < 0.5 ? smooth(draw, pool)
                  : kind < 0.25                ? unary(draw, pool)
                  : kind < 0.5                 ? binary(draw, pool)
                  : kind < 0.58                ? choose(draw, pool)
                  : kind < 0.68                ? reduce(draw, pool)
                  : kind < 0.85                ? move(draw, pool)
                  : kind < 0.91                ? network(draw, pool)
                  : kind < 0.955               ? controlled(draw, pool, program)
                  : program.smooth             ? pick(draw, pool)
                                               : state(draw, pool, variables);
    if (made.size() <= largest && !(program.smooth && made.dtype() != f64)) pool.push_back(made);
  }
  std::vector<Tensor> results;
  Tensor total = full({}, 0.0, wide);
  for (size_t i = sources.size(); i < pool.size(); ++i) {
    const bool last = i + 1 == pool.size();
    if (!program.smooth && (last || program.instructions[i - sources.size()] % 3 == 0)) results.push_back(pool[i]);
    if ((tape || program.smooth) && is_floating(pool[i].dtype()) && (last || i % 4 == 0))
      total = total + cast(sum(pool[i]), wide);
  }
  if (program.smooth) results.push_back(total);
  if (tape) {
    const std::vector<Tensor> gradients = tape->gradient(total, std::span<const Tensor>(sources));
    for (size_t i = 0; i < sources.size(); ++i)
      results.push_back(gradients[i].defined() ? gradients[i]
                                               : zeros_like(sources[i]));  // a branch not taken gives none
  }
  return results;
}

uint64_t hash_of_results(std::span<const Tensor> results) {
  uint64_t hash = 0;
  for (const Tensor& result : results) {
    const Tensor dense = result.dense();
    hash = hash_combine(hash, hash_of(to_string(dense.type())));
    visit_dtype(dense.dtype(), [&]<class T>(T) {
      for (int64_t i = 0; i < dense.size(); ++i) {
        const T value = static_cast<const T*>(dense.raw())[i];
        bool nan = false;
        if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>)
          nan = std::isnan(to_float(value));
        else if constexpr (std::is_floating_point_v<T>)
          nan = std::isnan(value);
        uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        hash = hash_combine(hash, nan ? ~uint64_t{0} : bits);
      }
    });
  }
  return hash;
}

uint64_t hash_of_run(const Program& program) {
  const std::vector<Tensor> inputs = inputs_of(program);
  const std::vector<Variable> variables = variables_of(program);
  const auto f = function([&](const std::vector<Tensor>& xs) { return run(program, xs, variables); });
  try {
    std::vector<Tensor> results = f(inputs);
    for (const Variable& variable : variables) results.push_back(variable.value());
    return hash_of_results(results);
  } catch (const Error&) {
    return 0;
  }
}

Program minimise(Program program, const std::function<bool(const Program&)>& fails) {
  for (size_t chunk = program.instructions.size(); chunk > 0; chunk /= 2) {
    for (size_t at = 0; at < program.instructions.size();) {
      Program less = program;
      const auto first = less.instructions.begin() + static_cast<std::ptrdiff_t>(at);
      less.instructions.erase(first,
                              first + static_cast<std::ptrdiff_t>(std::min(chunk, less.instructions.size() - at)));
      if (!less.instructions.empty() && fails(less))
        program = std::move(less);
      else
        at += chunk;
    }
  }
  return program;
}

}  // namespace hone::fuzz
