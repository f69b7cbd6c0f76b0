// The loops of reductions, for one instruction-set level.
#pragma once
#include "hone/math/half.h"
#include "hone/math/kernels.h"
#include "hone/math/vec.h"

namespace hone::math::HONE_LEVEL {

struct SumOf {
  template <class T>
  static constexpr T kIdentity = static_cast<T>(-0.0F);
  template <class V>
  static V apply(V a, V b) {
    return a + b;
  }
};
struct ProdOf {
  template <class T>
  static constexpr T kIdentity = 1;
  template <class V>
  static V apply(V a, V b) {
    return a * b;
  }
};
template <class T>
inline constexpr T kLowest = kIsFloat<T>    ? static_cast<T>(-__builtin_inf())
                             : T(-1) < T(0) ? static_cast<T>(UintOf<T>(1) << (8 * sizeof(T) - 1))
                                            : T(0);
struct MaxOf {
  template <class T>
  static constexpr T kIdentity = kLowest<T>;
  template <class V>
  static V apply(V a, V b) {
    return max(a, b);
  }
};
struct MinOf {
  template <class T>
  static constexpr T kIdentity =
      kIsFloat<T> ? static_cast<T>(__builtin_inf()) : static_cast<T>(~static_cast<int64_t>(kLowest<T>));
  template <class V>
  static V apply(V a, V b) {
    return min(a, b);
  }
};
struct AndOf {
  template <class T>
  static constexpr T kIdentity = static_cast<T>(-1);
  template <class V>
  static V apply(V a, V b) {
    return a & b;
  }
};
struct OrOf {
  template <class T>
  static constexpr T kIdentity = 0;
  template <class V>
  static V apply(V a, V b) {
    return a | b;
  }
};

template <class A>
inline constexpr int kAccumulators = sizeof(A) == 8 ? 32 : 64;

template <class Op, class A>
A apply_one(A a, A b) {
  return Op::apply(Scalar<A>(a), Scalar<A>(b)).value;
}

/// Block results on their way into the tree: push each, then take the result.
template <class Op, class A>
class BlockTree {
 public:
  void push(A block) {
    stack_[depth_++] = block;
    for (int64_t n = ++count_; n % 2 == 0; n /= 2) fold();
  }
  A result() {
    while (depth_ > 1) fold();
    return stack_[0];
  }

 private:
  void fold() {
    --depth_;
    stack_[depth_ - 1] = apply_one<Op>(stack_[depth_ - 1], stack_[depth_]);
  }
  A stack_[56];
  int depth_ = 0;
  int64_t count_ = 0;
};

/// One vector's lanes folded in halves.
template <class Op, class A>
A fold_lanes(Vec<A> v) {
  constexpr int kLanes = Vec<A>::kLanes;
  A lanes[kLanes];
  v.store(lanes);
  for (int width = kLanes / 2; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] = apply_one<Op>(lanes[i], lanes[i + width]);
  }
  return lanes[0];
}
template <class Op, class A>
A fold_accumulators(Vec<A> (&acc)[kAccumulators<A> / Vec<A>::kLanes]) {
  for (int width = kAccumulators<A> / Vec<A>::kLanes / 2; width >= 1; width /= 2) {
    for (int k = 0; k < width; ++k) acc[k] = Op::apply(acc[k], acc[k + width]);
  }
  return fold_lanes<Op>(acc[0]);
}

/// As accumulators: 16-bit floats widened, the rest in place.
template <class S, class A>
const A* widen(const S* x, A* buffer, int64_t n) {
  if constexpr (sizeof(S) == sizeof(A)) {
    return reinterpret_cast<const A*>(x);
  } else {
    halves_to_floats<Vec<float>>(x, buffer, n);
    return buffer;
  }
}

template <class S, class A, class Op>
A reduce_block(const S* x, int64_t n) {
  constexpr int kStep = kAccumulators<A>, kLanes = Vec<A>::kLanes, kVectors = kStep / kLanes;
  constexpr A kIdentity = Op::template kIdentity<A>;
  A buffer[kStep];
  Vec<A> acc[kVectors];
  for (int k = 0; k < kVectors; ++k) acc[k] = kIdentity;
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    const A* from = widen(x + i, buffer, kStep);
    for (int k = 0; k < kVectors; ++k) acc[k] = Op::apply(acc[k], Vec<A>::load(from + k * kLanes));
  }
  const A* from = widen(x + i, buffer, n - i);
  for (int k = 0; k < kVectors && i < n; ++k, i += kLanes, from += kLanes) {
    acc[k] = Op::apply(acc[k], n - i >= kLanes ? Vec<A>::load(from) : Vec<A>::load_partial(from, n - i, kIdentity));
  }
  return fold_accumulators<Op>(acc);
}

template <class S, class A, class Op>
void reduce_row(const void* x, int64_t n, void* result) {
  const S* from = static_cast<const S*>(x);
  if (n <= kReduceBlock) {
    *static_cast<A*>(result) = reduce_block<S, A, Op>(from, n);
    return;
  }
  BlockTree<Op, A> tree;
  for (int64_t i = 0; i < n; i += kReduceBlock)
    tree.push(reduce_block<S, A, Op>(from + i, n - i < kReduceBlock ? n - i : kReduceBlock));
  *static_cast<A*>(result) = tree.result();
}

template <class A, class Op>
void combine_arrays(void* into, const void* with, int64_t n) {
  A* a = static_cast<A*>(into);
  const A* b = static_cast<const A*>(with);
  constexpr int kLanes = Vec<A>::kLanes;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Op::apply(Vec<A>::load(a + i), Vec<A>::load(b + i)).store(a + i);
  for (; i < n; ++i) a[i] = apply_one<Op>(a[i], b[i]);
}

/// acc[j] = acc[j] op row 0 op row 1 ... for kRows rows. `readable`: elements from x on that may be read; what lies
/// beyond `columns` goes into acc's padding.
template <class A, class Op, int kRows>
void add_rows(const A* x, int64_t stride, int64_t columns, int64_t readable, A* acc) {
  constexpr int kLanes = Vec<A>::kLanes;
  const int64_t padded = (columns + kLanes - 1) / kLanes * kLanes;
  const int64_t whole = (kRows - 1) * stride + padded <= readable ? padded : columns / kLanes * kLanes;
  int64_t j = 0;
  for (; j < whole; j += kLanes) {
    Vec<A> v = Vec<A>::load(acc + j);
    for (int r = 0; r < kRows; ++r) v = Op::apply(v, Vec<A>::load(x + r * stride + j));
    v.store(acc + j);
  }
  for (; j < columns; ++j) {
    for (int r = 0; r < kRows; ++r) acc[j] = apply_one<Op>(acc[j], x[r * stride + j]);
  }
}

template <class S, class A, class Op>
void reduce_columns(const void* x, int64_t rows, int64_t stride, int64_t columns, void* result) {
  constexpr int kLevels = 5;  // of kReduceGroup blocks, and one being filled
  constexpr bool kWiden = sizeof(S) != sizeof(A);
  alignas(64) A stack[kLevels + 1][kReduceColumns + Vec<A>::kLanes];
  const S* from = static_cast<const S*>(x);
  int depth = 0;
  int64_t blocks = 0;
  const auto fold = [&](int top) { combine_arrays<A, Op>(stack[top - 1], stack[top], columns); };
  for (int64_t r = 0; r < rows;) {
    A* acc = stack[depth++];
    for (int64_t j = 0; j < columns; ++j) acc[j] = Op::template kIdentity<A>;
    const int64_t end = r + kReduceRows < rows ? r + kReduceRows : rows;
    if constexpr (kWiden) {
      A row[kReduceColumns + Vec<A>::kLanes];
      for (; r < end; ++r) {
        halves_to_floats<Vec<float>>(from + r * stride, row, columns);
        add_rows<A, Op, 1>(row, 0, columns, columns, acc);
      }
    } else {
      const A* at = reinterpret_cast<const A*>(from);
      const auto readable = [&] { return (rows - 1 - r) * stride + columns; };
      for (; r + 4 <= end; r += 4) add_rows<A, Op, 4>(at + r * stride, stride, columns, readable(), acc);
      for (; r < end; ++r) add_rows<A, Op, 1>(at + r * stride, stride, columns, readable(), acc);
    }
    for (int64_t n = ++blocks; n % 2 == 0; n /= 2) fold(--depth);
  }
  while (depth > 1) fold(--depth);
  __builtin_memcpy(result, stack[0], static_cast<unsigned long>(columns) * sizeof(A));
}

template <class S, class A, class Op>
constexpr ReduceKernels reduce_kernels() {
  return {&reduce_row<S, A, Op>, &reduce_columns<S, A, Op>, &combine_arrays<A, Op>};
}

/// Only max and min depend on an integer's sign.
template <class Op, class T>
constexpr ReduceKernels reduce_entry() {
  constexpr bool kHalf = __is_same(T, Float16) || __is_same(T, BFloat16),
                 kBit = __is_same(Op, AndOf) || __is_same(Op, OrOf);
  constexpr bool kSigned = __is_same(Op, MaxOf) || __is_same(Op, MinOf);
  if constexpr (kHalf && kBit) {
    return {};
  } else if constexpr (kHalf) {
    return reduce_kernels<T, float, Op>();
  } else if constexpr (__is_same(T, bool)) {
    if constexpr (kBit)
      return reduce_kernels<unsigned char, unsigned char, Op>();
    else
      return {};
  } else if constexpr (kIsFloat<T>) {
    if constexpr (kBit)
      return {};
    else
      return reduce_kernels<T, T, Op>();
  } else if constexpr (kSigned) {
    if constexpr (T(-1) < T(0))
      return reduce_kernels<IntOf<T>, IntOf<T>, Op>();
    else
      return reduce_kernels<UintOf<T>, UintOf<T>, Op>();
  } else {
    return reduce_kernels<UintOf<T>, UintOf<T>, Op>();
  }
}

constexpr void fill_reduce(Kernels& kernels) {
  [&]<class... T>(TypeList<T...>) {
    int i = 0;
    ((kernels.reduce[kReduceSum][i] = reduce_entry<SumOf, T>(),
      kernels.reduce[kReduceProd][i] = reduce_entry<ProdOf, T>(),
      kernels.reduce[kReduceMax][i] = reduce_entry<MaxOf, T>(),
      kernels.reduce[kReduceMin][i] = reduce_entry<MinOf, T>(),
      kernels.reduce[kReduceAnd][i] = reduce_entry<AndOf, T>(), kernels.reduce[kReduceOr][i] = reduce_entry<OrOf, T>(),
      ++i),
     ...);
  }(ElementTypeList{});
}

}  // namespace hone::math::HONE_LEVEL
