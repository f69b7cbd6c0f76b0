#include "hone/tensor/attrs.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

namespace hone {
namespace {

struct Small {
  int64_t axis = 0;
  double epsilon = 0;
  bool keep = false;
  template <class V>
  void visit(V& v) {
    v.field("axis", axis);
    v.field("epsilon", epsilon);
    v.field("keep", keep);
  }
};

struct Large {
  std::string text;
  Shape shape;
  Ints axes;
  DType dtype = f32;
  std::shared_ptr<int> owner;  // counts copies
  template <class V>
  void visit(V& v) {
    v.field("text", text);
    v.field("shape", shape);
    v.field("axes", axes);
    v.field("dtype", dtype);
  }
};

struct OneText {  // not trivial, and small enough to lie inline
  std::string text;
  template <class V>
  void visit(V& v) {
    v.field("text", text);
  }
};

TEST(Attrs, PrintTheirFieldsInOrder) {
  EXPECT_EQ(to_string(AttrRef(Small{2, 1e-5, true})), "{axis = 2, epsilon = 1e-05, keep = true}");
  EXPECT_EQ(to_string(AttrRef(Large{"a b", {2, 3}, {0, 1}, bf16, {}})),
            "{text = \"a b\", shape = [2,3], axes = [0, 1], dtype = bf16}");
  EXPECT_EQ(to_string(AttrRef()), "");
}

TEST(Attrs, EqualAndHashSeeEveryField) {
  const Small a{1, 0.5, true};
  EXPECT_TRUE(equal(a, Small{1, 0.5, true}));
  EXPECT_EQ(hash(a), hash(Small{1, 0.5, true}));
  for (const Small& other : {Small{2, 0.5, true}, Small{1, 0.25, true}, Small{1, 0.5, false}}) {
    EXPECT_FALSE(equal(a, other));
    EXPECT_NE(hash(a), hash(other));
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(equal(Small{1, nan, true}, Small{1, nan, true}));
  EXPECT_FALSE(equal(Small{1, 0.0, true}, Small{1, -0.0, true}));
  EXPECT_FALSE(equal(a, OneText{"x"}));
  EXPECT_TRUE(equal(AttrRef(), AttrRef()));
  // Neighbouring fields do not run into each other.
  EXPECT_FALSE(equal(Large{"", {1}, {2}, f32, {}}, Large{"", {}, {1, 2}, f32, {}}));
}

template <class T>
void expect_value_semantics(const T& value, const T& another) {
  const Attrs a{AttrRef(value)}, b{AttrRef(another)};
  Attrs copy = a;
  EXPECT_TRUE(equal(copy, value));
  Attrs moved = std::move(copy);
  EXPECT_TRUE(equal(moved, value));
  moved = b;
  EXPECT_TRUE(equal(moved, another));
  EXPECT_TRUE(equal(a, value));
  Attrs& same = moved;
  moved = std::move(same);
  EXPECT_TRUE(equal(moved, another));
  moved = a;
  moved = Attrs();
  EXPECT_EQ(to_string(moved), "");
}

TEST(Attrs, AreValues) {
  expect_value_semantics(Small{1, 2, true}, Small{3, 4, false});
  expect_value_semantics(Large{"long enough to lie on the heap", {2}, {1}, i8, {}}, Large{"other", {}, {}, f64, {}});
  expect_value_semantics(OneText{"long enough to lie on the heap"}, OneText{""});
}

TEST(Attrs, DestroyWhatTheyOwnOnce) {
  const auto owner = std::make_shared<int>(1);
  {
    Large large{"text", {}, {}, f32, owner};
    Attrs a{AttrRef(large)};
    large.owner.reset();
    EXPECT_EQ(owner.use_count(), 2);
    Attrs b = a;
    EXPECT_EQ(owner.use_count(), 3);
    Attrs c = std::move(b);
    EXPECT_EQ(owner.use_count(), 3);
    a = Attrs();
    EXPECT_EQ(owner.use_count(), 2);
    c = Attrs(AttrRef(OneText{"x"}));
    EXPECT_EQ(owner.use_count(), 1);
  }
  EXPECT_EQ(owner.use_count(), 1);
}

// A visitor gets references, so that a parser fills what a printer shows.
TEST(Attrs, VisitorsMayWrite) {
  struct Filler final : AttrVisitor {
    void field(const char*, int64_t& value) override { value = 7; }
    void field(const char*, double& value) override { value = 0.5; }
    void field(const char*, bool& value) override { value = true; }
    void field(const char*, DType&) override {}
    void field(const char*, Shape&) override {}
    void field(const char*, Ints&) override {}
    void field(const char*, std::string&) override {}
  } filler;
  Small small;
  attr_type<Small>().visit(&small, filler);
  EXPECT_TRUE(equal(small, Small{7, 0.5, true}));
}

}  // namespace
}  // namespace hone
