// Fused kernels of composites against their decompositions on the reference back end.
#include <cmath>
#include <limits>

#include "hone/backend/cpu/kernel_test_tools.h"
#include "hone/base/error.h"
#include "hone/ops/attrs.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/kernel.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"
#include "hone/ops/table.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<Tensor> outputs_of(const Op& op, AttrRef attrs, std::vector<Tensor> inputs) {
  std::vector<Tensor> outputs(static_cast<size_t>(op.outputs));
  Call call{op, attrs, inputs, outputs, {}};
  dispatch(call);
  return outputs;
}

Tensor input_of(const TensorType& type, const Sample& sample, uint64_t seed) {
  return random_tensor(type.shape, seed, sample.low, sample.high, type.dtype);
}

struct Bound {
  const Op* op;
  double f32_bound, half_bound;  ///< of |kernel - decomposition| / (1 + |decomposition|)
};
const Bound kBounds[] = {
    {&ops::softmax, 0, 0.01},
    {&ops::log_softmax, 0, 0.01},
    {&ops::softmax_grad, 0, 0.01},
    {&ops::layer_norm, 0, 0.01},
    {&ops::rms_norm, 0, 0.01},
    {&ops::layer_norm_grad, 0, 0.01},
    {&ops::batch_norm_training, 2e-6, 0.01},
    {&ops::batch_norm_inference, 0, 0.01},
    {&ops::batch_norm_grad, 1e-6, 0.01},
    {&ops::max_pool, 0, 0},
    {&ops::max_pool_grad, 0, 0.01},
    {&ops::avg_pool, 0, 0.01},
    {&ops::avg_pool_grad, 0, 0.01},
    {&ops::dropout, 0, 0.01},
    {&ops::cross_entropy, 0, 0.01},
    {&ops::cross_entropy_grad, 0, 0.01},
    {&ops::lstm_cell, 0, 0.01},
    {&ops::lstm_cell_grad, 0, 0.01},
    {&ops::gru_cell, 0, 0.01},
    {&ops::sgd_update, 0, 0.01},
    {&ops::adam_update, 1e-4, 0.02},
};

TEST(Fused, KeepsItsBoundAgainstTheDecompositionOnAllSamples) {
  for (const Bound& bound : kBounds) {
    for (const Sample& sample : bound.op->samples()) {
      std::vector<Tensor> inputs;
      for (const TensorType& type : sample.inputs) inputs.push_back(input_of(type, sample, 11 + inputs.size()));
      const auto run = [&] { return outputs_of(*bound.op, sample.attrs, inputs); };
      const std::vector<Tensor> y = run(), expected = by_reference(run);
      for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_LE(distance(y[i], expected[i]), bound.f32_bound)
            << bound.op->name << " output " << i << " of " << to_string(inputs[0].type());
      }
    }
  }
}

TEST(Fused, SixteenBitFloatsComputeInF32) {
  for (const Bound& bound : kBounds) {
    for (const Sample& sample : bound.op->samples()) {
      std::vector<Tensor> inputs;
      for (TensorType type : sample.inputs) {
        if (type.dtype == f32) type.dtype = bf16;
        inputs.push_back(input_of(type, sample, 11 + inputs.size()));
      }
      if (bound.op == &ops::cross_entropy_grad) inputs[2] = cast(inputs[2], f32), inputs[3] = cast(inputs[3], f32);
      const auto run = [&] { return outputs_of(*bound.op, sample.attrs, inputs); };
      const std::vector<Tensor> y = run(), expected = by_reference(run);
      for (size_t i = 0; i < y.size(); ++i)
        ASSERT_LE(distance(y[i], expected[i]), bound.half_bound) << bound.op->name << " output " << i;
    }
  }
}

TEST(Fused, KernelsTakeTheCommonCalls) {
  softmax(zeros({4, 9}) + ones({9}));
  EXPECT_STREQ(last_kernel(), "cpu.softmax");
  max_pool(random_tensor({1, 4, 4, 6}, 1), 2);
  EXPECT_STREQ(last_kernel(), "cpu.max_pool");
  batch_norm_training(random_tensor({8, 6}, 1), ones({6}), zeros({6}));
  EXPECT_STREQ(last_kernel(), "cpu.batch_norm");
}

// Sizes that several threads share, blocks and trees included.
TEST(Fused, GivesTheSameBitsForEveryThreadCount) {
  struct Large {
    const Op* op;
    Attrs attrs;
    std::vector<Tensor> inputs;
  };
  const Tensor rows = random_tensor({700, 130}, 1), slope = random_tensor({700, 130}, 2),
               per_row = random_tensor({700}, 3, 0.5, 1.5);
  const Tensor parameter = random_tensor({130}, 4, 0.5, 1.5), image = random_tensor({5, 13, 11, 6}, 5);
  const Tensor channels = random_tensor({40, 33, 7}, 6), seven = random_tensor({7}, 7, 0.5, 1.5);
  const PoolAttrs pool{{3, 3}, {2, 2}, {1, 1}, {1, 1}, false, {}}, apart{{2, 2}, {2, 2}, {0, 0}, {0, 0}, false, {}};
  const Tensor grid = random_tensor({5, 7, 6, 6}, 8), grid_apart = random_tensor({5, 6, 5, 6}, 9);
  PoolAttrs back = pool;
  back.shape = image.shape();
  const std::vector<Large> cases = {
      {&ops::softmax, Attrs(AxisAttrs{1}), {rows}},
      {&ops::layer_norm, Attrs(NormAttrs{1, 1e-3}), {rows, parameter, parameter}},
      {&ops::layer_norm_grad, Attrs(NormAttrs{1, 1e-3}), {rows, parameter, per_row, per_row, slope}},
      {&ops::batch_norm_training, Attrs(NormAttrs{2, 1e-3}), {channels, seven, seven}},
      {&ops::batch_norm_grad,
       Attrs(NormAttrs{2, 1e-3}),
       {channels, seven, seven, seven, random_tensor(channels.shape(), 10)}},
      {&ops::max_pool, Attrs(pool), {image}},
      {&ops::max_pool, Attrs(pool), {random_tensor({2, 5, 400, 6}, 11)}},  // rows longer than a block of pixels
      {&ops::max_pool_grad, Attrs(pool), {image, grid}},
      {&ops::max_pool_grad, Attrs(apart), {image, grid_apart}},
      {&ops::avg_pool, Attrs(pool), {image}},
      {&ops::avg_pool_grad, Attrs(back), {grid}},
      {&ops::dropout, Attrs(DropoutAttrs{0.3}), {rows, random::state(5)}},
  };
  for (const Large& c : cases) {
    const auto run = [&] { return outputs_of(*c.op, c.attrs, c.inputs); };
    const std::vector<Tensor> first = with_threads(1, run), expected = by_reference(run);
    for (int count : {2, 3, 7}) {
      const std::vector<Tensor> y = with_threads(count, run);
      for (size_t i = 0; i < y.size(); ++i)
        EXPECT_TRUE(same_bits(y[i], first[i])) << c.op->name << " output " << i << " threads " << count;
    }
    for (size_t i = 0; i < first.size(); ++i)
      EXPECT_LE(distance(first[i], expected[i]), 2e-5) << c.op->name << " output " << i;
  }
}

TEST(Softmax, SurvivesLargeValuesAndKnowsNaN) {
  const Tensor x =
      Tensor::from(std::vector<float>{1e30F, 1e30F, 0, -kInf, 1, 1, kNaN, 1, 1, -kInf, -kInf, -kInf}, {4, 3});
  const std::vector<float> y = softmax(x).to_vector<float>();
  EXPECT_EQ(y[0], 0.5F);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 0);
  EXPECT_EQ(y[4], 0.5F);
  for (size_t i = 6; i < 12; ++i) EXPECT_TRUE(std::isnan(y[i])) << i;
  EXPECT_LE(distance(softmax(x, 0), by_reference([&] { return softmax(x, 0); })), 0);
}

TEST(Pooling, KeepsNaNAndMinusInf) {
  const Tensor x = Tensor::from(std::vector<float>{-kInf, -kInf, kNaN, 1}, {1, 4, 1});
  const std::vector<float> y = max_pool(x, 2).to_vector<float>();
  EXPECT_EQ(y[0], -kInf);
  EXPECT_TRUE(std::isnan(y[1]));
  const PoolAttrs attrs{{2}, {2}, {0}, {0}, false, {}};
  EXPECT_EQ(outputs_of(ops::max_pool_grad, attrs, {x, Tensor::from(std::vector<float>{1, 2}, {1, 2, 1})})[0]
                .to_vector<float>(),
            (std::vector<float>{1, 0, 2, 0}));
}

TEST(Pooling, AveragesWithoutPaddingUnlessAsked) {
  const Tensor x = ones({1, 3, 3, 1}) + zeros({1, 3, 3, 1});
  EXPECT_EQ(avg_pool(x, 2, {.padding = "same"}).to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(avg_pool(x, 2, {.padding = "same", .count_padding = true}).to_vector<float>(),
            (std::vector<float>{1, 0.5F, 0.5F, 0.25F}));
  EXPECT_THROW(max_pool(zeros({2, 3}), 2), Error);
  EXPECT_THROW(max_pool(zeros({1, 3, 3, 1}), 4), Error);
}

TEST(CrossEntropy, IsNaNForALabelOutOfRange) {
  const Tensor logits = random_tensor({3, 5}, 2);
  const std::vector<float> loss =
      sparse_softmax_cross_entropy(logits, Tensor::of<int32_t>({4, 5, -1})).to_vector<float>();
  const std::vector<float> expected = (-log_softmax(logits)).to_vector<float>();
  EXPECT_NEAR(loss[0], expected[4], 1e-6);
  EXPECT_TRUE(std::isnan(loss[1]) && std::isnan(loss[2]));
  EXPECT_THROW(sparse_softmax_cross_entropy(logits, zeros({3})), Error);
}

TEST(Dropout, KeepsTheExpectedShareAndScales) {
  const Tensor x = ones({100000}) + zeros({100000});
  const Tensor y = dropout(x, random::state(1), 0.25);
  EXPECT_NEAR(mean(y).item<float>(), 1, 0.02);
  EXPECT_EQ(max(y).item<float>(), 1 / 0.75F);
  EXPECT_NEAR(mean(cast(y == 0, f32)).item<float>(), 0.25, 0.01);
  EXPECT_TRUE(same_bits(y, dropout(x, random::state(1), 0.25)));
  EXPECT_THROW(dropout(x, random::state(1), 1), Error);
}

TEST(Embedding, LooksUpIdsOfAnyShapeFromBothEndsAndClamps) {
  const Tensor table = Tensor::from(std::vector<float>{0, 1, 10, 11, 20, 21}, {3, 2});
  const Tensor ids = Tensor::from(std::vector<int32_t>{2, 0, -1, 7, 1, -9}, {2, 3});
  const Tensor rows = embedding(table, ids);
  EXPECT_EQ(rows.shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(rows.to_vector<float>(), (std::vector<float>{20, 21, 0, 1, 20, 21, 20, 21, 10, 11, 0, 1}));
  EXPECT_THROW(embedding(table, zeros({2})), Error);
}

TEST(Update, MatchesKerasFormulas) {
  const Tensor p = Tensor::of<float>({1}), g = Tensor::of<float>({0.5F}), v = Tensor::of<float>({0.2F}),
               lr = Tensor(0.1F);
  const auto [plain, velocity] = sgd_update(p, g, v, lr, {.momentum = 0.9});
  EXPECT_FLOAT_EQ(velocity.item<float>(), 0.9F * 0.2F - 0.05F);
  EXPECT_FLOAT_EQ(plain.item<float>(), 1 + 0.13F);
  EXPECT_FLOAT_EQ(sgd_update(p, g, v, lr, {.momentum = 0.9, .nesterov = true}).first.item<float>(),
                  1 + 0.9F * 0.13F - 0.05F);
  const auto [next, m, second] = adam_update(p, g, zeros({1}), zeros({1}), lr, Tensor(1.0F), {});
  EXPECT_NEAR(next.item<float>(), 0.9F, 1e-5);  // the first step is lr in the gradient's direction
  EXPECT_FLOAT_EQ(m.item<float>(), 0.05F);
  EXPECT_FLOAT_EQ(second.item<float>(), 0.00025F);
}

}  // namespace
}  // namespace hone
