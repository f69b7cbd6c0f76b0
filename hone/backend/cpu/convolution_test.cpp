#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "hone/backend/cpu/onednn.h"
#include "hone/base/error.h"
#include "hone/base/parallel.h"
#include "hone/base/settings.h"
#include "hone/ops/conv_geometry.h"
#include "hone/ops/convolution.h"
#include "hone/ops/creation.h"
#include "hone/ops/kernel.h"
#include "hone/ops/movement.h"

namespace hone {
namespace {

Tensor numbers(const Shape& shape, uint32_t seed = 1) {
  std::vector<float> values(static_cast<size_t>(shape.count()));
  for (float& v : values) {
    seed = seed * 1664525U + 1013904223U;
    v = static_cast<float>(seed >> 8) * 0x1p-23F - 1;
  }
  return Tensor::from(values, shape);
}

struct Case {
  const char* name;
  Shape x, kernel;
  ConvAttrs attrs;
};

ConvAttrs attrs2(int64_t stride, int64_t low, int64_t high, int64_t base = 1, int64_t dilation = 1,
                 int64_t groups = 1) {
  return {{stride, stride}, {low, low}, {high, high}, {base, base}, {dilation, dilation}, groups, {}};
}
const Case kCases[] = {
    {"plain", {2, 7, 8, 3}, {3, 3, 3, 5}, attrs2(1, 0, 0)},
    {"same", {2, 7, 8, 16}, {3, 3, 16, 24}, attrs2(1, 1, 1)},
    {"stride 2, asymmetric", {3, 8, 9, 8}, {3, 3, 8, 8}, attrs2(2, 0, 1)},
    {"a rest no stride reaches", {1, 8, 8, 4}, {3, 3, 4, 4}, attrs2(3, 0, 0)},
    {"1x1", {2, 5, 5, 20}, {1, 1, 20, 30}, attrs2(1, 0, 0)},
    {"1x1, kernel gradient by sgemm", {3, 5, 6, 64}, {1, 1, 64, 80}, attrs2(1, 0, 0)},
    {"1x1 stride 2", {2, 6, 6, 16}, {1, 1, 16, 32}, attrs2(2, 0, 0)},
    {"one channel, 5x5", {2, 28, 28, 1}, {5, 5, 1, 6}, attrs2(1, 2, 2)},
    {"dilated", {1, 9, 9, 4}, {3, 3, 4, 8}, attrs2(1, 2, 2, 1, 2)},
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
    {"kernel as large as the input", {4, 5, 5, 8}, {5, 5, 8, 12}, attrs2(1, 0, 0)},
};

// Sums over all products of the definition: with x and w given, of one of the three.
std::vector<double> naive(const ConvGeometry& g, const Op& op, const Tensor& first, const Tensor& second,
                          size_t results) {
  std::vector<double> out(results);
  const auto a = first.to_vector<float>(), b = second.to_vector<float>();
  const auto index = [](int64_t i) { return static_cast<size_t>(i); };
  const int64_t in = g.in_per_group(), channels = g.out_per_group();
  for (int64_t n = 0; n < g.batch; ++n)
    for (int64_t i0 = 0; i0 < g.result[0]; ++i0)
      for (int64_t i1 = 0; i1 < g.result[1]; ++i1)
        for (int64_t i2 = 0; i2 < g.result[2]; ++i2)
          for (int64_t k0 = 0; k0 < g.kernel[0]; ++k0)
            for (int64_t k1 = 0; k1 < g.kernel[1]; ++k1)
              for (int64_t k2 = 0; k2 < g.kernel[2]; ++k2) {
                const int64_t p0 = g.source(0, i0, k0), p1 = g.source(1, i1, k1), p2 = g.source(2, i2, k2);
                if (p0 < 0 || p1 < 0 || p2 < 0) continue;
                for (int64_t o = 0; o < g.out; ++o)
                  for (int64_t c = 0; c < in; ++c) {
                    const size_t x = index((((n * g.input[0] + p0) * g.input[1] + p1) * g.input[2] + p2) * g.in +
                                           o / channels * in + c);
                    const size_t w = index((((k0 * g.kernel[1] + k1) * g.kernel[2] + k2) * in + c) * g.out + o);
                    const size_t y =
                        index((((n * g.result[0] + i0) * g.result[1] + i1) * g.result[2] + i2) * g.out + o);
                    if (&op == &ops::convolution)
                      out[y] += static_cast<double>(a[x]) * b[w];
                    else if (&op == &ops::convolution_input_grad)
                      out[x] += static_cast<double>(a[y]) * b[w];
                    else
                      out[w] += static_cast<double>(a[x]) * b[y];
                  }
              }
  return out;
}

void expect_near(const Tensor& got, const std::vector<double>& wanted, double tolerance, const std::string& what) {
  const auto values = got.to_vector<float>();
  ASSERT_EQ(values.size(), wanted.size()) << what;
  for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], wanted[i], tolerance) << what << " at " << i;
}
bool same_bits(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

ConvAttrs with_shape(ConvAttrs attrs, const Shape& shape) {
  attrs.shape = shape;
  return attrs;
}

struct Results {
  Tensor y, dx, dw;
};
Results all_three(const Tensor& x, const Tensor& w, const ConvAttrs& attrs, const Tensor& ct) {
  return {convolution(x, w, attrs), convolution_input_grad(ct, w, with_shape(attrs, x.shape())),
          convolution_kernel_grad(x, ct, with_shape(attrs, w.shape()))};
}

TEST(Convolution, AllThreeFollowTheDefinition) {
  for (const Case& c : kCases) {
    for (int count : {1, 2}) {
      set_threads(count);
      const Tensor x = numbers(c.x, 1), w = numbers(c.kernel, 2);
      const Tensor y = convolution(x, w, c.attrs);
      EXPECT_STREQ(last_kernel(), "onednn.convolution") << c.name;
      const ConvGeometry g(c.x, c.kernel, y.shape(), c.attrs);
      expect_near(y, naive(g, ops::convolution, x, w, static_cast<size_t>(y.size())), 1e-4, c.name);
      const Tensor ct = numbers(y.shape(), 3);
      const Results r = all_three(x, w, c.attrs, ct);
      expect_near(r.dx, naive(g, ops::convolution_input_grad, ct, w, static_cast<size_t>(x.size())), 1e-4,
                  std::string(c.name) + ", input grad");
      expect_near(r.dw, naive(g, ops::convolution_kernel_grad, x, ct, static_cast<size_t>(w.size())), 1e-3,
                  std::string(c.name) + ", kernel grad");
    }
  }
  set_threads(cpu_budget());
}

TEST(Convolution, ReferenceKernelsAgree) {
  for (const Case& c : kCases) {
    const Tensor x = numbers(c.x, 1), w = numbers(c.kernel, 2);
    const Tensor ct = numbers(convolution(x, w, c.attrs).shape(), 3);
    const Results fast = all_three(x, w, c.attrs, ct);
    settings.reference_kernels = true;
    const Results slow = all_three(x, w, c.attrs, ct);
    EXPECT_STREQ(last_kernel(), "reference.convolution");
    settings.reference_kernels = false;
    const auto wide = [](const Tensor& t) {
      const auto v = t.to_vector<float>();
      return std::vector<double>(v.begin(), v.end());
    };
    expect_near(fast.y, wide(slow.y), 1e-4, c.name);
    expect_near(fast.dx, wide(slow.dx), 1e-4, c.name);
    expect_near(fast.dw, wide(slow.dw), 1e-3, c.name);
  }
}

TEST(Convolution, BiasIsAddedToEachChannel) {
  const Tensor x = numbers({2, 6, 6, 3}), w = numbers({3, 3, 3, 10}, 2), bias = numbers({10}, 3);
  const auto plain = conv2d(x, w, {.padding = "same"}).to_vector<float>();
  const auto got = conv2d(x, w, {.padding = "same", .bias = bias}).to_vector<float>();
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], plain[i] + bias.to_vector<float>()[i % 10], 1e-5);
}

TEST(Convolution, HalfPrecisionRoundsTheF32Result) {
  const Tensor x = numbers({2, 6, 6, 8}), w = numbers({3, 3, 8, 8}, 2);
  for (DType dtype : {f16, bf16}) {
    const Tensor a = cast(x, dtype), b = cast(w, dtype);
    const Tensor got = conv2d(a, b), wanted = conv2d(cast(a, f32), cast(b, f32));
    EXPECT_EQ(got.dtype(), dtype);
    const auto values = cast(got, f32).to_vector<float>(), exact = wanted.to_vector<float>();
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], exact[i], 0.004 * std::abs(exact[i]) + 0.002);
  }
}

TEST(Convolution, PaddingAsTensorFlow) {
  struct SameCase {
    int64_t input, kernel, stride, dilation, result, low, high;
  };
  // Values from TensorFlow's formula: result = ceil(n / s), total = max((result - 1) s + k - n, 0), the odd rest at the
  // end.
  for (const SameCase& c : {SameCase{5, 3, 1, 1, 5, 1, 1},
                            {5, 3, 2, 1, 3, 1, 1},
                            {6, 3, 2, 1, 3, 0, 1},
                            {6, 2, 1, 1, 6, 0, 1},
                            {7, 1, 2, 1, 4, 0, 0},
                            {7, 3, 1, 2, 7, 2, 2},
                            {224, 7, 2, 1, 112, 2, 3}}) {
    const Tensor x = numbers({1, c.input, 2}), w = numbers({c.kernel, 2, 3}, 2);
    const Tensor same = conv1d(x, w, {.strides = c.stride, .padding = "same", .dilation = c.dilation});
    const Tensor pairs = conv1d(x, w, {.strides = c.stride, .padding = {{c.low, c.high}}, .dilation = c.dilation});
    EXPECT_EQ(same.dim(1), c.result);
    EXPECT_TRUE(same_bits(same, pairs)) << c.input;
  }
  EXPECT_EQ(conv2d(zeros({1, 7, 7, 1}), zeros({3, 3, 1, 1}), {.strides = 2}).shape(), (Shape{1, 3, 3, 1}));
  EXPECT_EQ(conv3d(zeros({1, 4, 5, 6, 1}), zeros({3, 3, 3, 1, 2}), {.strides = {1, 2, 1}}).shape(),
            (Shape{1, 2, 2, 4, 2}));
}

TEST(Convolution, TransposeIsTheGradient) {
  struct TransposeCase {
    int64_t kernel, stride;
    const char* padding;
    int64_t result;
  };
  // Extents as Keras: same n s, valid n s + max(k - s, 0).
  for (const TransposeCase& c : {TransposeCase{3, 2, "same", 10},
                                 {3, 2, "valid", 11},
                                 {2, 3, "valid", 15},
                                 {4, 2, "same", 10},
                                 {5, 1, "valid", 9}}) {
    const Tensor x = numbers({2, 5, 5, 4}), w = numbers({c.kernel, c.kernel, 3, 4}, 2);
    const Tensor y = conv2d_transpose(x, w, {.strides = c.stride, .padding = c.padding});
    EXPECT_EQ(y.shape(), (Shape{2, c.result, c.result, 3}));
    // <conv(u), x> = <u, transpose(x)> for every u.
    const Tensor u = numbers(y.shape(), 5), v = conv2d(u, w, {.strides = c.stride, .padding = c.padding});
    ASSERT_EQ(v.shape(), x.shape());
    double left = 0, right = 0;
    for (size_t i = 0; i < v.to_vector<float>().size(); ++i)
      left += static_cast<double>(v.data<float>()[i]) * x.data<float>()[i];
    for (size_t i = 0; i < static_cast<size_t>(u.size()); ++i)
      right += static_cast<double>(u.data<float>()[i]) * y.data<float>()[i];
    EXPECT_NEAR(left, right, 1e-3);
  }
}

TEST(Convolution, DepthwiseAndSeparableInKerasLayout) {
  const Tensor x = numbers({2, 7, 6, 3}), depthwise = numbers({3, 3, 3, 2}, 2), pointwise = numbers({1, 1, 6, 5}, 3);
  const Tensor y = depthwise_conv2d(x, depthwise, {.padding = "same"});
  ASSERT_EQ(y.shape(), (Shape{2, 7, 6, 6}));
  for (int64_t c = 0; c < 3; ++c) {
    for (int64_t m = 0; m < 2; ++m) {
      double sum = 0;  // at the pixel (3, 2) of sample 1
      for (int64_t i = 0; i < 3; ++i) {
        for (int64_t j = 0; j < 3; ++j) {
          sum += static_cast<double>(x.data<float>()[static_cast<size_t>(((7 + 2 + i) * 6 + 1 + j) * 3 + c)]) *
                 depthwise.data<float>()[static_cast<size_t>(((i * 3 + j) * 3 + c) * 2 + m)];
        }
      }
      EXPECT_NEAR(y.data<float>()[static_cast<size_t>(((7 + 3) * 6 + 2) * 6 + c * 2 + m)], sum, 1e-5);
    }
  }
  EXPECT_TRUE(same_bits(separable_conv2d(x, depthwise, pointwise, {.padding = "same"}), conv2d(y, pointwise)));
}

TEST(Convolution, SameBitsForAnyThreadCount) {
  settings.reproducible = Reproducible::Threads;
  for (const Case& c : kCases) {
    Shape shape = c.x;
    shape[0] = 11;
    const Tensor x = numbers(shape, 1), w = numbers(c.kernel, 2);
    const Tensor ct = numbers(convolution(x, w, c.attrs).shape(), 3);
    Results first;
    for (int count : {1, 2, 3, 7}) {
      set_threads(count);
      const Results r = all_three(x, w, c.attrs, ct);
      if (!first.y.defined()) first = r;
      EXPECT_TRUE(same_bits(r.y, first.y) && same_bits(r.dx, first.dx) && same_bits(r.dw, first.dw))
          << c.name << ", " << count << " threads";
    }
  }
  settings.reproducible = Reproducible::Off;
  set_threads(cpu_budget());
}

// Layers of the benchmark networks: batch, extent, channels in and out, kernel, stride, groups.
struct Layer {
  int64_t batch, extent, in, out, kernel, stride, groups;
};
const Layer kLayers[] = {
    {128, 28, 1, 6, 5, 1, 1},    {128, 14, 6, 16, 5, 1, 1},  // LeNet
    {64, 32, 3, 16, 3, 1, 1},    {64, 32, 16, 16, 3, 1, 1},    {64, 32, 16, 32, 3, 2, 1},
    {64, 16, 32, 32, 3, 1, 1},  // ResNet-20
    {64, 16, 32, 64, 3, 2, 1},   {64, 8, 64, 64, 3, 1, 1},     {64, 32, 16, 32, 1, 2, 1},
    {64, 16, 32, 64, 1, 2, 1},   {1, 32, 3, 16, 3, 1, 1},      {1, 32, 16, 16, 3, 1, 1},
    {1, 16, 32, 32, 3, 1, 1},    {1, 8, 64, 64, 3, 1, 1},      {8, 128, 3, 16, 3, 2, 1},
    {8, 64, 16, 16, 3, 1, 16},   {8, 64, 16, 32, 1, 1, 1},     {8, 64, 32, 32, 3, 2, 32},  // MobileNet
    {8, 32, 32, 64, 1, 1, 1},    {8, 32, 64, 64, 3, 1, 64},    {8, 32, 64, 64, 3, 2, 64},
    {8, 16, 64, 128, 1, 1, 1},   {8, 16, 128, 128, 3, 1, 128}, {8, 16, 128, 128, 3, 2, 128},
    {8, 8, 128, 256, 1, 1, 1},   {8, 8, 256, 256, 3, 1, 256},  {8, 8, 256, 256, 1, 1, 1},
    {8, 8, 256, 256, 3, 2, 256}, {8, 4, 256, 512, 1, 1, 1},    {8, 4, 512, 512, 3, 1, 512},
    {8, 4, 512, 512, 1, 1, 1},   {1, 128, 3, 16, 3, 2, 1},     {1, 64, 16, 16, 3, 1, 16},
    {1, 4, 512, 512, 1, 1, 1}};

TEST(Convolution, NoLayerOfTheBenchmarksFallsToTheReferenceImplementation) {
  for (const Layer& l : kLayers) {
    const Tensor x = zeros({l.batch, l.extent, l.extent, l.in}).dense(),
                 w = zeros({l.kernel, l.kernel, l.in / l.groups, l.out}).dense();
    const std::string what = to_string(x.shape()) + to_string(w.shape());
    const ConvOptions options{.strides = l.stride, .padding = "same", .groups = l.groups};
    const Tensor y = conv2d(x, w, options);
    EXPECT_NE(onednn::last_implementation().rfind("ref", 0), 0U) << what << " " << onednn::last_implementation();
    int64_t low = 0, high = 0;
    const int64_t total = std::max<int64_t>((y.dim(1) - 1) * l.stride + l.kernel - l.extent, 0);
    low = total / 2, high = total - low;
    const ConvAttrs attrs = attrs2(l.stride, low, high, 1, 1, l.groups);
    convolution_kernel_grad(x, y, with_shape(attrs, w.shape()));
    EXPECT_NE(onednn::last_implementation().rfind("ref", 0), 0U)
        << "kernel grad " << what << " " << onednn::last_implementation();
    convolution_input_grad(y, w, with_shape(attrs, x.shape()));
    EXPECT_NE(onednn::last_implementation().rfind("ref", 0), 0U)
        << "input grad " << what << " " << onednn::last_implementation();
  }
}

TEST(OneDnn, CacheOfPrimitivesIsBounded) {
  for (int64_t n = 1; n <= 260; ++n) conv1d(zeros({1, n + 2, 1}), zeros({2, 1, 1}));
  EXPECT_EQ(onednn::cached_primitives(), onednn::kMaxPrimitives);
}

TEST(OneDnn, PackedWeightsAreKeptFromTheSecondUseOn) {
  std::thread([] {  // a cache of its own
    const Tensor x = numbers({1, 9, 9, 16}), w = numbers({3, 3, 16, 40}, 2);
    const Tensor first = conv2d(x, w);
    EXPECT_EQ(onednn::packed_bytes(), 0U);
    const Tensor second = conv2d(x, w);
    EXPECT_GT(onednn::packed_bytes(), 0U);
    EXPECT_TRUE(same_bits(first, second));
    EXPECT_TRUE(same_bits(first, conv2d(x, w)));
    EXPECT_FALSE(same_bits(first, conv2d(x, numbers({3, 3, 16, 40}, 3))));  // other content, other packing
  })
      .join();
}

TEST(Convolution, ErrorsSayWhatDoesNotFit) {
  const auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(message([] { conv2d(zeros({1, 8, 8, 3}), zeros({3, 3, 4, 8})); }), "x has 3, the kernel takes 4");
  has(message([] { conv2d(zeros({1, 8, 8, 3}), zeros({3, 3, 4, 8})); }), "build the kernel as [spatial..., 3, out]");
  has(message([] { conv2d(zeros({8, 8, 3}), zeros({3, 3, 3, 8})); }), "add a batch axis");
  has(message([] { conv2d(zeros({1, 2, 8, 3}), zeros({3, 3, 3, 8})); }),
      "spans 3 along spatial axis 0, the padded input has only 2");
  has(message([] { conv2d(zeros({1, 8, 8, 4}), zeros({3, 3, 2, 7}), {.groups = 2}); }),
      "7 output channels do not split into 2 groups");
  has(message([] { conv2d(zeros({1, 8, 8, 3}), zeros({3, 3, 3, 8}), {.bias = zeros({7})}); }), "bias must be [8]");
  has(message([] { conv2d(zeros({1, 8, 8, 3}), zeros({3, 3, 3, 8}), {.padding = "full"}); }), "unknown padding");
  has(message([] { conv2d(zeros({1, 8, 8, 3}), zeros({3, 3, 3, 8}), {.strides = {1, 2, 3}}); }), "invalid strides");
  has(message([] { conv2d(zeros({1, 8, 8, 3}), zeros({3, 3, 3, 8}), {.strides = 0}); }), "invalid strides");
  has(message([] {
        convolution_input_grad(zeros({1, 8, 8, 8}), zeros({3, 3, 3, 8}), with_shape(attrs2(1, 0, 0), {1, 8, 8, 3}));
      }),
      "the convolution gives [1,6,6,8], ct is [1,8,8,8]");
}

}  // namespace
}  // namespace hone
