// settings.reproducible = Portable: own products and convolutions with one order of accumulation.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "hone/backend/cpu/isa.h"
#include "hone/backend/cpu/kernel_test_tools.h"
#include "hone/compiler/works.h"
#include "hone/ops/attrs.h"
#include "hone/ops/contraction.h"
#include "hone/ops/convolution.h"
#include "hone/ops/kernel.h"
#include "hone/ops/movement.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

struct Portable {
  Portable() { settings.reproducible = Reproducible::Portable; }
  ~Portable() { settings.reproducible = Reproducible::Off; }
};

struct Case {
  const char* name;
  const Op* op;
  AttrRef attrs;
  std::vector<Tensor> inputs;
  Shape result;
};

Tensor evaluate(const Case& c) {
  const auto bias = [&] { return c.inputs.size() == 3 ? c.inputs[2] : Tensor(); };
  if (c.op == &ops::dense) return dense(c.inputs[0], c.inputs[1], bias());
  if (c.op == &ops::dot_general) return dot_general(c.inputs[0], c.inputs[1], c.attrs.as<DotAttrs>());
  const auto& attrs = c.attrs.as<ConvAttrs>();
  if (c.op == &ops::convolution) return convolution(c.inputs[0], c.inputs[1], attrs, bias());
  if (c.op == &ops::convolution_input_grad) return convolution_input_grad(c.inputs[0], c.inputs[1], attrs);
  return convolution_kernel_grad(c.inputs[0], c.inputs[1], attrs);
}

// The portable kernel by the functions of a level.
Tensor at_level(const Case& c, const math::Kernels& level) {
  const TensorType type{c.inputs[0].dtype(), c.result};
  const KernelQuery query{*c.op, c.attrs, c.inputs, {&type, 1}};
  const Kernel& kernel = kernels(*c.op).front();
  EXPECT_EQ(kernel.refuses(query), nullptr) << c.name;
  const std::shared_ptr<const void> prepared = kernel.prepare(query);
  const Tensor out = Tensor::empty(type);
  run_works({*c.op, c.attrs, c.inputs, {&out, 1}, prepared.get()}, level.works);
  return out;
}

void expect_portable(const Case& c, double tolerance) {
  const Tensor expected = by_reference([&] { return evaluate(c); });
  Tensor first;
  for (const int count : {1, 2, 3, 7}) {
    const Tensor got = with_threads(count, [&] { return evaluate(c); });
    EXPECT_EQ(std::string(last_kernel()).rfind("portable.", 0), 0U) << c.name << ": " << last_kernel();
    EXPECT_LE(distance(got, expected), tolerance) << c.name;
    EXPECT_TRUE(!first.defined() || same_bits(got, first)) << c.name << " with " << count << " threads";
    first = got;
  }
  for (const IsaLevel level : kIsaLevels) {
    const math::Kernels* table = kernels_at(level);
    if (table == nullptr) continue;
    EXPECT_TRUE(same_bits(at_level(c, *table), first)) << c.name << " at " << name(level);
  }
}

// A convolution and both its gradients.
void expect_portable_convolution(const char* name, const ConvAttrs& attrs, const Shape& x, const Shape& w, DType dtype,
                                 double tolerance) {
  const Tensor source = random_tensor(x, 1, -1, 1, dtype), kernel = random_tensor(w, 2, -1, 1, dtype),
               bias = random_tensor({w.dim(-1)}, 4, -1, 1, dtype);
  const Tensor y = by_reference([&] { return convolution(source, kernel, attrs); });
  if (y.size() == 0) return;
  const Tensor ct = random_tensor(y.shape(), 3, -1, 1, dtype);
  ConvAttrs of_x = attrs, of_w = attrs;
  of_x.shape = x, of_w.shape = w;
  expect_portable({name, &ops::convolution, attrs, {source, kernel}, y.shape()}, tolerance);
  expect_portable({name, &ops::convolution, attrs, {source, kernel, bias}, y.shape()}, tolerance);
  expect_portable({name, &ops::convolution_input_grad, of_x, {ct, kernel}, x}, tolerance);
  expect_portable({name, &ops::convolution_kernel_grad, of_w, {source, ct}, w}, tolerance);
}

ConvAttrs attrs2(int64_t stride, int64_t low, int64_t high, int64_t base = 1, int64_t dilation = 1,
                 int64_t groups = 1) {
  return {{stride, stride}, {low, low}, {high, high}, {base, base}, {dilation, dilation}, groups, {}};
}
struct ConvCase {
  const char* name;
  Shape x, kernel;
  ConvAttrs attrs;
};
const ConvCase kConvolutions[] = {
    {"plain", {2, 7, 8, 3}, {3, 3, 3, 5}, attrs2(1, 0, 0)},
    {"same", {2, 7, 8, 16}, {3, 3, 16, 24}, attrs2(1, 1, 1)},
    {"stride 2, asymmetric", {3, 8, 9, 8}, {3, 3, 8, 8}, attrs2(2, 0, 1)},
    {"a rest no stride reaches", {1, 8, 8, 4}, {3, 3, 4, 4}, attrs2(3, 0, 0)},
    {"1x1", {2, 5, 5, 20}, {1, 1, 20, 30}, attrs2(1, 0, 0)},
    {"1x1 stride 2", {2, 6, 6, 16}, {1, 1, 16, 32}, attrs2(2, 0, 0)},
    {"one channel, 5x5", {2, 28, 28, 1}, {5, 5, 1, 6}, attrs2(1, 2, 2)},
    {"many channels", {1, 4, 5, 300}, {3, 3, 300, 40}, attrs2(1, 1, 1)},
    {"dilated", {1, 9, 9, 4}, {3, 3, 4, 8}, attrs2(1, 2, 2, 1, 2)},
    {"dilated, strided", {1, 9, 9, 4}, {3, 3, 4, 8}, attrs2(2, 2, 2, 1, 2)},
    {"grouped", {2, 6, 6, 8}, {3, 3, 4, 6}, attrs2(1, 1, 1, 1, 1, 2)},
    {"depthwise", {2, 9, 8, 16}, {3, 3, 1, 16}, attrs2(1, 1, 1, 1, 1, 16)},
    {"depthwise stride 2", {2, 9, 8, 24}, {3, 3, 1, 24}, attrs2(2, 0, 1, 1, 1, 24)},
    {"depthwise 5x5, 3 channels", {1, 9, 8, 3}, {5, 5, 1, 3}, attrs2(1, 2, 2, 1, 1, 3)},
    {"depthwise multiplier", {1, 6, 6, 4}, {3, 3, 1, 8}, attrs2(1, 1, 1, 1, 1, 4)},
    {"base dilation", {2, 4, 5, 3}, {3, 3, 3, 4}, attrs2(1, 2, 1, 2)},
    {"base dilation, negative padding", {1, 5, 5, 2}, {2, 2, 2, 3}, attrs2(2, -1, -2, 3)},
    {"padding beyond the kernel", {1, 3, 3, 2}, {2, 2, 2, 3}, attrs2(1, 3, 4)},
    {"rectangular", {2, 10, 4, 3}, {1, 4, 3, 7}, {{2, 1}, {0, 1}, {0, 2}, {1, 1}, {1, 1}, 1, {}}},
    {"one axis", {3, 17, 5}, {4, 5, 6}, {{2}, {1}, {2}, {1}, {1}, 1, {}}},
    {"three axes", {2, 5, 6, 4, 3}, {2, 3, 2, 3, 4}, {{1, 2, 1}, {0, 1, 1}, {1, 1, 0}, {1, 1, 1}, {1, 1, 1}, 1, {}}},
    {"more samples than pieces", {37, 4, 4, 3}, {3, 3, 3, 4}, attrs2(1, 1, 1)},
};

TEST(Portable, ConvolutionsAndTheirGradientsHaveTheSameBitsAtEveryLevelAndThreadCount) {
  const Portable scope;
  for (const ConvCase& c : kConvolutions) {
    expect_portable_convolution(c.name, c.attrs, c.x, c.kernel, f32, 4e-5);
    expect_portable_convolution(c.name, c.attrs, c.x, c.kernel, bf16, 1e-2);
    expect_portable_convolution(c.name, c.attrs, c.x, c.kernel, f16, 2e-3);
  }
}

TEST(Portable, RandomConvolutions) {
  const Portable scope;
  std::mt19937 random(7);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  for (int i = 0; i < 60; ++i) {
    const int64_t kind = pick(0, 2), groups = kind == 0 ? 1 : pick(2, 20);
    const int64_t in = groups * (kind == 2 ? 1 : pick(1, 20)), out = groups * (kind == 2 ? 1 : pick(1, 20));
    ConvAttrs attrs;
    attrs.groups = groups;
    Shape x{pick(1, 5)}, w;
    for (int64_t axis = pick(1, 2); axis > 0; --axis) {
      const int64_t taps = pick(1, 4), dilation = pick(1, 3);
      attrs.strides.push_back(pick(1, 3)), attrs.window_dilation.push_back(dilation);
      attrs.base_dilation.push_back(pick(0, 3) == 0 ? pick(2, 3) : 1);
      attrs.low.push_back(pick(-1, 3)), attrs.high.push_back(pick(-1, 3));
      x.push_back((taps - 1) * dilation + 3 + pick(0, 8)), w.push_back(taps);
    }
    x.push_back(in), w.push_back(in / groups), w.push_back(out);
    expect_portable_convolution(("random " + std::to_string(i)).c_str(), attrs, x, w, f32, 4e-5);
  }
}

Case product(const char* name, const Shape& a, const Shape& b, const DotAttrs& attrs, DType dtype = f32) {
  const Tensor x = random_tensor(a, 1, -1, 1, dtype), y = random_tensor(b, 2, -1, 1, dtype);
  return {name, &ops::dot_general, attrs, {x, y}, by_reference([&] { return dot_general(x, y, attrs); }).shape()};
}

TEST(Portable, ProductsHaveTheSameBitsAtEveryLevelAndThreadCount) {
  const Portable scope;
  for (const DType dtype : {f32, bf16, f16}) {
    const double tolerance = dtype == f32 ? 4e-5 : 1e-2;
    expect_portable(product("small", {3, 4}, {4, 5}, {{}, {}, {1}, {0}}, dtype), tolerance);
    expect_portable(product("odd", {37, 529}, {529, 65}, {{}, {}, {1}, {0}}, dtype), tolerance);
    expect_portable(product("one row", {1, 700}, {700, 130}, {{}, {}, {1}, {0}}, dtype), tolerance);
    expect_portable(product("one column", {130, 700}, {700, 1}, {{}, {}, {1}, {0}}, dtype), tolerance);
    expect_portable(product("one term", {40, 1}, {1, 50}, {{}, {}, {1}, {0}}, dtype), tolerance);
    expect_portable(product("left transposed", {300, 100}, {300, 50}, {{}, {}, {0}, {0}}, dtype), tolerance);
    expect_portable(product("right transposed", {100, 300}, {50, 300}, {{}, {}, {1}, {1}}, dtype), tolerance);
    expect_portable(product("batches", {3, 20, 30}, {3, 30, 40}, {{0}, {0}, {2}, {1}}, dtype), tolerance);
    expect_portable(product("terms apart", {6, 20, 7}, {7, 6, 40}, {{}, {}, {0, 2}, {1, 0}}, dtype), tolerance);
  }
  const Tensor x = random_tensor({5, 9, 300}, 1), w = random_tensor({300, 70}, 2), bias = random_tensor({70}, 3);
  expect_portable({"dense", &ops::dense, {}, {x, w, bias}, {5, 9, 70}}, 4e-5);
  expect_portable(
      {"strided operands", &ops::dense, {}, {transpose(random_tensor({300, 45}, 4), {1, 0}), w, bias}, {45, 70}}, 4e-5);
}

TEST(Portable, SmallContractionsHaveTheSameBits) {
  const Tensor a = random_tensor({9, 31}, 1), b = random_tensor({31, 14}, 2);
  for (const DType dtype : {f32, bf16}) {
    const auto multiply = [&] { return matmul(cast(a, dtype), cast(b, dtype)); };
    const Tensor small = multiply();
    EXPECT_STREQ(last_kernel(), "cpu.small_contraction");
    const Portable scope;
    EXPECT_TRUE(same_bits(multiply(), small));
    EXPECT_STREQ(last_kernel(), "portable.contraction");
  }
}

TEST(Portable, NoLibraryServes) {
  const Portable scope;
  for (const Op* op : {&ops::dot_general, &ops::dense, &ops::convolution, &ops::convolution_input_grad,
                       &ops::convolution_kernel_grad, &ops::frozen_dense, &ops::frozen_convolution}) {
    const Tensor x = random_tensor({2, 2}, 1);
    const std::vector<Tensor> inputs{x, x};
    const TensorType type = x.type();
    for (const Kernel& kernel : kernels(*op)) {
      if (!kernel.library) continue;
      EXPECT_NE(kernel.refuses({*op, {}, inputs, {&type, 1}}), nullptr) << kernel.name;
    }
  }
}

TEST(Portable, SpecialValuesPassThrough) {
  const Portable scope;
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Tensor a = Tensor::from(std::vector<float>{inf, 1, nan, 1, -0.0F, 0, 1e-40F, 0}, {4, 2});
  const Tensor b = Tensor::from(std::vector<float>{1, 0, 2, 3}, {2, 2});
  const std::vector<float> y = matmul(a, b).to_vector<float>();
  EXPECT_EQ(y[0], inf);
  EXPECT_TRUE(std::isnan(y[1]));  // Inf * 0
  EXPECT_TRUE(std::isnan(y[2]) && std::isnan(y[3]));
  EXPECT_FALSE(std::signbit(y[4]));  // the chain starts at +0
  EXPECT_EQ(y[6], 1e-40F);
  // Padding is zeros: times Inf it is NaN.
  const Tensor x = ones({1, 2, 1}), w = Tensor::from(std::vector<float>{inf, 1}, {2, 1, 1});
  const std::vector<float> z = convolution(x, w, {{1}, {1}, {0}, {1}, {1}, 1, {}}).to_vector<float>();
  EXPECT_TRUE(std::isnan(z[0]));
  EXPECT_EQ(z[1], inf);
}

TEST(Portable, EmptyOperandsGiveEmptyResultsAndZeros) {
  const Portable scope;
  EXPECT_EQ(matmul(zeros({0, 3}), zeros({3, 4})).shape(), (Shape{0, 4}));
  for (const float v : matmul(zeros({2, 0}), zeros({0, 4})).to_vector<float>()) EXPECT_EQ(v, 0);
  const ConvAttrs attrs = attrs2(1, 1, 1);
  EXPECT_EQ(convolution(zeros({0, 4, 4, 3}), zeros({3, 3, 3, 2}), attrs).shape(), (Shape{0, 4, 4, 2}));
}

}  // namespace
}  // namespace hone
