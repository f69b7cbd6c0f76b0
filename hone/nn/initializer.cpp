#include "hone/nn/initializer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <mutex>
#include <numbers>
#include <vector>

#include "hone/base/error.h"
#include "hone/base/philox.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/optim/options.h"

namespace hone::nn {
namespace {

// --- the global stream: key n of a seed is the n-th number of the seed's Philox sequence ---

struct Stream {
  std::mutex mutex;
  uint64_t seed = 0, drawn = 0;
};
Stream& stream() {
  static Stream global;
  return global;
}

struct Fans {
  double in, out;
};

// Kernels are [..., in, out]; a vector has its length on both sides, a scalar 1.
Fans fans_of(const Shape& shape) {
  const Ints dims = shape.numbers();
  if (dims.size() < 2) {
    const double n = dims.empty() ? 1 : static_cast<double>(std::max<int64_t>(dims[0], 1));
    return {n, n};
  }
  double field = 1;
  for (size_t i = 0; i + 2 < dims.size(); ++i) field *= static_cast<double>(dims[i]);
  return {std::max(1.0, field * static_cast<double>(dims[dims.size() - 2])),
          std::max(1.0, field * static_cast<double>(dims.back()))};
}

Tensor fresh_state() { return random::state(next_random_key()); }

Tensor draw_uniform(const Shape& shape, DType dtype, double low, double high) {
  return random::uniform(fresh_state(), shape, low, high, dtype).second;
}

// A normal cut at two deviations by its inverse distribution; `stddev` is that of the result.
Tensor draw_truncated(const Shape& shape, DType dtype, double stddev) {
  constexpr double kStddevOfCut = 0.87962566103423978;  // of the standard normal cut at +-2
  const double edge = std::erf(std::numbers::sqrt2);    // P(-2 < x < 2)
  const double sigma = stddev / kStddevOfCut;
  const DType wide = compute_type(dtype);
  const Tensor normal =
      erf_inv(random::uniform(fresh_state(), shape, -edge, edge, wide).second) * (std::numbers::sqrt2 * sigma);
  return cast(clamp(-2 * sigma, normal, 2 * sigma), dtype);
}

template <class Variance>
Initializer uniform_of(std::string name, Variance variance) {
  return {std::move(name), [variance](const Shape& shape, DType dtype) {
            const double limit = std::sqrt(3 * variance(fans_of(shape)));
            return draw_uniform(shape, dtype, -limit, limit);
          }};
}
template <class Variance>
Initializer normal_of(std::string name, Variance variance) {
  return {std::move(name), [variance](const Shape& shape, DType dtype) {
            return draw_truncated(shape, dtype, std::sqrt(variance(fans_of(shape))));
          }};
}

double dot(const double* a, const double* b, size_t n) {
  double sums[8] = {};
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (size_t k = 0; k < 8; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (; i < n; ++i) sums[0] += a[i] * b[i];
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

// Makes the rows orthonormal, in order (Gram-Schmidt, twice for full precision: Giraud, Langou, Rozloznik, 2005). Their
// directions follow the first pass, so that the matrix is uniform over the orthogonal ones.
void orthonormalize(std::vector<double>& rows, size_t count, size_t n) {
  for (size_t i = 0; i < count; ++i) {
    double* row = rows.data() + i * n;
    for (int pass = 0; pass < 2; ++pass) {
      for (size_t j = 0; j < i; ++j) {
        const double* other = rows.data() + j * n;
        const double share = dot(row, other, n);
        for (size_t k = 0; k < n; ++k) row[k] -= share * other[k];
      }
    }
    const double length = std::sqrt(dot(row, row, n));
    for (size_t k = 0; k < n; ++k) row[k] /= length;
  }
}

Tensor orthogonal(const Shape& shape, DType dtype) {
  if (shape.rank() < 2) {
    throw Error(Code::kInvalidArgument, "Orthogonal initialises matrices, got shape " + to_string(shape),
                "use GlorotUniform for vectors");
  }
  const int64_t columns = shape.dim(-1).number(), rows = columns == 0 ? 0 : shape.count() / columns;
  const int64_t few = std::min(rows, columns), many = std::max(rows, columns);
  std::vector<double> values = random::normal(fresh_state(), {few, many}, 0, 1, f64).second.to_vector<double>();
  orthonormalize(values, static_cast<size_t>(few), static_cast<size_t>(many));
  const Tensor wide = Tensor::from(values, {few, many});
  return cast(reshape(rows < columns ? wide : transpose(wide), shape), dtype);
}

// "random_uniform(-0.1, 0.1)" -> name and arguments; an initializer's own name gives it back.
bool parse(std::string_view text, std::string_view& name, std::vector<double>& arguments) {
  const size_t open = text.find('(');
  name = text.substr(0, open);
  if (open == std::string_view::npos) return true;
  if (!text.ends_with(')')) return false;
  text = text.substr(open + 1, text.size() - open - 2);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view number = text.substr(0, comma);
    while (number.starts_with(' ')) number.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size()) return false;
    arguments.push_back(value);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return true;
}

struct Named {
  std::string_view name;
  size_t arguments;  // all or none; Constant needs its one
  Initializer (*make)(const std::vector<double>& arguments);
};
constexpr Named kNamed[] = {
    {"glorot_uniform", 0, [](const std::vector<double>&) { return GlorotUniform(); }},
    {"glorot_normal", 0, [](const std::vector<double>&) { return GlorotNormal(); }},
    {"he_uniform", 0, [](const std::vector<double>&) { return HeUniform(); }},
    {"he_normal", 0, [](const std::vector<double>&) { return HeNormal(); }},
    {"lecun_normal", 0, [](const std::vector<double>&) { return LecunNormal(); }},
    {"random_uniform", 2,
     [](const std::vector<double>& a) { return a.empty() ? RandomUniform() : RandomUniform(a[0], a[1]); }},
    {"random_normal", 2,
     [](const std::vector<double>& a) { return a.empty() ? RandomNormal() : RandomNormal(a[0], a[1]); }},
    {"orthogonal", 0, [](const std::vector<double>&) { return Orthogonal(); }},
    {"zeros", 0, [](const std::vector<double>&) { return Zeros(); }},
    {"ones", 0, [](const std::vector<double>&) { return Ones(); }},
    {"constant", 1, [](const std::vector<double>& a) { return Constant(a.empty() ? 0 : a[0]); }},
};

}  // namespace

Initializer GlorotUniform() {
  return uniform_of("glorot_uniform", [](Fans f) { return 2 / (f.in + f.out); });
}
Initializer GlorotNormal() {
  return normal_of("glorot_normal", [](Fans f) { return 2 / (f.in + f.out); });
}
Initializer HeUniform() {
  return uniform_of("he_uniform", [](Fans f) { return 2 / f.in; });
}
Initializer HeNormal() {
  return normal_of("he_normal", [](Fans f) { return 2 / f.in; });
}
Initializer LecunNormal() {
  return normal_of("lecun_normal", [](Fans f) { return 1 / f.in; });
}
Initializer RandomUniform(double low, double high) {
  return {fmt::format("random_uniform({}, {})", low, high),
          [low, high](const Shape& shape, DType dtype) { return draw_uniform(shape, dtype, low, high); }};
}
Initializer RandomNormal(double mean, double stddev) {
  return {fmt::format("random_normal({}, {})", mean, stddev), [mean, stddev](const Shape& shape, DType dtype) {
            return random::normal(fresh_state(), shape, mean, stddev, dtype).second;
          }};
}
Initializer Orthogonal() { return {"orthogonal", orthogonal}; }
Initializer Zeros() {
  return {"zeros", [](const Shape& shape, DType dtype) { return zeros(shape, dtype); }};
}
Initializer Ones() {
  return {"ones", [](const Shape& shape, DType dtype) { return ones(shape, dtype); }};
}
Initializer Constant(double value) {
  return {fmt::format("constant({})", value),
          [value](const Shape& shape, DType dtype) { return full(shape, value, dtype); }};
}

bool has_config(const Initializer& initializer) {
  std::string_view name;
  std::vector<double> arguments;
  return parse(initializer.name, name, arguments) && std::ranges::find(kNamed, name, &Named::name) != std::end(kNamed);
}

Initializer initializer(const std::string& text) {
  std::string_view name;
  std::vector<double> arguments;
  const bool parsed = parse(text, name, arguments);
  std::vector<std::string_view> names;
  for (const Named& each : kNamed) {
    names.push_back(each.name);
    if (each.name != name) continue;
    if (parsed && (arguments.empty() || arguments.size() == each.arguments)) return each.make(arguments);
    throw Error(Code::kInvalidArgument, fmt::format("initializer '{}' cannot be read", text),
                each.arguments == 0 ? fmt::format("write {}", name)
                                    : fmt::format("write {} with {} number(s) in parentheses", name, each.arguments));
  }
  optim::fail_unknown("initializer", "", name, names);
}

void set_random_seed(uint64_t seed) {
  const std::lock_guard lock(stream().mutex);
  stream().seed = seed;
  stream().drawn = 0;
}

uint64_t next_random_key() {
  const std::lock_guard lock(stream().mutex);
  const Philox::Block block = Philox(stream().seed).at(stream().drawn++);
  return uint64_t{block[1]} << 32 | block[0];
}

}  // namespace hone::nn
