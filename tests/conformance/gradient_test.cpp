// Gradients of every op through the tape against central differences in f64, first and second order.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "hone/base/error.h"
#include "hone/function/tape.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/reduction.h"
#include "tests/conformance/cases.h"

namespace hone::conformance {
namespace {

constexpr double kStep = 1e-6, kFirstOrder = 1e-6, kSecondOrder = 1e-5;

// A differentiable sample in f64: where it is, which way to go, and the cotangents.
struct Problem {
  const Case& c;
  std::vector<Tensor> inputs;
  std::vector<size_t> sources;     // the floating inputs
  std::vector<Tensor> direction;   // one a source
  std::vector<Tensor> cotangents;  // one a floating result

  std::vector<Tensor> at(const std::vector<Tensor>& along, double step) const {
    std::vector<Tensor> moved = inputs;
    for (size_t i = 0; i < sources.size(); ++i) moved[sources[i]] = inputs[sources[i]] + along[i] * step;
    return moved;
  }
};

// The f64 form of a sample, or the reason why it has none.
std::string wide(const Case& c, Problem& problem) {
  std::vector<TensorType> types = c.sample.inputs;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!is_floating(types[i].dtype)) continue;
    types[i].dtype = f64;
    problem.sources.push_back(i);
  }
  if (problem.sources.empty()) return "no floating input";
  if (is_floating(c.sample.inputs[0].dtype) && (c.op.dtypes & bit(f64)) == 0) return "f64 is not among its dtypes";
  uint64_t key = static_cast<uint64_t>(c.number) * 1000 + 7;
  bool results = false;
  for (const TensorType& type : inferred(c, types)) {
    if (is_floating(type.dtype) && type.dtype != f64) return "a result stays narrow";
    problem.cotangents.push_back(is_floating(type.dtype) ? noise(type.shape, key++) : Tensor());
    results = results || is_floating(type.dtype);
  }
  if (!results) return "no floating result";
  problem.inputs = draw(c, types);
  for (size_t i : problem.sources) problem.direction.push_back(noise(types[i].shape, key++));
  return "";
}

double dot(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = numbers(a), y = numbers(b);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += std::isinf(y[i]) ? 0 : x[i] * y[i];  // an infinite result does not move
  return sum;
}

// The sum of products, and of their magnitudes, which is what rounding is relative to.
struct Product {
  double value = 0, magnitude = 0;
  void add(const Tensor& a, const Tensor& b) {
    if (!a.defined() || !b.defined()) return;
    value += dot(a, b);
    magnitude += dot(abs(a), abs(b));
  }
};

Product weighted(const Problem& p, const std::vector<Tensor>& results) {
  Product product;
  for (size_t k = 0; k < results.size(); ++k) product.add(p.cotangents[k], results[k]);
  return product;
}

std::vector<Tensor> gradients(const Problem& p, const std::vector<Tensor>& inputs) {
  GradientTape tape({.watch_accessed_variables = false});
  std::vector<Tensor> sources, targets, cotangents;
  for (size_t i : p.sources) {
    sources.push_back(inputs[i]);
    tape.watch(inputs[i]);
  }
  const std::vector<Tensor> results = run(p.c, inputs);
  for (size_t k = 0; k < results.size(); ++k) {
    if (!p.cotangents[k].defined()) continue;
    targets.push_back(results[k]);
    cotangents.push_back(p.cotangents[k]);
  }
  return tape.gradient(targets, sources, cotangents);
}

// Gradients keep the types of what they belong to.
void check_types(const Problem& p, const std::vector<Tensor>& found) {
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(!found[i].defined() || found[i].type() == p.inputs[p.sources[i]].type()) << "source " << i;
  }
}

void check_close(double got, const Product& low, const Product& high, double scale, double tolerance) {
  const double expected = (high.value - low.value) / (2 * kStep);
  const double rounding = 1e-9 * (low.magnitude + high.magnitude);
  EXPECT_NEAR(got, expected, tolerance * std::max(scale, std::abs(expected)) + rounding);
}

void check_first(const Problem& p) {
  const std::vector<Tensor> found = gradients(p, p.inputs);
  check_types(p, found);
  Product product;
  for (size_t i = 0; i < found.size(); ++i) product.add(found[i], p.direction[i]);
  check_close(product.value, weighted(p, run(p.c, p.at(p.direction, -kStep))),
              weighted(p, run(p.c, p.at(p.direction, kStep))), product.magnitude, kFirstOrder);
}

Product along(const Problem& p, const std::vector<Tensor>& found) {
  Product product;
  for (size_t i = 0; i < found.size(); ++i) product.add(found[i], p.direction[i]);
  return product;
}

// d/dx of <gradient(x), direction>, along another direction.
void check_second(const Problem& p) {
  std::vector<Tensor> other;
  for (size_t i = 0; i < p.direction.size(); ++i) other.push_back(noise(p.direction[i].shape(), 31 + i));
  GradientTape tape({.watch_accessed_variables = false});
  std::vector<Tensor> sources;
  for (size_t i : p.sources) {
    sources.push_back(p.inputs[i]);
    tape.watch(p.inputs[i]);
  }
  const std::vector<Tensor> first = gradients(p, p.inputs);
  Tensor sum_of_products;
  for (size_t i = 0; i < first.size(); ++i) {
    if (!first[i].defined()) continue;
    const Tensor term = sum(first[i] * p.direction[i]);
    sum_of_products = sum_of_products.defined() ? sum_of_products + term : term;
  }
  if (!sum_of_products.defined()) return;
  const std::vector<Tensor> second = tape.gradient(sum_of_products, std::span<const Tensor>(sources));
  Product product;
  for (size_t i = 0; i < second.size(); ++i) product.add(second[i], other[i]);
  check_close(product.value, along(p, gradients(p, p.at(other, -kStep))), along(p, gradients(p, p.at(other, kStep))),
              product.magnitude, kSecondOrder);
}

struct Tally {
  std::set<std::string_view> ops;
  int checked = 0, skipped = 0;
};

template <class Check>
Tally check_all(Check check, int64_t largest) {
  Tally tally;
  for (const Case& c : cases()) {
    if (!c.sample.differentiable || (!c.op.vjp && !c.op.decompose) || c.fixed_types()) continue;
    SCOPED_TRACE(c.label());
    try {
      Problem problem{c, {}, {}, {}, {}};
      int64_t elements = 0;
      for (const TensorType& type : c.sample.inputs) elements += type.shape.count();
      if (elements > largest || !wide(c, problem).empty()) {
        ++tally.skipped;
        continue;
      }
      check(problem);
      ++tally.checked;
      tally.ops.insert(c.op.name);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  testing::Test::RecordProperty("checked", tally.checked);
  testing::Test::RecordProperty("skipped", tally.skipped);
  testing::Test::RecordProperty("ops", static_cast<int>(tally.ops.size()));
  return tally;
}

TEST(Gradients, AgreeWithCentralDifferences) {
  const Tally tally = check_all(check_first, 20000);
  EXPECT_GE(tally.ops.size(), 90U);
  EXPECT_GE(tally.checked, 600);
}

TEST(Gradients, SecondDerivativesAgreeWithCentralDifferences) {
  const Tally tally = check_all(check_second, 300);
  EXPECT_GE(tally.ops.size(), 85U);
}

}  // namespace
}  // namespace hone::conformance
