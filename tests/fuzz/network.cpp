#include "hone/ops/attention.h"
#include "hone/ops/attrs.h"
#include "hone/ops/contraction.h"
#include "hone/ops/convolution.h"
#include "hone/ops/creation.h"
#include "hone/ops/nn.h"
#include "tests/fuzz/functions.h"

namespace hone::fuzz {
namespace {

// The wanted shape, seldom another: operands that must fit are worth most when they do.
Tensor fitting(Draw& d, DType dtype, const Shape& shape) {
  if (d.chance(0.02)) return d.tensor();
  return d.tensor(d.chance(0.95) ? dtype : d.dtype(), d.chance(0.93) ? shape : d.near(shape));
}
DType dtype(Draw& d) { return d.chance(0.8) ? d.floating() : d.dtype(); }
int64_t extent(Draw& d) { return d.chance(0.04) ? 0 : d.integer(1, 5); }

Padding padding(Draw& d) {
  const double kind = d.unit();
  if (kind < 0.4) return "valid";
  if (kind < 0.8) return "same";
  if (kind < 0.82) return "full";
  const auto one = [&] { return std::pair(d.integer(d.chance(0.05) ? -1 : 0, 2), d.integer(0, 2)); };
  return d.chance(0.5) ? Padding{one()} : Padding{one(), one()};
}
Sizes sizes(Draw& d) {
  if (d.chance(0.03)) return d.among({int64_t{0}, int64_t{-1}, INT64_MAX});
  return d.chance(0.7) ? Sizes(d.integer(1, 3)) : Sizes{d.integer(1, 3), d.integer(1, 3)};
}

Results convolution_of(Draw& d, int spatial, Tensor (*f)(Operand, Operand, const ConvOptions&), bool transposed) {
  const DType type = dtype(d);
  const int64_t groups = transposed || d.chance(0.7) ? 1 : 2, in = extent(d) * groups, out = extent(d) * groups;
  Shape x{extent(d)}, kernel;
  for (int i = 0; i < spatial; ++i) {
    x.push_back(d.integer(1, 6));
    kernel.push_back(d.integer(1, 3));
  }
  x.push_back(in);
  kernel.push_back(transposed ? out : in / groups);
  kernel.push_back(transposed ? in : out);
  ConvOptions options{.strides = sizes(d),
                      .padding = padding(d),
                      .dilation = d.chance(0.7) ? Sizes(1) : sizes(d),
                      .groups = d.chance(0.95) ? groups : d.integer(-1, 4)};
  if (d.chance(0.3)) options.bias = fitting(d, type, {out});
  return {f(fitting(d, type, x), fitting(d, type, kernel), options)};
}

Results pooled(Draw& d) {
  Shape shape{extent(d)};
  for (int64_t n = d.integer(1, 3); n > 0; --n) shape.push_back(d.integer(1, 5));
  shape.push_back(extent(d));
  const Tensor x = fitting(d, d.dtype(), shape);
  PoolOptions options{.padding = padding(d), .count_padding = d.chance(0.5)};
  if (d.chance(0.6)) options.strides = sizes(d);
  const Sizes window = sizes(d);
  Results results{max_pool(x, window, options)};
  if (is_floating(x.dtype())) results.push_back(avg_pool(x, window, options));
  return results;
}

std::string equation(Draw& d, size_t operands, std::vector<Shape>& shapes) {
  std::string text, seen;
  int64_t extents[4];
  for (int64_t& n : extents) n = extent(d);
  for (size_t k = 0; k < operands; ++k) {
    if (k > 0) text += ',';
    Shape shape;
    for (int64_t n = d.integer(0, 3); n > 0; --n) {
      const auto letter = static_cast<size_t>(d.integer(0, 3));
      text += "abcd"[letter];
      seen += "abcd"[letter];
      shape.push_back(extents[letter]);
    }
    shapes.push_back(shape);
  }
  if (d.chance(0.6)) {
    text += "->";
    for (char letter : std::string("abcd")) {
      if (seen.find(letter) != std::string::npos && d.chance(0.6)) text += letter;
    }
  }
  if (d.chance(0.05))
    text.insert(static_cast<size_t>(d.integer(0, static_cast<int64_t>(text.size()))), 1,
                d.among({'-', '>', ',', '.', 'z', ' ', 'A', '\0'}));
  return text;
}

}  // namespace

std::vector<Entry> network_functions() {
  return {
      {"matmul",
       [](Draw& d) -> Results {
         const DType type = dtype(d);
         const int64_t m = extent(d), k = extent(d), n = extent(d);
         const MatmulOptions options{d.chance(0.3), d.chance(0.3)};
         Shape batch = d.shape(0, 2, 3), a = batch, b = d.near(batch);
         for (int64_t e : {options.transpose_a ? k : m, options.transpose_a ? m : k}) a.push_back(e);
         for (int64_t e : {options.transpose_b ? n : k, options.transpose_b ? k : n}) b.push_back(e);
         if (d.chance(0.1)) a = {k};
         if (d.chance(0.1)) b = {k};
         return {matmul(fitting(d, type, a), fitting(d, type, b), options)};
       }},
      {"dense",
       [](Draw& d) -> Results {
         const DType type = dtype(d);
         Shape x = d.shape(0, 2);
         const int64_t k = extent(d), n = extent(d);
         x.push_back(k);
         const Tensor bias = d.chance(0.5) ? fitting(d, type, {n}) : Tensor();
         return {dense(fitting(d, type, x), fitting(d, type, {k, n}), bias)};
       }},
      {"dot_general",
       [](Draw& d) -> Results {
         const Tensor a = d.tensor(dtype(d), d.shape(0, 3)), b = d.tensor(a.dtype(), d.near(a.shape()));
         DotAttrs attrs;
         for (int i = 0; i < std::min(a.rank(), b.rank()); ++i) {
           const double kind = d.unit();
           if (kind < 0.3) attrs.lhs_batch.push_back(i), attrs.rhs_batch.push_back(i);
           if (kind > 0.6) attrs.lhs_contract.push_back(i), attrs.rhs_contract.push_back(i);
         }
         if (d.chance(0.1)) attrs.lhs_contract = d.ints(1, -2, 4);
         return {dot_general(a, b, attrs)};
       }},
      {"einsum",
       [](Draw& d) -> Results {
         std::vector<Shape> shapes;
         const std::string text = equation(d, static_cast<size_t>(d.integer(1, 3)), shapes);
         const DType type = dtype(d);
         std::vector<Tensor> operands;
         for (const Shape& shape : shapes) operands.push_back(fitting(d, type, shape));
         return {einsum(text, operands)};
       }},
      {"tensordot, outer",
       [](Draw& d) -> Results {
         const Tensor a = d.tensor(dtype(d), d.shape(0, 3)), b = d.tensor(a.dtype(), d.near(a.shape()));
         Results results{outer(a, b)};
         if (d.chance(0.5)) {
           results.push_back(tensordot(a, b, d.axes(a), d.axes(b)));
         } else {
           results.push_back(tensordot(a, b, static_cast<int>(d.integer(-1, 3))));
         }
         return results;
       }},
      {"conv1d", [](Draw& d) { return convolution_of(d, 1, conv1d, false); }},
      {"conv2d", [](Draw& d) { return convolution_of(d, 2, conv2d, false); }},
      {"conv3d", [](Draw& d) { return convolution_of(d, 3, conv3d, false); }},
      {"conv1d_transpose", [](Draw& d) { return convolution_of(d, 1, conv1d_transpose, true); }},
      {"conv2d_transpose", [](Draw& d) { return convolution_of(d, 2, conv2d_transpose, true); }},
      {"conv3d_transpose", [](Draw& d) { return convolution_of(d, 3, conv3d_transpose, true); }},
      {"depthwise, separable",
       [](Draw& d) -> Results {
         const DType type = dtype(d);
         const int64_t c = extent(d), multiplier = extent(d), out = extent(d);
         const ConvOptions options{
             .strides = sizes(d), .padding = padding(d), .dilation = d.chance(0.7) ? Sizes(1) : sizes(d)};
         const Tensor x = fitting(d, type, {extent(d), d.integer(1, 6), d.integer(1, 6), c});
         const Tensor kernel = fitting(d, type, {d.integer(1, 3), d.integer(1, 3), c, multiplier});
         return {depthwise_conv2d(x, kernel, options),
                 separable_conv2d(x, kernel, fitting(d, type, {1, 1, c * multiplier, out}), options)};
       }},
      {"convolution",
       [](Draw& d) -> Results {
         const DType type = dtype(d);
         const ConvAttrs attrs{d.ints(2, 1, 2),
                               d.ints(2, -2, 3),
                               d.ints(2, -2, 3),
                               d.ints(2, 1, 2),
                               d.ints(2, 1, 2),
                               d.chance(0.9) ? 1 : d.integer(-1, 3),
                               {}};
         const int64_t in = extent(d);
         const Tensor x = fitting(d, type, {extent(d), d.integer(1, 6), d.integer(1, 6), in});
         const Tensor kernel = fitting(d, type, {d.integer(1, 3), d.integer(1, 3), in, extent(d)});
         const Tensor y = convolution(x, kernel, attrs);
         ConvAttrs to_input = attrs, to_kernel = attrs;
         to_input.shape = d.chance(0.95) ? x.shape() : d.near(x.shape());
         to_kernel.shape = d.chance(0.95) ? kernel.shape() : d.near(kernel.shape());
         return {y, convolution_input_grad(y, kernel, to_input), convolution_kernel_grad(x, y, to_kernel)};
       }},
      {"pool", pooled},
      {"softmax",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor(dtype(d), d.shape());
         return {softmax(x, d.axis(x)), log_softmax(x, d.axis(x))};
       }},
      {"layer_norm, rms_norm",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor(dtype(d), d.shape());
         const int axis = d.axis(x);
         Shape shape;
         for (int i = axis < 0 ? axis + x.rank() : axis; i >= 0 && i < x.rank(); ++i) shape.push_back(x.shape()[i]);
         const Tensor scale = fitting(d, x.dtype(), shape), offset = fitting(d, x.dtype(), shape);
         return {layer_norm(x, scale, offset, axis), rms_norm(x, scale, axis)};
       }},
      {"batch_norm",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor(dtype(d), d.shape(1, 4));
         const Shape c{x.shape()[x.rank() - 1]};
         const Tensor scale = fitting(d, x.dtype(), c), offset = fitting(d, x.dtype(), c);
         const BatchNormResult r = batch_norm_training(x, scale, offset);
         return {r.y, r.mean, r.variance,
                 batch_norm_inference(x, scale, offset, fitting(d, x.dtype(), c), fitting(d, x.dtype(), c))};
       }},
      {"dropout",
       [](Draw& d) -> Results {
         const Tensor x = d.tensor(dtype(d), d.shape()), state = d.chance(0.95) ? random::state(d.word()) : d.tensor();
         return {dropout(x, state, d.chance(0.9) ? d.unit() : d.among({-1.0, 1.0, 2.0, 0.0}))};
       }},
      {"embedding",
       [](Draw& d) -> Results {
         return {embedding(d.tensor(d.dtype(), d.shape(1, 3)), d.indices(d.shape(0, 2), -7, 7))};
       }},
      {"sparse_softmax_cross_entropy",
       [](Draw& d) -> Results {
         const int64_t n = extent(d), c = extent(d);
         return {sparse_softmax_cross_entropy(fitting(d, dtype(d), {n, c}),
                                              d.indices(d.chance(0.9) ? Shape{n} : d.shape(), -1, 5))};
       }},
      {"lstm_cell, gru_cell",
       [](Draw& d) -> Results {
         const DType type = dtype(d);
         const int64_t b = extent(d), h = extent(d);
         const auto [hidden, cell] = lstm_cell(fitting(d, type, {b, 4 * h}), fitting(d, type, {b, h}));
         return {hidden, cell,
                 gru_cell(fitting(d, type, {b, 3 * h}), fitting(d, type, {b, 3 * h}), fitting(d, type, {b, h}))};
       }},
      {"lstm",
       [](Draw& d) -> Results {
         const DType type = dtype(d);
         const int64_t t = extent(d), b = extent(d), h = extent(d);
         const Tensor mask = d.chance(0.5) ? fitting(d, bool_, {t, b}) : Tensor();
         const LstmResult result = lstm(fitting(d, type, {t, b, 4 * h}), fitting(d, type, {h, 4 * h}),
                                        fitting(d, type, {b, h}), fitting(d, type, {b, h}), mask);
         return {result.hidden, result.last_h, result.last_c};
       }},
      {"sgd_update",
       [](Draw& d) -> Results {
         const DType type = dtype(d);
         const Shape shape = d.shape();
         const SgdAttrs attrs{.momentum = d.unit(), .weight_decay = d.chance(0.5) ? 0.1 : 0, .nesterov = d.chance(0.5)};
         const auto [p, v] = sgd_update(fitting(d, type, shape), fitting(d, type, shape), fitting(d, type, shape),
                                        d.chance(0.9) ? Tensor(0.1F) : d.tensor(), attrs);
         return {p, v};
       }},
      {"adam_update",
       [](Draw& d) -> Results {
         const DType type = dtype(d);
         const Shape shape = d.shape();
         const auto [p, m, v] =
             adam_update(fitting(d, type, shape), fitting(d, type, shape), fitting(d, type, shape),
                         fitting(d, type, shape), Tensor(0.1F), d.chance(0.9) ? Tensor(3.0F) : d.tensor(), AdamAttrs{});
         return {p, m, v};
       }},
      {"scaled_dot_product_attention",
       [](Draw& d) -> Results {
         const DType type = dtype(d);
         const int64_t b = extent(d), t = extent(d), s = extent(d), h = extent(d), k = extent(d);
         AttentionOptions options{.causal = d.chance(0.3)};
         if (d.chance(0.3)) options.mask = fitting(d, bool_, {d.chance(0.5) ? 1 : b, d.chance(0.5) ? 1 : h, t, s});
         if (d.chance(0.3)) options.scale = d.unit();
         return {scaled_dot_product_attention(fitting(d, type, {b, t, h, k}), fitting(d, type, {b, s, h, k}),
                                              fitting(d, type, {b, s, h, k}), options)};
       }},
  };
}

}  // namespace hone::fuzz
