#include "hone/tensor/dtype.h"

#include <algorithm>
#include <string>

#include "hone/base/error.h"

namespace hone {

DType parse_dtype(std::string_view text) {
  constexpr std::string_view kLong[] = {"float32", "float64", "float16", "bfloat16", "int8",   "int16", "int32",
                                        "int64",   "uint8",   "uint16",  "uint32",   "uint64", "bool_"};
  for (int i = 0; i < kDTypes; ++i) {
    if (text == name(static_cast<DType>(i)) || text == kLong[i]) return static_cast<DType>(i);
  }
  throw Error(Code::kInvalidArgument, "no dtype is named '" + std::string(text) + "'",
              "use one of f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64 bool");
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a == bool_) return b;
  if (b == bool_) return a;
  if (is_floating(a) && is_floating(b)) {
    if (size_of(a) == size_of(b)) return f32;  // f16 with bf16
    return size_of(a) > size_of(b) ? a : b;
  }
  if (is_floating(a)) return a;
  if (is_floating(b)) return b;
  if (is_signed_integer(a) == is_signed_integer(b)) return size_of(a) > size_of(b) ? a : b;
  const DType s = is_signed_integer(a) ? a : b, u = is_signed_integer(a) ? b : a;
  if (size_of(s) > size_of(u)) return s;
  constexpr DType kWider[] = {i16, i32, i64, f32};  // i64 with u64: a float, as in JAX
  return kWider[static_cast<int>(u) - static_cast<int>(u8)];
}

}  // namespace hone
