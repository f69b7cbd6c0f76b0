#include "hone/tensor/shape.h"

#include <gtest/gtest.h>

#include "hone/base/error.h"

namespace hone {
namespace {

template <class F>
std::string message(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Ints ints(std::initializer_list<int64_t> items) { return Ints(items); }

TEST(FixedVector, InsertsErasesAndResizes) {
  Ints v = ints({1, 2, 4});
  v.insert(2, 3);
  EXPECT_EQ(v, ints({1, 2, 3, 4}));
  v.insert(0, 0);
  v.insert(5, 5);
  EXPECT_EQ(v, ints({0, 1, 2, 3, 4, 5}));
  v.erase(0);
  v.erase(4);
  EXPECT_EQ(v, ints({1, 2, 3, 4}));
  v.resize(6, 9);
  EXPECT_EQ(v, ints({1, 2, 3, 4, 9, 9}));
  v.resize(1);
  EXPECT_EQ(v, ints({1}));
  EXPECT_EQ(v.back(), 1);
  EXPECT_TRUE(v.contains(1));
  EXPECT_FALSE(v.contains(2));
  v.clear();
  EXPECT_TRUE(v.empty());
}

TEST(FixedVector, CopiesAreIndependent) {
  Ints a = ints({1, 2});
  Ints b = a;
  b[0] = 7;
  b.push_back(3);
  EXPECT_EQ(a, ints({1, 2}));
  a = b;
  EXPECT_EQ(a, ints({7, 2, 3}));
  a = *&a;
  EXPECT_EQ(a, ints({7, 2, 3}));
  EXPECT_FALSE(a == ints({7, 2}));
}

TEST(FixedVector, BeyondTheCapacityIsAnError) {
  Ints v(kMaxRank, 1);
  EXPECT_TRUE(contains(message([&] { v.push_back(1); }), "more than 12 axes"));
  EXPECT_TRUE(contains(message([&] { v.insert(0, 1); }), "more than 12 axes"));
  EXPECT_EQ(v.size(), size_t{kMaxRank});
  EXPECT_TRUE(contains(message([&] { v.resize(13); }), "more than 12 axes"));
  EXPECT_TRUE(contains(message([&] { Shape(std::vector<int64_t>(13, 1)); }), "more than 12 axes"));
}

TEST(Shape, AxesCountFromBothEnds) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.dim(0), Dim(2));
  EXPECT_EQ(shape.dim(-1), Dim(4));
  EXPECT_EQ(shape.normalize_axis(-3), 0);
  EXPECT_TRUE(contains(message([&] { (void)shape.dim(3); }), "axis 3 is out of range for shape [2,3,4]"));
  EXPECT_TRUE(contains(message([&] { (void)shape.normalize_axis(INT64_MIN); }), "use an axis in [-3, 2]"));
  EXPECT_TRUE(contains(message([&] { (void)Shape{}.dim(0); }), "a scalar has no axes"));
}

TEST(Shape, CountsItsElements) {
  EXPECT_EQ(Shape{}.count(), 1);
  EXPECT_EQ((Shape{2, 3}).count(), 6);
  EXPECT_EQ((Shape{2, 0, 3}).count(), 0);
  const Dim batch("shape_batch", 1, 64);
  const Shape symbolic{batch, 28, 28};
  EXPECT_FALSE(symbolic.is_static());
  EXPECT_EQ(symbolic.elements(), 784 * batch);
  EXPECT_TRUE(contains(message([&] { (void)symbolic.count(); }), "'shape_batch' is symbolic"));
  EXPECT_EQ((Shape{2, 3}).numbers(), ints({2, 3}));
}

TEST(Shape, BroadcastsByNumPysRule) {
  const auto broadcast = [](const Shape& a, const Shape& b) {
    Shape out, turned;
    const bool fits = broadcast_shapes(a, b, out);
    EXPECT_EQ(broadcast_shapes(b, a, turned), fits);
    if (fits) {
      EXPECT_EQ(out, turned);
    }
    return fits ? to_string(out) : "no";
  };
  EXPECT_EQ(broadcast({2, 3}, {3}), "[2,3]");
  EXPECT_EQ(broadcast({2, 1}, {1, 3}), "[2,3]");
  EXPECT_EQ(broadcast({}, {4}), "[4]");
  EXPECT_EQ(broadcast({1}, {0}), "[0]");
  EXPECT_EQ(broadcast({5, 1, 0}, {4, 1}), "[5,4,0]");
  EXPECT_EQ(broadcast({2}, {3}), "no");
  EXPECT_EQ(broadcast({2, 3}, {2}), "no");
  EXPECT_EQ(broadcast({0}, {2}), "no");
  const Dim batch("shape_batch", 1, 64);
  EXPECT_EQ(broadcast({batch, 1}, {10}), "[shape_batch,10]");
  EXPECT_EQ(broadcast({batch}, {2}), "no");
}

TEST(Shape, PrintsWithItsDtype) {
  EXPECT_EQ(to_string(TensorType{f32, {128, 784}}), "f32[128,784]");
  EXPECT_EQ(to_string(TensorType{bool_, {}}), "bool[]");
}

TEST(DType, NamesAreRead) {
  for (int i = 0; i < kDTypes; ++i) EXPECT_EQ(parse_dtype(name(static_cast<DType>(i))), static_cast<DType>(i));
  EXPECT_EQ(parse_dtype("float32"), f32);
  EXPECT_EQ(parse_dtype("bfloat16"), bf16);
  EXPECT_EQ(parse_dtype("uint8"), u8);
  EXPECT_TRUE(contains(message([] { parse_dtype("float"); }), "no dtype is named 'float'"));
  EXPECT_TRUE(contains(message([] { parse_dtype(""); }), "use one of f32"));
}

TEST(DType, PromotesAsJax) {
  EXPECT_EQ(promote(bool_, u8), u8);
  EXPECT_EQ(promote(i8, u8), i16);
  EXPECT_EQ(promote(i32, u32), i64);
  EXPECT_EQ(promote(i64, u64), f32);
  EXPECT_EQ(promote(i64, f16), f16);
  EXPECT_EQ(promote(f16, bf16), f32);
  EXPECT_EQ(promote(bf16, f64), f64);
  EXPECT_EQ(promote(i16, u8), i16);
  for (int i = 0; i < kDTypes; ++i) {
    for (int j = 0; j < kDTypes; ++j) {
      const auto a = static_cast<DType>(i), b = static_cast<DType>(j), both = promote(a, b);
      EXPECT_EQ(both, promote(b, a));
      EXPECT_EQ(promote(a, a), a);
      EXPECT_EQ(promote(both, a), both) << name(a) << " " << name(b);
    }
  }
}

}  // namespace
}  // namespace hone
