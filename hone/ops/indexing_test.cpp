#include <gtest/gtest.h>

#include "hone/base/error.h"
#include "hone/function/tape.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"

namespace hone {
namespace {

using Ints64 = std::vector<int64_t>;

Tensor counting(const Shape& shape) { return reshape(iota({shape.count()}, 0, i64), shape); }

TEST(Indexing, NumbersAndRangesOfTheFirstAxisShareMemory) {
  const Tensor x = counting({4, 3});
  const auto* start = static_cast<const std::byte*>(x.raw());
  EXPECT_EQ(x[2].raw(), start + 2 * 3 * 8);
  EXPECT_EQ(x[-1].raw(), start + 3 * 3 * 8);
  EXPECT_EQ(x[slice(1, 3)].raw(), start + 3 * 8);
  EXPECT_EQ((x[{2, slice(1, 3)}].raw()), start + 7 * 8);
  EXPECT_EQ((x[{2, 1}].item<int64_t>()), 7);
}

TEST(Indexing, SlicesAsPython) {
  struct Case {
    Slice slice;
    Ints64 expected;
  };
  const Tensor x = counting({5});
  for (const Case& c : std::vector<Case>{{slice(), {0, 1, 2, 3, 4}},
                                         {slice(1, -1), {1, 2, 3}},
                                         {slice(-2), {3, 4}},
                                         {slice({}, {}, 2), {0, 2, 4}},
                                         {slice(1, {}, 3), {1, 4}},
                                         {slice(3, 1), {}},
                                         {slice(-100, 100), {0, 1, 2, 3, 4}},
                                         {slice({}, {}, -1), {4, 3, 2, 1, 0}},
                                         {slice(3, 0, -2), {3, 1}},
                                         {slice({}, 1, -1), {4, 3, 2}},
                                         {slice(1, {}, -1), {1, 0}},
                                         {slice(100, -100, -3), {4, 1}},
                                         {slice(0, 3, -1), {}},
                                         {slice(7, 9), {}},
                                         {slice(-100, {}, -1), {}}}) {
    EXPECT_EQ(x[c.slice].to_vector<int64_t>(), c.expected);
  }
}

TEST(Indexing, EllipsisNewAxisAndMixes) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ((x[{ellipsis, 1}].shape()), (Shape{2, 3}));
  EXPECT_EQ((x[{ellipsis, 1}].to_vector<int64_t>()), (Ints64{1, 5, 9, 13, 17, 21}));
  EXPECT_EQ((x[{0, ellipsis, slice({}, {}, -2)}].shape()), (Shape{3, 2}));
  EXPECT_EQ((x[{newaxis, ellipsis, newaxis}].shape()), (Shape{1, 2, 3, 4, 1}));
  EXPECT_EQ((x[{1, newaxis, 2}].shape()), (Shape{1, 4}));
  EXPECT_EQ((x[{1, newaxis, 2}].to_vector<int64_t>()), (Ints64{20, 21, 22, 23}));
  EXPECT_EQ((x[{slice(0, 0), 1}].shape()), (Shape{0, 4}));
}

TEST(Indexing, ErrorsNameAxisShapeAndLine) {
  const Tensor x = counting({2, 3});
  struct Case {
    std::function<void()> call;
    const char* text;
  };
  for (const Case& c : std::vector<Case>{{[&] { x[2]; }, "index 2 is out of range for axis 0"},
                                         {[&] { x[{0, -4}]; }, "index -4 is out of range for axis 1"},
                                         {[&] { x[{0, 0, 0}]; }, "3 indices for a tensor of rank 2"},
                                         {[&] { x[{ellipsis, ellipsis}]; }, "several ellipses"},
                                         {[&] { x[slice({}, {}, 0)]; }, "slice step 0 on axis 0"},
                                         {[&] { x[counting({2})]; }, "as index"},
                                         {[&] { x[counting({3}) > 0]; }, "a mask of shape [3] does not fit"}}) {
    try {
      c.call();
      ADD_FAILURE() << "no error: " << c.text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(c.text), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("i64[2,3]"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("indexing_test.cpp:"), std::string::npos) << error.what();
    }
  }
}

TEST(Indexing, MaskSelects) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(x[x > 2].to_vector<int64_t>(), (Ints64{3, 4, 5}));
  EXPECT_EQ(x[x > 9].shape(), (Shape{0}));
  const Tensor rows = x[Tensor::from<bool>({false, true}, {2})];
  EXPECT_EQ(rows.shape(), (Shape{1, 3}));
  EXPECT_EQ(rows.to_vector<int64_t>(), (Ints64{3, 4, 5}));
}

TEST(Indexing, GradientsGoBackToTheirPlaces) {
  const Tensor x = cast(counting({2, 3}), f32);
  struct Case {
    std::function<Tensor(const Tensor&)> pick;
    std::vector<float> expected;
  };
  for (const Case& c :
       std::vector<Case>{{[](const Tensor& t) { return t[1]; }, {0, 0, 0, 1, 1, 1}},
                         {[](const Tensor& t) { return t[{ellipsis, slice({}, {}, -2)}] * 2; }, {2, 0, 2, 2, 0, 2}},
                         {[](const Tensor& t) { return t[t > 3] * 3; }, {0, 0, 0, 0, 3, 3}},
                         {[](const Tensor& t) { return t[t > 99]; }, {0, 0, 0, 0, 0, 0}}}) {
    GradientTape tape;
    tape.watch(x);
    EXPECT_EQ(tape.gradient(c.pick(x), x).to_vector<float>(), c.expected);
  }
}

}  // namespace
}  // namespace hone
