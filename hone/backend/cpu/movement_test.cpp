// Kernels of movement against the reference backend, on shapes that reach every path of the box copies.
#include <gtest/gtest.h>

#include <cstring>

#include "hone/backend/cpu/box.h"
#include "hone/base/parallel.h"
#include "hone/base/settings.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/kernel.h"
#include "hone/ops/movement.h"
#include "hone/ops/sorting.h"

namespace hone {
namespace {

constexpr DType kEachSize[] = {u8, u16, f32, f64};

// Distinct enough elements of any dtype.
Tensor elements(const Shape& shape, DType dtype) {
  return cast(reshape(iota({shape.count()}, 0, i64) * 7 % 251, shape), dtype);
}

template <class F>
void expect_as_reference(F&& compute) {
  settings.reference_kernels = true;
  const Tensor expected = compute();
  EXPECT_EQ(std::string_view(last_kernel()).substr(0, 10), "reference.");
  settings.reference_kernels = false;
  for (int count : {1, 3}) {
    set_threads(count);
    const Tensor got = compute();
    EXPECT_EQ(std::string_view(last_kernel()).substr(0, 4), "cpu.");
    ASSERT_EQ(got.type(), expected.type());
    EXPECT_EQ(std::memcmp(got.raw(), expected.raw(), got.bytes()), 0) << to_string(got.type()) << ", threads " << count;
  }
  set_threads(1);
}

TEST(CpuMovement, TransposesAsReference) {
  struct Case {
    Shape shape;
    Ints permutation;
  };
  for (const Case& c : std::vector<Case>{{{33, 47}, {1, 0}},
                                         {{4, 4}, {1, 0}},
                                         {{3, 1000}, {1, 0}},
                                         {{1000, 3}, {1, 0}},
                                         {{2, 17, 19, 5}, {0, 3, 1, 2}},
                                         {{2, 5, 17, 19}, {0, 2, 3, 1}},
                                         {{2, 9, 5, 8}, {0, 2, 1, 3}},
                                         {{2, 9, 5, 2}, {2, 0, 1, 3}},
                                         {{4, 3, 2, 5, 6}, {4, 2, 0, 3, 1}},
                                         {{64, 130}, {1, 0}},
                                         {{300, 400}, {1, 0}},
                                         {{7, 1, 300, 3}, {3, 1, 2, 0}}}) {
    for (DType dtype : kEachSize) {
      const Tensor x = elements(c.shape, dtype);
      expect_as_reference([&] { return transpose(x, c.permutation); });
    }
  }
}

TEST(CpuMovement, SlicesPadsAndReversesAsReference) {
  for (DType dtype : kEachSize) {
    const Tensor x = elements({6, 50, 41}, dtype);
    expect_as_reference([&] { return slice_by(x, {1, 3, 2}, {6, 50, 41}, {2, 1, 3}); });
    expect_as_reference([&] { return slice_by(x, {0, 3, 0}, {6, 50, 41}); });
    expect_as_reference([&] { return reverse(x, {0, 2}); });
    expect_as_reference([&] { return reverse(x, {1}); });
    expect_as_reference([&] { return pad(x, {1, 0, 2}, {0, 3, 1}, 5); });
    expect_as_reference([&] { return pad(x, {-1, 2, -3}, {2, -7, 0}, 5, {0, 2, 1}); });
    expect_as_reference([&] { return concatenate({x, x[{ellipsis, slice(0, 3)}], x[{ellipsis, slice(5, 5)}]}, 2); });
    expect_as_reference([&] { return concatenate({x, x}, 0); });
  }
}

TEST(CpuMovement, ReadsStridesOfBroadcasts) {
  const Tensor row = broadcast_to(elements({41}, f32), {6, 50, 41}),
               column = broadcast_to(elements({50, 1}, f32), {6, 50, 41});
  for (const Tensor& x : {row, column}) {
    expect_as_reference([&] { return transpose(x, {2, 0, 1}); });
    expect_as_reference([&] { return slice_by(x, {1, 3, 2}, {6, 50, 41}, {2, 1, 3}); });
    expect_as_reference([&] { return pad(x, {1, 0, 2}, {0, 3, 1}, 5); });
    expect_as_reference([&] { return take(x, Tensor::of<int32_t>({3, 0}), 1); });
    expect_as_reference([&] { return scatter_add(x, Tensor::of<int32_t>({3, 0, 3}), x[slice(0, 3)]); });
  }
}

TEST(CpuMovement, GathersAndScattersAsReference) {
  const Tensor rows = cast(random::bits(random::state(5), {700}).second % 90, i32) - 3;
  for (DType dtype : {f32, f64, f16, bf16, i8, u16, i64}) {
    const Tensor x = elements({80, 3, 5}, dtype), updates = elements({700, 3, 5}, dtype);
    expect_as_reference([&] { return take(x, rows); });
    expect_as_reference([&] { return take(x, rows % 3, 1); });
    expect_as_reference([&] { return scatter_add(x, rows, updates); });
    expect_as_reference([&] { return scatter_set(x, rows, updates); });
    expect_as_reference([&] {
      return take_along_axis(
          x, rows[slice(0, 80 * 3 * 5 / 15)][{slice(), newaxis, newaxis}] % 5 + zeros({80, 3, 1}, i32), 2);
    });
  }
}

TEST(CpuMovement, SortsAndAccumulatesAsReference) {
  for (DType dtype : {f32, f64, f16, bf16, i8, i32, u64}) {
    const Tensor x = elements({7, 70, 9}, dtype) - 100;
    for (int axis : {0, 1, 2}) {
      expect_as_reference([&] { return sort(x, axis); });
      expect_as_reference([&] { return argsort(x, axis, true); });
      expect_as_reference([&] { return cumsum(x, axis); });
      expect_as_reference([&] { return cummin(x, axis, true); });
    }
    expect_as_reference([&] { return top_k(x, 4).first; });
    expect_as_reference([&] { return top_k(x, 9).second; });
  }
}

TEST(CpuMovement, CreatesAndConvertsAsReference) {
  for (DType dtype : {f32, f64, f16, bf16, i8, u16, i64}) {
    expect_as_reference([&] { return iota({5, 300, 7}, 1, dtype); });
    expect_as_reference([&] { return iota({5, 300}, 1, dtype); });
  }
  expect_as_reference([] { return random::bits(random::state(9), {100003}).second; });
  expect_as_reference([] { return random::bits(random::state(9), {50001}, u64).second; });
  const Tensor bits = random::bits(random::state(1), {20000}, u64).second;
  for (int from = 0; from < kDTypes; ++from) {
    if (static_cast<DType>(from) == bool_) continue;
    const Tensor x = static_cast<DType>(from) == u64          ? bits
                     : size_of(static_cast<DType>(from)) == 8 ? bitcast(bits, static_cast<DType>(from))
                                                              : reshape(bitcast(bits, static_cast<DType>(from)), {-1});
    for (int to = 0; to < kDTypes; ++to) {
      if (to == from || is_floating(static_cast<DType>(to))) continue;
      expect_as_reference([&] { return cast(x, static_cast<DType>(to)); });
    }
  }
}

TEST(BoxCopy, IsTheSameForAnySplit) {
  const Tensor x = elements({2, 3, 100, 130}, f32);
  const Tensor whole = transpose(x, {0, 2, 3, 1}), turned = transpose(x, {0, 1, 3, 2});
  for (int count : {2, 3, 7}) {
    set_threads(count);
    EXPECT_EQ(transpose(x, {0, 2, 3, 1}).to_vector<float>(), whole.to_vector<float>());
    EXPECT_EQ(transpose(x, {0, 1, 3, 2}).to_vector<float>(), turned.to_vector<float>());
  }
  set_threads(1);
}

}  // namespace
}  // namespace hone
