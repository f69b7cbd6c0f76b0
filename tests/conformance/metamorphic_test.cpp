// What must not change results, or change them in a known way: the place of an example in its batch, the batch that it
// comes in, the layout of operands, where a tensor is cut, a scale of two. Own kernels give the same bits; where the
// library takes part it may sum in another order.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "hone/base/error.h"
#include "hone/base/probe.h"
#include "hone/function/vmap.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/tensor/interpreter.h"
#include "tests/conformance/cases.h"

namespace hone::conformance {
namespace {

using Tensors = std::vector<Tensor>;

// Whether the library served a call while this lives.
class LibraryWatch final : public ProbeSink {
 public:
  LibraryWatch() : before_(probe::set_sink(this)) {}
  ~LibraryWatch() override { probe::set_sink(before_); }
  LibraryWatch(const LibraryWatch&) = delete;
  LibraryWatch& operator=(const LibraryWatch&) = delete;
  void span(const Span& span) override {
    if (span.detail.starts_with("onednn") || span.category == "library") seen_ = true;
  }
  void allocation(int64_t, size_t) override {}
  bool seen() const { return seen_; }

 private:
  ProbeSink* before_;
  std::atomic<bool> seen_{false};
};

struct Counts {
  int exact = 0, bounded = 0;
};

// Both ways to compute the same: the same bits, or about the same where the library took part.
template <class F, class G>
void expect_same(const F& one, const G& other, const char* what, Counts& counts) {
  Tensors expected, got;
  bool library = false;
  {
    const LibraryWatch watch;
    expected = one();
    got = other();
    library = watch.seen();
  }
  if (!library) {
    ++counts.exact;
    EXPECT_EQ(difference(got, expected), "") << what;
    return;
  }
  ++counts.bounded;
  const bool half =
      std::ranges::any_of(expected, [](const Tensor& x) { return x.dtype() == f16 || x.dtype() == bf16; });
  EXPECT_EQ(difference(got, expected, half ? 1e-2 : 2e-5), "") << what << " (library)";
}

// Cases whose labels stand in messages; what throws is a failure.
template <class F>
void for_each_case(const F& f) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.label());
    try {
      f(c);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

Tensors mapped(const Tensors& inputs, const std::function<Tensor(const Tensor&)>& f) {
  Tensors out;
  for (const Tensor& input : inputs) out.push_back(f(input));
  return out;
}

constexpr int64_t kExamples = 5;

Tensor permuted(const Tensor& batch) {
  const Tensors parts = unstack(batch);
  return stack(Tensors{parts[3], parts[0], parts[4], parts[1], parts[2]}, 0);
}
Tensor cut(const Tensor& batch, int64_t from, int64_t to) { return batch[slice(from, to)]; }

TEST(Metamorphic, ExamplesOfABatchKnowNothingOfEachOther) {
  Counts order, size;
  for_each_case([&](const Case& c) {
    if (c.reads_values() || c.sample.inputs.empty()) return;
    std::vector<TensorType> types = c.sample.inputs;
    for (TensorType& type : types) type.shape.insert(0, kExamples);
    const Tensors inputs = draw(c, types);
    const auto f = vmap([&](const Tensors& xs) { return run(c, xs); });
    expect_same([&] { return mapped(f(inputs), permuted); }, [&] { return f(mapped(inputs, permuted)); },
                "in another order", order);
    const auto piece = [&](int64_t from, int64_t to) {
      return f(mapped(inputs, [&](const Tensor& x) { return cut(x, from, to); }));
    };
    expect_same([&] { return f(inputs); },
                [&] {
                  const Tensors first = piece(0, 2), rest = piece(2, kExamples);
                  Tensors whole;
                  for (size_t i = 0; i < first.size(); ++i) whole.push_back(concatenate({first[i], rest[i]}, 0));
                  return whole;
                },
                "in two batches", size);
  });
  EXPECT_GT(order.exact, 900);
  EXPECT_GT(order.bounded, 20);
  EXPECT_GT(size.exact, 900);
}

// The same elements at other places in memory.
Tensor by_columns(const Tensor& x) {
  if (x.rank() < 2) return x;
  Ints order, back;
  for (int64_t i = x.rank() - 1; i >= 0; --i) order.push_back(i), back.push_back(i);
  return transpose(transpose(x, order).dense(), back);
}
Tensor within_more(const Tensor& x) {
  if (x.rank() == 0) return x;
  return concatenate({x, x, x}, 0)[slice(x.dim(0), 2 * x.dim(0))];
}
Tensor every_second(const Tensor& x) {
  if (x.rank() == 0) return x;
  const Tensor wide = concatenate({expand_dims(x, x.rank()), expand_dims(x, x.rank())}, x.rank());
  Shape shape = x.shape();
  shape[x.rank() - 1] = shape[x.rank() - 1] * 2;
  Shape start(shape);
  Ints strides;
  for (int i = 0; i < x.rank(); ++i) start[i] = 0, strides.push_back(i + 1 == x.rank() ? 2 : 1);
  return slice_by(reshape(wide, shape).dense(), start, shape, strides);
}

TEST(Metamorphic, LayoutsOfOperandsDoNotMatter) {
  Counts counts;
  for_each_case([&](const Case& c) {
    const Tensors inputs = draw(c);
    const auto once = [&] { return run(c, inputs); };
    const std::pair<const char*, Tensor (*)(const Tensor&)> ways[] = {
        {"transposed twice", by_columns}, {"within a larger buffer", within_more}, {"with gaps", every_second}};
    for (const auto& [what, way] : ways) {
      const Tensors moved = mapped(inputs, way);
      ASSERT_EQ(difference(moved, inputs), "");
      expect_same(once, [&] { return run(c, moved); }, what, counts);
      for (size_t i = 0; i < inputs.size() && inputs.size() > 1; ++i) {
        Tensors one = inputs;
        one[i] = moved[i];
        expect_same(once, [&] { return run(c, one); }, what, counts);
      }
    }
  });
  EXPECT_GT(counts.exact, 5000);
  EXPECT_GT(counts.bounded, 100);
}

// Elementwise ops know nothing of places: cut, padded, turned or in pieces, also where vectors end.
TEST(Metamorphic, ElementwiseOpsCommuteWithMovement) {
  Counts counts;
  for_each_case([&](const Case& c) {
    if (c.op.op_class != OpClass::Elementwise || c.sample.inputs.empty()) return;
    std::vector<TensorType> types = c.sample.inputs;
    for (TensorType& type : types) type.shape = {7, 37};
    const Tensors inputs = draw(c, types);
    const std::pair<const char*, std::function<Tensor(const Tensor&)>> moves[] = {
        {"transposed", [](const Tensor& x) { return transpose(x, {1, 0}).dense(); }},
        {"reversed", [](const Tensor& x) { return reverse(x, {0, 1}); }},
        {"cropped", [](const Tensor& x) { return slice_by(x, {1, 2}, {6, 35}, {1, 1}); }},
        {"every third", [](const Tensor& x) { return slice_by(x, {0, 1}, {7, 37}, {2, 3}); }},
        {"flat", [](const Tensor& x) { return reshape(x, {7 * 37}); }},
        {"one by one", [](const Tensor& x) { return concatenate(split(x, 37, 1), 1); }},
        {"broadcast", [](const Tensor& x) { return broadcast_to(x, {3, 7, 37}); }},
    };
    for (const auto& [what, move] : moves) {
      expect_same([&] { return mapped(run(c, inputs), move); }, [&] { return run(c, mapped(inputs, move)); }, what,
                  counts);
    }
    expect_same([&] { return run(c, inputs); },
                [&] {
                  Tensors whole;
                  for (const auto& [from, to] : {std::pair{0, 1}, std::pair{1, 6}, std::pair{6, 7}}) {
                    const Tensor part = run(c, mapped(inputs, [&](const Tensor& x) { return cut(x, from, to); }))[0];
                    whole.push_back(part);
                  }
                  return Tensors{concatenate(whole, 0)};
                },
                "in three pieces", counts);
  });
  EXPECT_GT(counts.exact, 2000);
  EXPECT_EQ(counts.bounded, 0);
}

// Twice an operand gives about twice the result: then it gives twice, bit for bit, in any order of sums.
TEST(Metamorphic, ScalesOfTwoGoThroughLinearOps) {
  int linear = 0;
  for_each_case([&](const Case& c) {
    if (c.op.op_class == OpClass::Effect || c.op.op_class == OpClass::Random) return;
    const Tensors inputs = draw(c);
    if (std::ranges::any_of(
            inputs, [](const Tensor& x) { return is_floating(x.dtype()) && x.dtype() != f32 && x.dtype() != f64; }))
      return;
    const auto doubled = [](const Tensor& x) { return is_floating(x.dtype()) ? x + x : x; };
    const Tensors once = run(c, inputs), expected = mapped(once, doubled);
    if (!std::ranges::any_of(once, [](const Tensor& x) {
          return is_floating(x.dtype()) && std::ranges::any_of(numbers(x), [](double v) { return v != 0; });
        }))
      return;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!is_floating(inputs[i].dtype())) continue;
      Tensors scaled = inputs;
      scaled[i] = doubled(inputs[i]);
      const Tensors got = run(c, scaled);
      if (!difference(got, expected, 1e-6).empty()) continue;
      ++linear;
      EXPECT_EQ(difference(got, expected), "") << "operand " << i;
    }
  });
  EXPECT_GT(linear, 300);
}

// The reduction of a whole is the reduction of the reductions of its parts.
TEST(Metamorphic, ReductionsOfPartsMakeTheWhole) {
  int exact = 0, bounded = 0;
  for_each_case([&](const Case& c) {
    if (c.op.op_class != OpClass::Reduction || c.op.attrs != &attr_type<AxesAttrs>() || c.sample.inputs.size() != 1 ||
        c.outputs() != 1)
      return;
    const Ints axes = AttrRef(c.sample.attrs).as<AxesAttrs>().axes;
    if (axes.empty()) return;
    const int axis = static_cast<int>(axes[0]);
    std::vector<TensorType> longer = c.sample.inputs;
    Shape& shape = longer[0].shape;
    shape[axis] = shape[axis] + 3;
    const Tensor whole = draw(c, longer)[0];
    const int64_t n = whole.dim(axis);
    const Tensors parts{take(whole, iota({2}, 0, i32), axis),
                        reverse(take(reverse(whole, {axis}), iota({n - 2}, 0, i32), axis), {axis})};
    ASSERT_EQ(difference(Tensors{concatenate(parts, axis)}, Tensors{whole}), "");
    Tensors each;
    for (const Tensor& part : parts) each.push_back(run(c, {part})[0]);
    Tensor together = stack(each, 0);
    const Tensors got{dispatch(c.op, AxesAttrs{{0}}, {&together, 1}, {})}, expected = run(c, {whole});
    Tensor twice = stack(Tensors{parts[0], parts[0]}, 0);
    const bool chooses =
        difference(Tensors{dispatch(c.op, AxesAttrs{{0}}, {&twice, 1}, {})}, {parts.data(), 1}).empty();
    const bool rounds = is_floating(whole.dtype()) && !chooses;
    ++(rounds ? bounded : exact);
    const double tolerance = whole.dtype() == bf16 ? 2e-2 : whole.dtype() == f16 ? 3e-3 : 1e-5;
    EXPECT_EQ(rounds ? difference(got, expected, tolerance) : difference(got, expected), "");
  });
  EXPECT_GT(exact, 20);
  EXPECT_GT(bounded, 5);
}

// Padding is what is there when it is put there.
TEST(Metamorphic, PaddingOfAWindowIsPaddingOfTheImage) {
  Counts counts;
  for_each_case([&](const Case& c) {
    const bool convolution = &c.op == &ops::convolution, pool = &c.op == &ops::max_pool || &c.op == &ops::avg_pool;
    if (!convolution && !pool) return;
    Attrs bare = c.sample.attrs;
    Ints low, high;
    const auto take_padding = [&](auto attrs) {
      low = attrs.low, high = attrs.high;
      std::ranges::fill(attrs.low, 0), std::ranges::fill(attrs.high, 0);
      bare = Attrs(attrs);
    };
    double filling = 0;
    if (convolution) {
      const auto& attrs = AttrRef(c.sample.attrs).as<ConvAttrs>();
      if (std::ranges::any_of(attrs.base_dilation, [](int64_t d) { return d != 1; })) return;  // not between elements
      take_padding(attrs);
    } else {
      const auto& attrs = AttrRef(c.sample.attrs).as<PoolAttrs>();
      if (&c.op == &ops::avg_pool && !attrs.count_padding) return;  // divides by what is no padding
      filling = &c.op == &ops::max_pool ? -INFINITY : 0;
      take_padding(attrs);
    }
    const auto negative = [](int64_t p) { return p < 0; };
    if (std::ranges::any_of(low, negative) || std::ranges::any_of(high, negative)) return;
    low.insert(0, 0), high.insert(0, 0), low.push_back(0), high.push_back(0);
    const Tensors inputs = draw(c);
    Tensors padded = inputs;
    padded[0] = pad(inputs[0], low, high, filling);
    expect_same([&] { return run(c, inputs); },
                [&] { return run({c.op, c.number, {types_of(padded), bare, 0, 0, true, c.sample.outputs}}, padded); },
                "padded before", counts);
  });
  EXPECT_GT(counts.exact + counts.bounded, 15);
}

}  // namespace
}  // namespace hone::conformance
