#include "tests/conformance/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "hone/base/error.h"
#include "hone/base/hash.h"
#include "hone/base/philox.h"
#include "hone/tensor/half.h"
#include "hone/tensor/interpreter.h"

namespace hone::conformance {
namespace {

template <class T>
T element(double value) {
  if constexpr (std::is_same_v<T, Float16>)
    return to_float16(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, BFloat16>)
    return to_bfloat16(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

double uniform(const Philox& generator, int64_t i) { return generator.at(static_cast<uint64_t>(i))[0] * 0x1p-32; }

Tensor draw_one(const TensorType& type, double low, double high, uint64_t key) {
  Tensor result = Tensor::empty(type);
  const Philox generator(key);
  const double first = std::ceil(is_unsigned_integer(type.dtype) ? std::max(low, 0.0) : low);
  const double count = std::max(std::floor(high) - first + 1, 1.0);
  visit_dtype(type.dtype, [&]<class T>(T) {
    auto* out = static_cast<T*>(static_cast<void*>(result.mutable_bytes()));
    for (int64_t i = 0; i < result.size(); ++i) {
      const double u = uniform(generator, i);
      if constexpr (std::is_same_v<T, bool>)
        out[i] = u < 0.5;
      else
        out[i] = element<T>(std::is_integral_v<T> ? first + std::floor(u * count) : low + u * (high - low));
    }
  });
  return result;
}

std::string at(size_t output, size_t i, double got, double expected) {
  return fmt::format("result {}, element {}: {} instead of {}", output, i, got, expected);
}

std::string type_difference(std::span<const Tensor> got, std::span<const Tensor> expected) {
  if (got.size() != expected.size()) return fmt::format("{} results instead of {}", got.size(), expected.size());
  for (size_t k = 0; k < got.size(); ++k) {
    if (!(got[k].type() == expected[k].type())) {
      return fmt::format("result {}: {} instead of {}", k, to_string(got[k].type()), to_string(expected[k].type()));
    }
  }
  return "";
}

// Equal, or both NaN.
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

std::string Case::label() const {
  std::string text = fmt::format("{}, sample {}:", op.name, number);
  for (const TensorType& type : sample.inputs) text += " " + to_string(type);
  const std::string attrs = to_string(AttrRef(sample.attrs));
  return attrs.empty() ? text : text + " " + attrs;
}

const std::vector<Case>& cases() {
  static const auto* all = [] {
    auto* list = new std::vector<Case>;
    for (const Op* op : op_table()) {
      int number = 0;
      if (!op->samples) continue;
      for (Sample& sample : op->samples()) list->push_back({*op, number++, std::move(sample)});
    }
    return list;
  }();
  return *all;
}

std::vector<Tensor> draw(const Case& c, std::span<const TensorType> types) {
  std::vector<Tensor> inputs;
  for (const TensorType& type : types) {
    const uint64_t place = static_cast<uint64_t>(c.number) * 64 + inputs.size();
    inputs.push_back(
        draw_one(type, c.sample.low, c.sample.high, hash_bytes(c.op.name.data(), c.op.name.size()) + place));
  }
  return inputs;
}

Tensor noise(const Shape& shape, uint64_t key) { return draw_one({f64, shape}, -1, 1, key); }

std::vector<Tensor> run(const Case& c, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> operands = inputs, outputs(static_cast<size_t>(c.outputs()));
  Call call{c.op, c.sample.attrs, operands, outputs, Location::current()};
  dispatch(call);
  return outputs;
}

std::vector<TensorType> inferred(const Case& c, std::span<const TensorType> inputs) {
  std::vector<const TensorType*> pointers;
  for (const TensorType& type : inputs) pointers.push_back(&type);
  std::vector<TensorType> outputs(static_cast<size_t>(c.outputs()));
  InferContext context(c.op, c.sample.attrs, pointers, outputs, Location::current());
  c.op.infer(context);
  return outputs;
}

std::vector<TensorType> retyped(const Case& c, DType dtype) {
  std::vector<TensorType> types = c.sample.inputs, alone = types;
  const DType first = types[0].dtype;
  for (TensorType& type : types) {
    if (is_floating(first) ? is_floating(type.dtype) : type.dtype == first) type.dtype = dtype;
  }
  alone[0].dtype = dtype;
  try {
    inferred(c, types);
    return types;
  } catch (const Error&) {
    return alone;
  }
}

std::vector<TensorType> types_of(std::span<const Tensor> tensors) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type());
  return types;
}

std::vector<double> numbers(const Tensor& x) {
  std::vector<double> values(static_cast<size_t>(x.size()));
  const Tensor packed = x.dense();
  visit_dtype(x.dtype(), [&]<class T>(T) {
    const auto* in = static_cast<const T*>(packed.raw());
    std::transform(in, in + values.size(), values.begin(), to_double<T>);
  });
  return values;
}

std::string difference(std::span<const Tensor> got, std::span<const Tensor> expected) {
  if (std::string types = type_difference(got, expected); !types.empty()) return types;
  for (size_t k = 0; k < got.size(); ++k) {
    const Tensor a = got[k].dense(), b = expected[k].dense();
    const size_t width = size_of(a.dtype());
    const auto *p = static_cast<const char*>(a.raw()), *q = static_cast<const char*>(b.raw());
    if (a.size() == 0 || std::memcmp(p, q, a.bytes()) == 0) continue;
    const std::vector<double> x = numbers(a), y = numbers(b);
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::memcmp(p + i * width, q + i * width, width) == 0 || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
      return at(k, i, x[i], y[i]);
    }
  }
  return "";
}

std::string difference(std::span<const Tensor> got, std::span<const Tensor> expected, double tolerance) {
  if (std::string types = type_difference(got, expected); !types.empty()) return types;
  for (size_t k = 0; k < got.size(); ++k) {
    const std::vector<double> x = numbers(got[k]), y = numbers(expected[k]);
    double magnitude = 0;
    for (double value : y) magnitude = std::isfinite(value) ? std::max(magnitude, std::abs(value)) : magnitude;
    const double bound = is_floating(got[k].dtype()) ? tolerance * magnitude : 0;
    for (size_t i = 0; i < x.size(); ++i) {
      if (!same(x[i], y[i]) && !(std::abs(x[i] - y[i]) <= bound)) return at(k, i, x[i], y[i]);
    }
  }
  return "";
}

}  // namespace hone::conformance
