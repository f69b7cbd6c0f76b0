// Branches and loops in random programs, some within each other.
#include "hone/function/control.h"

#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"
#include "tests/fuzz/program.h"

namespace hone::fuzz {
namespace {

// A small program of a and b with the type of a; the same each time it is called.
struct Small {
  uint64_t seed;
  Tensor operator()(const Tensor& a, const Tensor& b) const {
    using F = Tensor (*)(Operand);
    Draw draw(seed);
    Tensor out = a;
    for (int64_t n = draw.integer(0, 3); n > 0; --n) {
      switch (draw.integer(0, 4)) {
        case 0:
          out = out * 0.5F + 0.25F;
          break;
        case 1:
          out = draw.among<F>({tanh, sin, cos, sigmoid, relu, abs, negate})(out);
          break;
        case 2:
          out = maximum(out, a);
          break;
        case 3:
          out = out - tanh(sum(b)) * 0.25F;
          break;
        default:
          if (const Tensor both = out + tanh(b); both.type() == a.type()) out = both;
      }
    }
    return out;
  }
};

Small small(Draw& draw) { return {static_cast<uint64_t>(draw.word()) + 1}; }

Tensor branch(Draw& draw, const Tensor& x, const Tensor& y) {
  const Small first = small(draw), second = small(draw), third = small(draw);
  if (draw.chance(0.3)) {
    const Tensor index = cast(clamp(sum(y), -2.0, 4.0), i32);
    return switch_case(index, {first, second, third}, x, y);
  }
  if (draw.chance(0.3)) {  // what is captured becomes an operand
    return cond(sum(x) > 0, [&] { return first(x, y); }, [&] { return x; });
  }
  return cond(
      sum(x) > sum(y), first, [&](const Tensor& a, const Tensor& b) { return cond(sum(a) > 0, second, third, a, b); },
      x, y);
}

// x's rows, one after the other.
Tensor rows(Draw& draw, const Tensor& x, const Tensor& y) {
  const Small next = small(draw), out = small(draw);
  ScanOptions options;
  options.reverse = draw.chance(0.4);
  if (draw.chance(0.3)) options.checkpoint = draw.integer(1, 3);
  if (draw.chance(0.2)) options.unroll = draw.integer(1, 3);
  const bool branches = draw.chance(0.3), outside = draw.chance(0.5);
  auto [last, all] = scan(
      [&](const Tensor& carry, const Tensor& row) {
        Tensor then = tanh(next(carry, row)) * 0.5F + row;
        if (outside) then = then + tanh(sum(y));
        if (branches) {
          then = cond(
              sum(then) > 0, [](const Tensor& v) { return v * 0.5F; }, [](const Tensor& v) { return cos(v); }, then);
        }
        return std::pair(then, out(then, carry));
      },
      sum(x, 0), x, options);
  return draw.chance(0.5) ? all : last;
}

Tensor loop(Draw& draw, const Tensor& x, const Tensor& y, bool differentiable) {
  const Small body = small(draw);
  const auto times = static_cast<int32_t>(draw.integer(0, 4));
  if (differentiable || draw.chance(0.5)) {
    return fori_loop(
        0, times, [&](const Tensor& i, const Tensor& v) { return tanh(body(v, y)) + cast(i, v.dtype()) * 0.25F; }, x);
  }
  return while_loop([&](const std::vector<Tensor>& c) { return less(c[1], times); },
                    [&](const std::vector<Tensor>& c) { return std::vector<Tensor>{tanh(body(c[0], y)), c[1] + 1}; },
                    std::vector<Tensor>{x, Tensor(0)})[0];
}

}  // namespace

Tensor control(Draw& draw, const Tensor& x, const Tensor& y, bool differentiable) {
  constexpr int64_t kRows = 8, kElements = 300;
  if (x.size() > kElements || x.size() == 0) return branch(draw, x, y);
  const bool may_scan = x.rank() > 0 && x.dim(0) <= kRows;
  switch (draw.integer(0, 2)) {
    case 0:
      return branch(draw, x, y);
    case 1:
      if (may_scan) return rows(draw, x, y);
      [[fallthrough]];
    default:
      return loop(draw, x, y, differentiable);
  }
}

}  // namespace hone::fuzz
