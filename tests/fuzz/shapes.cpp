#include "hone/ops/attrs.h"
#include "hone/ops/creation.h"
#include "hone/ops/misc.h"
#include "hone/ops/movement.h"
#include "hone/ops/reduction.h"
#include "hone/ops/sorting.h"
#include "tests/fuzz/functions.h"

namespace hone::fuzz {
namespace {

Results pair(std::pair<Tensor, Tensor> both) { return {both.first, both.second}; }

// A factorisation of about as many elements, sometimes with a -1.
Shape regrouped(Draw& d, const Tensor& x) {
  if (d.chance(0.2)) return d.shape();
  Shape out;
  int64_t rest = x.size();
  for (int i = 0; i < 3; ++i) {
    const int64_t part = d.integer(1, 4);
    if (rest % part != 0) continue;
    rest /= part;
    out.push_back(part);
  }
  out.push_back(d.chance(0.3) ? -1 : rest);
  return out;
}

Axes axes(Draw& d, const Tensor& x) {
  if (d.chance(0.3)) return {};
  return d.axes(x);
}

Tensor indexed(Draw& d, const Tensor& x) {
  const auto one = [&]() -> Index {
    const double kind = d.unit();
    if (kind < 0.35) return d.integer(-4, 4);
    if (kind < 0.8) {
      Slice s;
      if (d.chance(0.6)) s.start = d.integer(-6, 6);
      if (d.chance(0.6)) s.stop = d.integer(-6, 6);
      if (d.chance(0.02)) s.stop = INT64_MIN;
      s.step = d.chance(0.6) ? 1 : d.integer(-3, 3);
      if (d.chance(0.02)) s.step = d.among({INT64_MIN, INT64_MAX});
      return s;
    }
    if (kind < 0.9) return ellipsis;
    return newaxis;
  };
  switch (d.integer(0, 3)) {
    case 0:
      return x[one()];
    case 1:
      return x[{one(), one()}];
    case 2:
      return x[{one(), one(), one()}];
    default:
      return x[d.tensor(d.chance(0.9) ? bool_ : f32, d.chance(0.8) ? x.shape() : d.near(x.shape()))];
  }
}

std::vector<Tensor> parts(Draw& d) {
  const Tensor first = d.tensor();
  std::vector<Tensor> list{first};
  for (int64_t n = d.integer(0, 3); n > 0; --n) {
    Shape shape = first.shape();
    if (!shape.empty() && d.chance(0.4)) shape[d.integer(0, shape.rank() - 1)] = d.integer(0, 4);
    list.push_back(d.tensor(d.chance(0.9) ? first.dtype() : d.dtype(), shape));
  }
  if (d.chance(0.03)) list.clear();
  return list;
}

}  // namespace

std::vector<Entry> shape_functions() {
  std::vector<Entry> list = {
      {"full, zeros_like",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         return {full(x.shape(), d.unit(), d.dtype()), zeros_like(x), ones_like(x)};
       }},
      {"iota", [](Draw& d) -> Results { return {iota(d.shape(), static_cast<int>(d.integer(-2, 4)), d.dtype())}; }},
      {"arange",
       [](Draw& d) -> Results {
         const double start = d.unit() * 10 - 5, stop = d.unit() * 20 - 5, step = d.chance(0.1) ? 0 : d.unit() * 3 - 1;
         return {arange(start, stop, step, d.dtype())};
       }},
      {"linspace", [](Draw& d) -> Results { return {linspace(d.unit(), d.unit() * 5, d.integer(-1, 9), d.dtype())}; }},
      {"eye, tri",
       [](Draw& d) -> Results {
         const int64_t rows = d.integer(-1, 5), columns = d.integer(-1, 5);
         return {eye(rows, columns, d.dtype()), tri(rows, columns, d.integer(-6, 6), d.dtype())};
       }},
      {"random::bits",
       [](Draw& d) -> Results {
         return pair(random::bits(random::state(d.word()), d.shape(), d.chance(0.9) ? d.among({u32, u64}) : d.dtype()));
       }},
      {"random::uniform",
       [](Draw& d) -> Results {
         return pair(
             random::uniform(random::state(d.word()), d.shape(), -1, 2, d.chance(0.8) ? d.floating() : d.dtype()));
       }},
      {"random::normal",
       [](Draw& d) -> Results {
         return pair(random::normal(d.chance(0.9) ? random::state(d.word()) : d.tensor(), d.shape(), 1, 2,
                                    d.chance(0.8) ? d.floating() : d.dtype()));
       }},
      {"reshape",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         return {reshape(x, regrouped(d, x)), flatten(x)};
       }},
      {"transpose",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         Ints order;
         for (int i = 0; i < x.rank(); ++i) order.insert(static_cast<size_t>(d.integer(0, i)), i);
         if (d.chance(0.1)) order = d.ints(static_cast<size_t>(x.rank()), -3, 3);
         return {transpose(x, order), transpose(x)};
       }},
      {"swap_axes",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         const int a = d.axis(x), b = d.axis(x);
         return {swap_axes(x, a, b)};
       }},
      {"broadcast_to",
       [](Draw& d) -> Results {
         const Shape shape = d.shape();
         return {broadcast_to(d.tensor(d.dtype(), d.near(shape)), shape)};
       }},
      {"broadcast_in_dim",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor(d.dtype(), d.shape(0, 2));
         Shape shape = x.shape();
         shape.push_back(d.integer(0, 4));
         Ints dimensions;
         for (int i = 0; i < x.rank(); ++i) dimensions.push_back(i);
         if (d.chance(0.3)) dimensions = d.ints(static_cast<size_t>(x.rank()), -1, 3);
         return {broadcast_in_dim(x, shape, dimensions)};
       }},
      {"expand_dims, squeeze",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor(),
                      wide = expand_dims(x, d.chance(0.9) ? static_cast<int>(d.integer(-x.rank() - 1, x.rank())) : 7);
         return {wide, squeeze(wide), squeeze(wide, d.axes(wide))};
       }},
      {"concatenate",
       [](Draw& d) -> Results {
         const std::vector<Tensor> list = parts(d);
         return {concatenate(list, static_cast<int>(d.integer(-4, 3)))};
       }},
      {"stack", [](Draw& d) -> Results { return {stack(parts(d), static_cast<int>(d.integer(-4, 3)))}; }},
      {"split",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         return split(x, d.integer(-1, 5), d.axis(x));
       }},
      {"split by sizes",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         const int axis = d.axis(x);
         const int64_t extent = axis >= -x.rank() && axis < x.rank() ? x.dim(axis) : 3, first = d.integer(-1, 5);
         const std::vector<int64_t> sizes{first, d.chance(0.8) ? extent - first : d.integer(-1, 5)};
         return split(x, sizes, axis);
       }},
      {"unstack",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         return unstack(x, d.axis(x));
       }},
      {"slice_by",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         Shape start, limit;
         for (Dim extent : x.shape()) {
           const int64_t low = d.integer(0, extent.number());
           start.push_back(d.chance(0.05) ? -1 : low);
           limit.push_back(d.chance(0.9) ? d.integer(low, extent.number()) : d.integer(-1, 7));
         }
         return {slice_by(x, start, limit, d.chance(0.5) ? Ints() : d.ints(static_cast<size_t>(x.rank()), 0, 3))};
       }},
      {"pad",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         const auto n = static_cast<size_t>(x.rank());
         const Ints low = d.ints(n, -2, 3), high = d.ints(n, -2, 3);
         return {pad(x, low, high, 1, d.chance(0.5) ? Ints() : d.ints(n, d.chance(0.1) ? -1 : 0, 2))};
       }},
      {"reverse",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         return {reverse(x, d.axes(x))};
       }},
      {"tile",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         return {tile(x, d.ints(static_cast<size_t>(x.rank()), d.chance(0.1) ? -1 : 0, 3))};
       }},
      {"repeat, roll",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         const int axis = d.axis(x);
         const int64_t shift = d.chance(0.05) ? d.among({INT64_MIN, INT64_MAX}) : d.integer(-9, 9);
         return {roll(x, shift, axis), repeat(x, d.chance(0.03) ? INT64_MAX : d.integer(-1, 3), axis)};
       }},
      {"dynamic_slice",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         Shape sizes;
         std::vector<Tensor> start;
         for (Dim extent : x.shape()) {
           sizes.push_back(d.chance(0.95) ? d.integer(0, extent.number()) : d.integer(-1, 7));
           start.push_back(d.indices({}, -6, 6));
         }
         const Tensor block = dynamic_slice(x, start, sizes);
         return {block, dynamic_update_slice(x, d.chance(0.9) ? block : d.tensor(), start)};
       }},
      {"take",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         return {take(x, d.indices(d.shape(0, 2), -6, 6), d.axis(x))};
       }},
      {"take_along_axis",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         const int axis = d.axis(x);
         Shape shape = x.shape();
         if (axis >= 0 && axis < x.rank()) shape[axis] = d.integer(0, 5);
         return {take_along_axis(x, d.indices(shape, -6, 6), axis)};
       }},
      {"scatter_add, scatter_set",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor(d.dtype(), d.shape(1, 3)), at = d.indices(d.shape(0, 2), -2, 6);
         Shape shape = at.shape();
         for (int i = 1; i < x.rank(); ++i) shape.push_back(x.shape()[i]);
         const Tensor updates = d.tensor(x.dtype(), d.near(shape));
         return {scatter_add(x, at, updates), scatter_set(x, at, updates)};
       }},
      {"one_hot",
       [](Draw& d) -> Results { return {one_hot(d.indices(d.shape(0, 3), -2, 6), d.integer(-1, 5), d.dtype())}; }},
      {"index", [](Draw& d) -> Results { return {indexed(d, d.tensor())}; }},
      {"identity, stop_gradient",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         return {identity(x), stop_gradient(x), optimization_barrier(x)};
       }},
      {"sort",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         const int axis = d.axis(x);
         return {sort(x, axis, d.chance(0.5)), argsort(x, axis, d.chance(0.5))};
       }},
      {"sort of several",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         const std::vector<Tensor> list{x, d.tensor(d.dtype(), d.chance(0.9) ? x.shape() : d.near(x.shape()))};
         return sort(list, d.axis(x), d.chance(0.5));
       }},
      {"top_k",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         return pair(top_k(x, d.integer(-1, 6)));
       }},
      {"cumulative",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         const int axis = d.axis(x);
         const bool reverse = d.chance(0.5);
         return {cumsum(x, axis, reverse), cumprod(x, axis, reverse), cummax(x, axis, reverse),
                 cummin(x, axis, reverse)};
       }},
      {"argmax",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         const Axes axis = d.chance(0.2) ? Axes() : Axes(d.axis(x));
         return {argmax(x, axis, d.chance(0.5)), argmin(x, axis, d.chance(0.5))};
       }},
      {"dimension_size",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor();
         return {dimension_size(x, d.axis(x))};
       }},
      {"reduce_window",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor(d.dtype(), d.shape(0, 3));
         const auto n = static_cast<size_t>(x.rank());
         return {reduce_window(x, {d.ints(n, 1, 3), d.ints(n, 1, 2), d.ints(n, -1, 1), d.ints(n, -1, 1),
                                   d.ints(n, 1, 2), d.ints(n, 1, 2), d.integer(0, 4)})};
       }},
  };
  using Reduction = Tensor (*)(Operand, const Axes&, bool);
  const std::pair<const char*, Reduction> reductions[] = {
      {"sum", sum},       {"prod", prod},           {"mean", mean}, {"max", max},
      {"min", min},       {"all", hone::all},       {"any", any},   {"variance", variance},
      {"stddev", stddev}, {"logsumexp", logsumexp}, {"norm", norm}};
  for (const auto& [name, f] : reductions) {
    list.push_back({name, [f = f](Draw& d) -> Results {
                      const Tensor x = d.tensor();
                      const Axes over = axes(d, x);
                      return {f(x, over, d.chance(0.5))};
                    }});
  }
  return list;
}

}  // namespace hone::fuzz
