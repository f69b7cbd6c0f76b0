// iota, random bits and conversion by definition.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "hone/backend/reference/movement.h"
#include "hone/backend/reference/walk.h"
#include "hone/base/philox.h"
#include "hone/ops/combine.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

using namespace reference;  // NOLINT: helpers of this folder

void iota(const KernelCall& call) {
  const auto& attrs = call.attrs.as<IotaAttrs>();
  visit_dtype(attrs.dtype, [&](auto kind) {
    using T = decltype(kind);
    T* out = call.out<T>();
    for_each_position(call.out_shape(),
                      [&](const Ints& at) { *out++ = narrow<T>(static_cast<ComputeOf<T>>(at[attrs.axis])); });
  });
}

void rng_bit_generator(const KernelCall& call) {
  const uint64_t key = call.in<uint64_t>(0)[0], counter = call.in<uint64_t>(0)[1];
  const uint64_t words = call.outputs[1].bytes() / 4;
  for (uint64_t i = 0; i < words; ++i) call.out<uint32_t>(1)[i] = Philox(key).at(counter + i / 4)[i % 4];
  call.out<uint64_t>(0)[0] = key;
  call.out<uint64_t>(0)[1] = counter + (words + 3) / 4;
}

// x cut to `digits` significant bits (less among the denormals of f32), the last of them set if that lost something:
// rounding the result to a type that has two bits less, or still fewer, is as if there had been one rounding.
long double cut_to_odd(long double x, int digits) {
  if (x == 0 || !std::isfinite(x)) return x;
  int exponent = 0;
  const long double fraction = std::frexp(x, &exponent);
  digits = std::max(1, std::min(digits, exponent + 149));
  const long double scaled = std::ldexp(fraction, digits), whole = std::trunc(scaled);
  const long double odd = whole == scaled || std::fmod(whole, 2.0L) != 0 ? whole : whole + (x < 0 ? -1 : 1);
  return std::ldexp(odd, exponent - digits);
}

// Every element type has an exact long double (64 significant bits on x86).
template <class To>
To from_exact(long double x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_same_v<To, Float16> || std::is_same_v<To, BFloat16>) {
    // 22 bits: enough for the rounding to come, and f32 holds them also among the denormals that f16 has.
    return narrow<To>(static_cast<float>(cut_to_odd(x, 22)));
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(x);
  } else {
    using Limits = std::numeric_limits<To>;
    if (std::isnan(x)) return 0;
    if (x <= static_cast<long double>(Limits::min())) return Limits::min();
    if (x >= static_cast<long double>(Limits::max())) return Limits::max();
    return static_cast<To>(x);
  }
}

template <class To, class From>
To converted(From x) {
  constexpr bool kWhole = std::is_integral_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>;
  if constexpr (std::is_same_v<From, To>)
    return x;
  else if constexpr (kWhole)
    return static_cast<To>(x);  // wraps
  else
    return from_exact<To>(static_cast<long double>(widen(x)));
}

void convert(const KernelCall& call) {
  visit_dtype(call.dtype(), [&](auto from) {
    visit_dtype(call.outputs[0].dtype(), [&](auto to) {
      const auto* x = call.in<decltype(from)>(0);
      for (int64_t i = 0; i < call.outputs[0].size(); ++i) call.out<decltype(to)>()[i] = converted<decltype(to)>(x[i]);
    });
  });
}

}  // namespace

void install_reference_creation() {
  add_kernels(ops::iota, {{.name = "reference.iota", .run = iota}});
  add_kernels(ops::rng_bit_generator, {{.name = "reference.rng_bit_generator", .run = rng_bit_generator}});
  add_kernels(ops::convert, {{.name = "reference.convert", .run = convert}});
}

}  // namespace hone
