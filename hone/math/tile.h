// Tiles of the functors: loops over contiguous arrays as TileFn demands (kernels.h). Which value type computes is a
// template argument: Vec in the instruction-set files, Scalar in the reference back end; the bits are the same.
#pragma once
#include "hone/math/composites.h"
#include "hone/math/half.h"
#include "hone/math/kernels.h"

namespace hone::math::HONE_LEVEL {

template <class T>
inline constexpr bool kIsHalf = __is_same(T, Float16) || __is_same(T, BFloat16);
template <class T>
inline constexpr ElementKinds kKindOf = kIsHalf<T> || kIsFloat<T> ? kFloats
                                        : __is_same(T, bool)      ? kBool
                                                                  : kIntegers;

/// A functor's parameters, if it has some, before its operands.
template <class F, class... A>
auto apply(const double* params, A... operands) {
  if constexpr (requires { F::apply(params, operands...); })
    return F::apply(params, operands...);
  else
    return F::apply(operands...);
}

template <int... kIndex>
struct Operands {};
template <int kArity>
struct OperandsOf;
template <>
struct OperandsOf<1> {
  using Type = Operands<0>;
};
template <>
struct OperandsOf<2> {
  using Type = Operands<0, 1>;
};
template <>
struct OperandsOf<3> {
  using Type = Operands<0, 1, 2>;
};

/// Loads and stores of an operand or a result, a mask's as bool.
template <class V, bool kMask>
auto load_operand(const void* p, int64_t i) {
  if constexpr (kMask)
    return V::load_mask(static_cast<const bool*>(p) + i);
  else
    return V::load(static_cast<const typename V::Lane*>(p) + i);
}
template <class V>
void store_result(V x, void* p, int64_t i) {
  x.store(static_cast<typename V::Lane*>(p) + i);
}
template <class V>
void store_result(typename V::Mask m, void* p, int64_t i) {
  V::store_mask(m, static_cast<bool*>(p) + i);
}

/// Whole vectors, then the rest in one whose other lanes are 1.
template <class V, class F, int... kIndex>
void vector_loop(const TileArgs& args, int64_t begin, int64_t end, Operands<kIndex...>) {
  using T = typename V::Lane;
  constexpr bool kSelects = __is_same(F, Select);
  const void* const in[] = {args.in[kIndex]...};
  int64_t i = begin;
  for (; i + V::kLanes <= end; i += V::kLanes) {
    store_result<V>(apply<F>(args.params, load_operand < V, kSelects && kIndex == 0 > (in[kIndex], i)...), args.out, i);
  }
  if (i == end) return;
  const auto n = static_cast<unsigned long>(end - i);
  T rest[sizeof...(kIndex)][V::kLanes];
  const auto copy = [&](int k, unsigned long item) {
    for (T& lane : rest[k]) lane = T{1};
    __builtin_memcpy(rest[k], static_cast<const char*>(in[k]) + static_cast<unsigned long>(i) * item, n * item);
  };
  (copy(kIndex, kSelects && kIndex == 0 ? sizeof(bool) : sizeof(T)), ...);
  const auto result = apply<F>(args.params, load_operand < V, kSelects && kIndex == 0 > (rest[kIndex], 0)...);
  constexpr unsigned long kItem = __is_same(decltype(result), const V) ? sizeof(T) : sizeof(bool);
  T out[V::kLanes];
  store_result<V>(result, out, 0);
  __builtin_memcpy(static_cast<char*>(args.out) + static_cast<unsigned long>(i) * kItem, out, n * kItem);
}

/// Stored types of one-lane results.
template <class T>
T stored(Scalar<T> x) {
  return x.value;
}
inline bool stored(ScalarMask m) { return m.on; }

/// One lane at a time, over copies that cannot alias, so that the compiler vectorises.
template <class F, class T, int... kIndex>
void lane_loop(const TileArgs& args, int64_t begin, int64_t end, Operands<kIndex...>) {
  constexpr int kBlock = 64;
  using Out = decltype(stored(apply<F>(nullptr, ((void)kIndex, Scalar<T>())...)));
  for (; begin < end; begin += kBlock) {
    const int n = static_cast<int>(end - begin < kBlock ? end - begin : kBlock);
    T in[sizeof...(kIndex)][kBlock];
    Out out[kBlock];
    (copy_block<kBlock>(in[kIndex], static_cast<const T*>(args.in[kIndex]) + begin, n), ...);
    for (int i = 0; i < n; ++i) out[i] = stored(apply<F>(args.params, Scalar<T>(in[kIndex][i])...));
    Out* const to = static_cast<Out*>(args.out) + begin;
    if (n == kBlock)
      __builtin_memcpy(to, out, sizeof out);
    else
      __builtin_memcpy(to, out, static_cast<unsigned long>(n) * sizeof(Out));
  }
}

/// Whether the functor's result is stored as bool whatever its operands.
template <class F, class... V>
inline constexpr bool kGivesMask = requires(V... x) {
  { F::apply(x...).on };
};
template <class F, int kArity>
inline constexpr bool kIsPredicate =
    kArity == 1 ? kGivesMask<F, Scalar<float>> : kGivesMask<F, Scalar<float>, Scalar<float>>;

template <template <class> class Value, class F, int kArity, class T>
void tile(const TileArgs& args, int64_t begin, int64_t end);

/// 16-bit floats through blocks of f32 on the stack, rounded once.
template <template <class> class Value, class F, int kArity, class H>
void half_loop(const TileArgs& args, int64_t begin, int64_t end) {
  constexpr int kBlock = 512;
  alignas(64) float in[kArity][kBlock];
  alignas(64) float out[kBlock];
  TileArgs block = args;
  for (int k = 0; k < kArity; ++k) block.in[k] = in[k];
  for (; begin < end; begin += kBlock) {
    const int64_t n = end - begin < kBlock ? end - begin : kBlock;
    for (int k = 0; k < kArity; ++k)
      halves_to_floats<Value<float>>(static_cast<const H*>(args.in[k]) + begin, in[k], n);
    if constexpr (kIsPredicate<F, kArity>) {
      block.out = static_cast<bool*>(args.out) + begin;
      tile<Value, F, kArity, float>(block, 0, n);
    } else {
      block.out = out;
      tile<Value, F, kArity, float>(block, 0, n);
      floats_to_halves<Value<float>>(out, static_cast<H*>(args.out) + begin, n);
    }
  }
}

template <template <class> class Value, class F, int kArity, class T>
[[gnu::noinline]] void tile(const TileArgs& args, int64_t begin, int64_t end) {
  using Indices = typename OperandsOf<kArity>::Type;
  if constexpr (kIsHalf<T>)
    half_loop<Value, F, kArity, T>(args, begin, end);
  else if constexpr (kIsFloat<T> || (kKindOf<T> == kIntegers && !kIsByLane<F>))
    vector_loop<Value<T>, F>(args, begin, end, Indices{});
  else
    lane_loop<F, T>(args, begin, end, Indices{});
}

template <class F, class T>
struct TileLaneOf {
  using Type = T;
};
template <class F, class T>
  requires(__is_same(F, Select) || (kIsSignless<F> && kKindOf<T> == kIntegers))
struct TileLaneOf<F, T> {
  using Type = UintOf<T>;
};
/// The type that stands for T in the functor's tiles: select moves bits.
template <class F, class T>
using TileLane = typename TileLaneOf<F, T>::Type;

/// The functor's row of a kernel table: a tile for each element type it takes.
template <template <class> class Value, class F, int kArity>
constexpr TileRow tile_row() {
  return []<class... T>(TypeList<T...>) {
    return TileRow{{[] {
      if constexpr ((F::kTakes & kKindOf<T>) != 0)
        return &tile<Value, F, kArity, TileLane<F, T>>;
      else
        return TileFn{nullptr};
    }()...}};
  }(ElementTypeList{});
}

}  // namespace hone::math::HONE_LEVEL
