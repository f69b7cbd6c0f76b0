#include "tests/fuzz/draw.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "hone/base/error.h"
#include "hone/base/settings.h"
#include "hone/device/device.h"
#include "hone/ops/creation.h"
#include "hone/ops/movement.h"
#include "hone/tensor/half.h"
#include "tests/conformance/cases.h"

namespace hone::fuzz {
namespace {

template <class T>
T number(double value) {
  if constexpr (std::is_same_v<T, Float16>)
    return to_float16(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, BFloat16>)
    return to_bfloat16(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, bool>)
    return value > 0;
  else if constexpr (std::is_unsigned_v<T>)
    return static_cast<T>(std::abs(value));
  else
    return static_cast<T>(value);
}

template <class T>
T special_number(uint32_t choice) {
  if constexpr (std::is_integral_v<T>) {
    constexpr T kValues[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T(0), T(1)};
    return kValues[choice % 4];
  } else {
    const double inf = std::numeric_limits<double>::infinity();
    const double values[] = {inf, -inf, std::nan(""), -0.0, 1e-40, 1e30, -1e30, 70000};
    return number<T>(values[choice % 8]);
  }
}

struct Outcome {
  Results results;
  std::string error;  // the message of an Error
  std::string fault;  // what must not happen
  bool special = false;
};

Outcome attempt(const Call& call, uint64_t seed) {
  Outcome out;
  try {
    Draw draw(seed);
    out.results = call(draw);
    out.special = draw.special();
  } catch (const Error& error) {
    out.error = error.what();
    if (error.code() == Code::kInternal) out.fault = fmt::format("a defect by its own account: {}", error.what());
  } catch (const std::exception& error) {
    out.fault = fmt::format("threw something else: {}", error.what());
  }
  return out;
}

double widened(double tolerance, DType dtype) {
  return dtype == bf16 ? std::max(tolerance, 2e-2) : dtype == f16 ? std::max(tolerance, 3e-3) : tolerance;
}

}  // namespace

DType Draw::dtype() { return chance(0.5) ? f32 : static_cast<DType>(integer(0, kDTypes - 1)); }
DType Draw::floating() { return chance(0.6) ? f32 : among({f64, f16, bf16, f32}); }
DType Draw::integral() { return chance(0.5) ? i32 : among({i8, i16, i64, u8, u16, u32, u64}); }

Shape Draw::shape(int min_rank, int max_rank, int64_t max_extent) {
  Shape shape;
  for (int64_t n = integer(min_rank, max_rank); n > 0; --n) shape.push_back(chance(0.07) ? 0 : integer(1, max_extent));
  return shape;
}

Shape Draw::near(const Shape& shape) {
  if (chance(0.5)) return shape;
  if (chance(0.1)) return this->shape();
  Shape out;
  const int64_t skipped = chance(0.3) ? integer(0, shape.rank()) : 0;
  for (int64_t i = skipped; i < shape.rank(); ++i) out.push_back(chance(0.2) ? Dim(1) : shape[i]);
  if (!out.empty() && chance(0.05)) out[integer(0, out.rank() - 1)] = integer(0, 5);
  return out;
}

Tensor Draw::dense(DType dtype, const Shape& shape) {
  Tensor out = Tensor::empty({dtype, shape});
  const bool special = chance(0.05);
  special_ = special_ || special;
  visit_dtype(dtype, [&]<class T>(T) {
    auto* at = reinterpret_cast<T*>(out.mutable_bytes());
    for (int64_t i = 0; i < out.size(); ++i) {
      if (special && chance(0.3))
        at[i] = special_number<T>(word());
      else
        at[i] = number<T>(is_floating(dtype) ? unit() * 4 - 2 : static_cast<double>(integer(-2, 5)));
    }
  });
  return out;
}

Tensor Draw::tensor(DType dtype, const Shape& shape) {
  const Tensor out = any_layout(dtype, shape);
  std::string text = "  " + to_string(out.type());
  for (int64_t stride : out.layout().dense ? Ints() : out.layout().strides) text += fmt::format(" stride {}", stride);
  trace(text);
  return out;
}

Tensor Draw::any_layout(DType dtype, const Shape& shape) {
  const double kind = unit();
  const int rank = shape.rank();
  if (kind < 0.1) {  // a broadcast
    Shape small = shape;
    for (Dim& d : small) {
      if (chance(0.5)) d = 1;
    }
    return broadcast_to(dense(dtype, small), shape);
  }
  if (kind < 0.2 && rank > 0) {  // a slice of axis 0: an offset into a larger buffer
    Shape large = shape;
    large[0] = large[0] + 2;
    return dense(dtype, large)[slice(1, -1)];
  }
  if (kind < 0.25 && (rank == 2 || rank == 3)) {  // padded rows of an image
    Shape wide = shape;
    wide[1] = wide[1] + 1;
    const Tensor image = dense(dtype, wide);
    const int64_t row = rank == 2 ? wide[1].number() : wide[1].number() * wide[2].number();
    if (row > 0 && shape.count() > 0) {
      const size_t row_bytes = static_cast<size_t>(row) * size_of(dtype);
      return Tensor::borrow(image.raw(), shape, dtype, {.row_bytes = row_bytes, .deleter = [image] {}});
    }
  }
  return dense(dtype, shape);
}

Tensor Draw::like(const Tensor& x, bool near_only) {
  const DType dtype = chance(0.9) ? x.dtype() : this->dtype();
  return tensor(dtype, near_only || chance(0.95) ? near(x.shape()) : shape());
}

Tensor Draw::indices(const Shape& shape, int64_t low, int64_t high) {
  Tensor out = Tensor::empty({i32, shape});
  auto* at = reinterpret_cast<int32_t*>(out.mutable_bytes());
  for (int64_t i = 0; i < out.size(); ++i) at[i] = static_cast<int32_t>(integer(low, high));
  return chance(0.2) ? cast(out, integral()) : out;
}

int Draw::axis(const Tensor& x) {
  const int rank = x.rank();
  if (rank == 0 || chance(0.05)) return static_cast<int>(integer(-6, 6));
  return static_cast<int>(integer(-rank, rank - 1));
}

Ints Draw::axes(const Tensor& x) {
  Ints out;
  for (int i = 0; i < x.rank(); ++i) {
    if (chance(0.4)) out.push_back(chance(0.5) ? i : i - x.rank());
  }
  if (chance(0.05)) out.push_back(integer(-5, 5));
  return out;
}

Ints Draw::ints(size_t count, int64_t low, int64_t high) {
  Ints out;
  if (chance(0.05)) count = static_cast<size_t>(integer(0, 5));
  for (size_t i = 0; i < count; ++i)
    out.push_back(chance(0.01) ? among({INT64_MIN, INT64_MAX, int64_t{-1}}) : integer(low, high));
  return out;
}

std::string check(const Call& call, uint64_t seed, double tolerance) {
  const Outcome got = attempt(call, seed);
  if (!got.fault.empty()) return got.fault;
  Outcome expected;
  {
    const conformance::ReferenceKernels reference;
    expected = attempt(call, seed);
  }
  if (!expected.fault.empty()) return "on the reference: " + expected.fault;
  if (got.error.empty() != expected.error.empty())
    return fmt::format("an error on one side only: '{}' and '{}' on the reference", got.error, expected.error);
  if (!got.error.empty()) return "";
  if (got.results.size() != expected.results.size()) return "another number of results";
  for (size_t i = 0; i < got.results.size(); ++i) {
    const Tensor &a = got.results[i], &b = expected.results[i];
    if (a.defined() != b.defined()) return fmt::format("result {} is defined on one side only", i);
    if (!a.defined()) continue;
    if (!(a.type() == b.type()))
      return fmt::format("result {}: {} and {}", i, to_string(a.type()), to_string(b.type()));
    if (got.special) continue;  // orders of sums differ where infinities cancel
    const std::string text = conformance::difference({&a, 1}, {&b, 1}, widened(tolerance, a.dtype()));
    if (!text.empty()) return fmt::format("result {} ({}): {}", i, to_string(a.type()), text);
  }
  return "";
}

int rounds(int quick) {
  const char* const times = std::getenv("HONE_FUZZ_ROUNDS");
  return quick * (times ? std::max(1, std::atoi(times)) : std::getenv("HONE_FULL") ? 100 : 1);
}

void trace(const std::string& label) {
  static const bool on = std::getenv("HONE_FUZZ_TRACE") != nullptr;
  if (on) std::fprintf(stderr, "%s\n", label.c_str());
}

BoundedMemory::BoundedMemory() { settings.memory_limit = memory_stats().in_use + (size_t{64} << 20); }
BoundedMemory::~BoundedMemory() { settings.memory_limit = 0; }

}  // namespace hone::fuzz
