// Element types.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "hone/math/types.h"

namespace hone {

enum class DType : uint8_t { f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool_ };
inline constexpr int kDTypes = 13;
static_assert(kDTypes == math::kElementTypes);

inline constexpr DType f32 = DType::f32, f64 = DType::f64, f16 = DType::f16, bf16 = DType::bf16;
inline constexpr DType i8 = DType::i8, i16 = DType::i16, i32 = DType::i32, i64 = DType::i64;
inline constexpr DType u8 = DType::u8, u16 = DType::u16, u32 = DType::u32, u64 = DType::u64;
inline constexpr DType bool_ = DType::bool_;

constexpr size_t size_of(DType type) {
  constexpr size_t kSizes[] = {4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8, 1};
  return kSizes[static_cast<int>(type)];
}
/// "f32", "bf16", "bool", ...
constexpr std::string_view name(DType type) {
  constexpr std::string_view kNames[] = {"f32", "f64", "f16", "bf16", "i8",  "i16", "i32",
                                         "i64", "u8",  "u16", "u32",  "u64", "bool"};
  return kNames[static_cast<int>(type)];
}
/// The type with this name; also Keras' and NumPy's ("float32", "uint8"). Error kInvalidArgument for others.
DType parse_dtype(std::string_view name);

constexpr bool is_floating(DType type) { return type <= DType::bf16; }
constexpr bool is_integer(DType type) { return type >= DType::i8 && type <= DType::u64; }
constexpr bool is_signed_integer(DType type) { return type >= DType::i8 && type <= DType::i64; }
constexpr bool is_unsigned_integer(DType type) { return type >= DType::u8 && type <= DType::u64; }
/// The type in which a composite computes: f32 for the 16-bit floats, else the type itself.
constexpr DType compute_type(DType type) { return type == DType::f16 || type == DType::bf16 ? DType::f32 : type; }

/// The type of an operation on both, after JAX's promotion table (docs.jax.dev, "Type promotion semantics").
DType promote(DType a, DType b);

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return f32;
  else if constexpr (std::is_same_v<T, double>)
    return f64;
  else if constexpr (std::is_same_v<T, Float16>)
    return f16;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return bf16;
  else if constexpr (std::is_same_v<T, bool>)
    return bool_;
  else {
    static_assert(std::is_integral_v<T>, "Tensor elements are numbers or bool");
    constexpr DType kSigned[] = {i8, i16, i32, i64}, kUnsigned[] = {u8, u16, u32, u64};
    constexpr int kLog = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return std::is_signed_v<T> ? kSigned[kLog] : kUnsigned[kLog];
  }
}

/// Calls f with a value of the element's storage type: dispatch over dtypes, written once.
template <class F>
decltype(auto) visit_dtype(DType type, F&& f) {
  switch (type) {
    case f32:
      return f(float{});
    case f64:
      return f(double{});
    case f16:
      return f(Float16{});
    case bf16:
      return f(BFloat16{});
    case i8:
      return f(int8_t{});
    case i16:
      return f(int16_t{});
    case i32:
      return f(int32_t{});
    case i64:
      return f(int64_t{});
    case u8:
      return f(uint8_t{});
    case u16:
      return f(uint16_t{});
    case u32:
      return f(uint32_t{});
    case u64:
      return f(uint64_t{});
    default:
      return f(bool{});
  }
}

}  // namespace hone
