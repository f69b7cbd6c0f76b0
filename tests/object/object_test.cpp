// Functions compiled ahead of time give the bits of the same functions in Hone under Reproducible::Portable.
#include <gtest/gtest.h>

#include <set>

#include "hone/base/error.h"
#include "hone/function/function.h"
#include "hone/function/tape.h"
#include "hone/function/variable.h"
#include "hone/ops/attention.h"
#include "hone/ops/contraction.h"
#include "hone/ops/convolution.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/misc.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"
#include "hone/ops/sorting.h"
#include "hone/optim/optimizer.h"
#include "tests/object/expect.h"

namespace hone {
namespace {

using object_test::expect_object_equals_function;
using object_test::expect_same_bits;
using object_test::Machine;
using object_test::numbers;
using object_test::Object;
using object_test::RunOptions;

TEST_P(Object, OfElementwiseCallsHasTheBitsOfTheFunction) {
  const auto f = [](Tensor x, Tensor b) { return (x * b + 0.5F) / (sqrt(abs(x)) + 2.0F) - x; };
  expect_object_equals_function(GetParam(), f, {numbers({7, 33}, 3), numbers({33})});
  expect_object_equals_function(GetParam(), f, {numbers({5, 300}, 3), numbers({5, 1})});
  expect_object_equals_function(GetParam(), f, {numbers({3, 4, 5, 6}, 3), numbers({4, 1, 6})});
  expect_object_equals_function(GetParam(), f, {numbers({1}, 3), numbers({1})});
}

TEST_P(Object, OfMovementAndReductionsHasTheBitsOfTheFunction) {
  const auto f = [](Tensor x) {
    const Tensor y = transpose(x, {1, 0}) * 2.0F;
    return concatenate({sum(y, {0}), max(y, {0}), mean(x, {1})}, 0);
  };
  expect_object_equals_function(GetParam(), f, {numbers({70, 50})});
  const auto long_columns = [](Tensor x) { return sum(x * x, {0}); };
  expect_object_equals_function(GetParam(), long_columns, {numbers({3000, 9})});
}

TEST_P(Object, OfTranscendentalFunctionsHasTheirBitsAtEveryLevel) {
  const auto f = [](Tensor x, Tensor y) { return exp(x) + tanh(y) * log(abs(x) + 0.1F) + pow(abs(y) + 0.5F, x); };
  for (const uint32_t level : {1U, 2U, 4U}) {
    if (GetParam() == Machine::Arm64 && level > 1) break;
    RunOptions options;
    options.object.levels = level;
    expect_object_equals_function(GetParam(), f, {numbers({3, 77}, 4), numbers({3, 77}, 2)}, options);
  }
}

TEST_P(Object, OfDenseLayersAndNormsIsTheFunctionInAnyFloatingPointModeAndSplit) {
  const Tensor w = numbers({40, 24}, 0.3F), v = numbers({24, 8}, 0.4F), b = numbers({24}, 0.1F);
  const auto f = [=](Tensor x) {
    const Tensor h = maximum(matmul(x, w) + b, 0.0F);
    const Tensor centred = h - mean(h, -1, true);
    return matmul(centred * rsqrt(mean(centred * centred, -1, true) + 1e-5F), v);
  };
  for (const bool fresh : {true, false}) {
    RunOptions options;
    options.fresh_mode = fresh, options.threads = fresh ? 1 : 4;
    expect_object_equals_function(GetParam(), f, {numbers({300, 40})}, options);
  }
}

TEST_P(Object, ReadsItsWeightsFromAFileAndNoOther) {
  const Tensor w = numbers({64, 32}, 0.3F);
  RunOptions options;
  options.object.embed_weights = false;
  expect_object_equals_function(GetParam(), [=](Tensor x) { return matmul(x, w); }, {numbers({2, 64})}, options);
}

TEST_P(Object, KeepsItsStateBetweenCallsAsTheFunctionDoes) {
  const auto make = [](const Variable& level) {
    return function([=](Tensor block) {
      level.assign(level.value() * 0.9F + 0.1F * max(abs(block)));
      return block / (1 + level.value());
    });
  };
  const Tensor block = numbers({64}, 2);
  const Variable ours(ones({1})), theirs(ones({1}));
  const auto f = make(ours), g = make(theirs);
  const Lowered lowered = g.lower(Spec{f32, {64}});
  Tensor expected;
  for (int i = 0; i < 5; ++i) expected = f(block);
  RunOptions options;
  options.calls = 5;
  expect_same_bits(object_test::run_object(lowered, GetParam(), {block}, {expected.type()}, options)[0], expected);
  EXPECT_EQ(theirs.value().item<float>(), 1) << "the variable keeps its value";
}

TEST_P(Object, TrainsAsTheFunctionDoes) {
  const auto make = [](const Variable& w, const Variable& m) {
    return function([=](Tensor x, Tensor y) {
      const Tensor error = matmul(x, w.value()) - y;
      const Tensor gradient = matmul(transpose(x), error) * (2.0F / 16);
      m.assign(m.value() * 0.9F + gradient);
      w.assign(w.value() - 0.05F * m.value());
      return mean(error * error);
    });
  };
  const Tensor x = numbers({16, 20}), y = numbers({16, 3}, 0.5F, 0.2F);
  const auto start = [] { return numbers({20, 3}, 0.1F); };
  const Variable w(start()), m(zeros({20, 3})), w2(start()), m2(zeros({20, 3}));
  const auto f = make(w, m), g = make(w2, m2);
  const Lowered lowered = g.lower(Spec{f32, {16, 20}}, Spec{f32, {16, 3}});
  Tensor loss;
  for (int i = 0; i < 100; ++i) loss = f(x, y);
  RunOptions options;
  options.calls = 100;
  options.object.entry = "step";
  expect_same_bits(object_test::run_object(lowered, GetParam(), {x, y}, {loss.type()}, options)[0], loss);
}

TEST(ObjectFile, NeedsLibcAndLibmAloneAndOffersItsOwnNamesOnly) {
  const Tensor w = numbers({64, 32}, 0.3F);
  const auto f = function([=](Tensor x) { return softmax(tanh(matmul(x, w))); });
  const object_test::Symbols symbols = object_test::symbols_of(f.lower(Spec{f32, {2, 64}}), {.name = "net"});
  const std::set<std::string> libc = {"memcpy", "memset", "memmove", "memcmp", "fma",    "fmaf", "pow", "powf",
                                      "malloc", "free",   "fopen",   "fread",  "fclose", "expf", "exp"};
  for (const std::string& each : symbols.needed) EXPECT_TRUE(libc.contains(each)) << each;
  for (const std::string& each : symbols.offered) EXPECT_TRUE(each.starts_with("net_")) << each;
  EXPECT_FALSE(symbols.offered.empty());
}

TEST(ObjectFile, NamesWhatCannotBeInIt) {
  const auto f = function([](Tensor x) { return print(x + 1); });
  try {
    f.lower(Spec{f32, {8}}).write_object("/tmp/never.o", "/tmp/never.h");
    FAIL() << "printing calls the host";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnsupported);
    EXPECT_NE(std::string(error.what()).find("custom_call"), std::string::npos) << error.what();
  }
  const auto g = function([](Tensor x) { return x + 1; });
  EXPECT_THROW(g.lower(Spec{f32, {8}}).write_object("/tmp/never.o", "/tmp/never.h", {.name = "1st"}), Error);
  EXPECT_THROW(g.lower(Spec{f32, {8}}).write_object("/no/such/folder/a.o", "/tmp/never.h"), Error);
}

TEST_P(Object, OfAConvNetHasTheBitsOfTheFunction) {
  const Tensor kernel = numbers({3, 3, 3, 10}, 0.4F), bias = numbers({10}, 0.3F), w = numbers({160, 7}, 0.2F);
  const auto f = [&](Tensor x) {
    const Tensor y = max_pool(relu(conv2d(x, kernel, {.padding = "same", .bias = bias})), {2, 2});
    const Tensor z = avg_pool(y, {2, 2}, {.strides = Sizes{1, 1}, .padding = "same"});
    return softmax(dense(reshape(max_pool(z, {1, 1}), {2, 160}), w, numbers({7})));
  };
  expect_object_equals_function(GetParam(), f, {numbers({2, 8, 8, 3}, 2)});
  expect_object_equals_function(GetParam(), f, {numbers({2, 8, 8, 3}, 2)}, {.threads = 2});
}

TEST_P(Object, OfRecurrentCellsHasTheBitsOfTheFunction) {
  const Tensor w = numbers({6, 36}, 0.5F), u = numbers({9, 36}, 0.4F), b = numbers({36}, 0.1F);
  const auto lstm = [&](Tensor x, Tensor state) {
    const auto [h, c] = lstm_cell(dense(x, w, b) + dense(state, u), state);
    return concatenate({h, c}, 1);
  };
  expect_object_equals_function(GetParam(), lstm, {numbers({5, 6}, 2), numbers({5, 9})});
  const Tensor v = numbers({6, 27}, 0.5F), r = numbers({9, 27}, 0.4F);
  const auto gru = [&](Tensor x, Tensor h) { return gru_cell(dense(x, v), dense(h, r), h); };
  expect_object_equals_function(GetParam(), gru, {numbers({5, 6}, 2), numbers({5, 9})});
}

TEST_P(Object, OfAnMlpWithLayerNormHasTheBitsOfTheFunction) {
  const Tensor w = numbers({20, 33}, 0.3F), v = numbers({33, 20}, 0.3F), scale = numbers({20}, 0.5F, 1);
  const auto f = [&](Tensor x) {
    const Tensor y = dense(gelu(dense(layer_norm(x, scale, numbers({20}, 0.1F)), w)), v);
    return log_softmax(rms_norm(x + y, scale));
  };
  expect_object_equals_function(GetParam(), f, {numbers({70, 20}, 3)});
}

TEST_P(Object, OfHalfPrecisionRowsHasTheBitsOfTheFunction) {
  for (const DType dtype : {f16, bf16}) {
    const Tensor scale = cast(numbers({20}, 0.5F, 1), dtype);
    const auto f = [&](Tensor x) { return softmax(layer_norm(x, scale, scale)); };
    expect_object_equals_function(GetParam(), f, {cast(numbers({7, 20}, 3), dtype)});
  }
}

TEST_P(Object, OfLookUpsAndBatchNormHasTheBitsOfTheFunction) {
  const Tensor table = numbers({11, 20}), scale = numbers({20}, 0.5F, 1), shift = numbers({20}, 0.1F);
  const auto f = [&](Tensor ids) {
    const Tensor x = embedding(table, ids);
    const auto [y, average, variance] = batch_norm_training(x, scale, shift);
    return concatenate({batch_norm_inference(y, scale, shift, average, variance), x}, 0);
  };
  expect_object_equals_function(GetParam(), f, {cast(numbers({150}, 5, 5.5F), i32)});
}

// Twenty steps of an object, whose state lies in the caller's memory, against twenty of the function.
void expect_training_equals_function(Machine machine, const optim::Optimizer& optimizer) {
  const std::vector<Variable> weights{Variable(numbers({6, 16}, 0.5F)), Variable(numbers({16}, 0.1F)),
                                      Variable(numbers({16, 5}, 0.5F)), Variable(numbers({5}, 0.1F))};
  const auto step = function([&](Tensor x, Tensor labels) {
    GradientTape tape;
    const Tensor hidden = relu(dense(x, weights[0], weights[1]));
    const Tensor loss = mean(sparse_softmax_cross_entropy(dense(hidden, weights[2], weights[3]), labels));
    optimizer.apply_gradients(tape.gradient(loss, weights), weights);
    std::vector<Tensor> parts{reshape(loss, {1})};
    for (const Variable& each : weights) parts.push_back(reshape(each.value(), {each.value().size()}));
    return concatenate(parts, 0);
  });
  const Tensor x = numbers({12, 6}), labels = cast(numbers({12}, 2.4F, 2.5F), i32);
  const Lowered lowered = step.lower(Spec{f32, x.shape()}, Spec{i32, labels.shape()});
  const std::vector<Tensor> made =
      object_test::run_object(lowered, machine, {x, labels}, {{f32, {1 + 96 + 16 + 80 + 5}}}, {.calls = 20});
  Tensor expected;
  for (int i = 0; i < 20; ++i) expected = step(x, labels);
  expect_same_bits(made[0], expected);
}

TEST_P(Object, OfAttentionAndItsGradientsHasTheBitsOfTheFunction) {
  const Tensor k = numbers({2, 37, 3, 20}, 0.7F), v = numbers({2, 37, 3, 20}, 0.9F);
  for (const bool causal : {false, true}) {
    const auto f = [&](Tensor q) {
      GradientTape tape;
      tape.watch(q);
      const Tensor y = scaled_dot_product_attention(q, k, v, {.causal = causal});
      return concatenate({y, tape.gradient(sum(y * y), q)}, 0);
    };
    expect_object_equals_function(GetParam(), f, {numbers({2, 30, 3, 20}, 2)}, {.threads = causal ? 4 : 1});
  }
}

TEST_P(Object, OfSortedAndScatteredRowsHasTheBitsOfTheFunction) {
  const Tensor table = numbers({11, 20});
  const auto f = [&](Tensor ids) {
    GradientTape tape;
    tape.watch(table);
    const Tensor x = embedding(table, ids);
    const Tensor ordered = take_along_axis(x, argsort(x), -1);
    const auto [largest, places] = top_k(cumsum(ordered, 0), 7);
    const Tensor slope = tape.gradient(sum(x * x), table);
    return concatenate(
        {reshape(largest, {-1}), reshape(cast(places, f32), {-1}), reshape(sort(x, -1), {-1}), reshape(slope, {-1})},
        0);
  };
  expect_object_equals_function(GetParam(), f, {cast(numbers({150}, 5, 5.5F), i32)});
  expect_object_equals_function(GetParam(), f, {cast(numbers({150}, 5, 5.5F), i32)}, {.threads = 4});
}

TEST_P(Object, OfDoubleAndIntegerProductsHasTheBitsOfTheFunction) {
  for (const DType dtype : {f64, i32, u8}) {
    const Tensor w = cast(numbers({3, 3, 2, 5}, 4, 4), dtype), u = cast(numbers({5, 6}, 4, 4), dtype);
    const auto f = [&](Tensor x) { return matmul(conv2d(x, w, {.strides = 2, .padding = "same"}), u); };
    expect_object_equals_function(GetParam(), f, {cast(numbers({2, 9, 8, 2}, 4, 4), dtype)});
  }
}

TEST_P(Object, OfTrainingStepsKeepsTheStateOfTheFunction) {
  expect_training_equals_function(GetParam(), optim::SGD({.learning_rate = 0.1, .momentum = 0.9}));
  expect_training_equals_function(GetParam(), optim::Adam({.learning_rate = 0.01}));
}

INSTANTIATE_TEST_SUITE_P(Machines, Object, ::testing::Values(Machine::Host, Machine::Arm64), object_test::machine_name);

}  // namespace
}  // namespace hone
