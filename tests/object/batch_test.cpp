// Objects that take the batch size with each call: the bits of the function at that size.
#include "hone/base/error.h"
#include "hone/function/control.h"
#include "hone/ops/contraction.h"
#include "hone/ops/convolution.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"
#include "tests/object/expect.h"

namespace hone {
namespace {

using object_test::Machine;
using object_test::numbers;
using BatchObject = object_test::Object;

template <class F>
void expect_object_takes_any_batch(Machine machine, const F& f, const TensorType& example, DType dtype = f32) {
  Shape any = example.shape;
  any.insert(0, Dim("batch"));
  const Lowered lowered = function(f).lower(Spec{dtype, any});
  for (const int64_t batch : {int64_t{1}, int64_t{75}, int64_t{0}}) {
    Shape shape = example.shape;
    shape.insert(0, Dim(batch));
    const Tensor x = is_floating(dtype) ? numbers(shape, 2) : cast(numbers(shape, 4.9F, 5), dtype);
    const Tensor expected = function(f)(x);
    object_test::RunOptions options;
    options.batch = batch, options.threads = batch > 1 ? 2 : 1;
    object_test::expect_same_bits(object_test::run_object(lowered, machine, {x}, {expected.type()}, options)[0],
                                  expected);
  }
}

TEST_P(BatchObject, OfAnMlpHasTheBitsOfEachBatchSize) {
  const Tensor w = numbers({40, 70}, 0.3F), v = numbers({70, 5}, 0.3F), scale = numbers({40}, 0.5F, 1);
  const auto f = [=](Tensor x) {
    return softmax(dense(gelu(dense(layer_norm(x, scale, numbers({40})), w, numbers({70}))), v));
  };
  expect_object_takes_any_batch(GetParam(), f, {f32, {40}});
}

TEST_P(BatchObject, OfAConvNetHasTheBitsOfEachBatchSize) {
  const Tensor kernel = numbers({3, 3, 3, 10}, 0.4F), w = numbers({160, 7}, 0.2F);
  const auto f = [=](Tensor x) {
    const Tensor y = max_pool(relu(conv2d(x, kernel, {.padding = "same", .bias = numbers({10})})), {2, 2});
    return dense(reshape(y, {-1, 160}), w, numbers({7}));
  };
  expect_object_takes_any_batch(GetParam(), f, {f32, {8, 8, 3}});
}

TEST_P(BatchObject, OfSequencesHasTheBitsOfEachBatchSize) {
  const Tensor table = numbers({11, 6}), u = numbers({6, 24}, 0.4F), r = numbers({6, 24}, 0.3F);
  const auto f = [=](Tensor ids) {
    const Tensor xs = dense(swap_axes(embedding(table, ids), 0, 1), u);  // [t, n, 24]
    const Tensor start = zeros({ids.shape()[0], 6});
    return scan(
               [&](std::pair<Tensor, Tensor> state, Tensor gates) {
                 const auto [h, c] = lstm_cell(gates + matmul(state.first, r), state.second);
                 return std::pair{std::pair{h, c}, h};
               },
               std::pair{start, start}, xs)
        .first.first;
  };
  expect_object_takes_any_batch(GetParam(), f, {i32, {5}}, i32);
}

TEST(BatchProof, NamesTheCallThatMixesExamples) {
  const auto message = [](auto f) {
    try {
      (void)function(f).lower(Spec{f32, {Dim("batch"), 8}}).object();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUnsupported);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const auto names = [&](const std::string& text, const char* op, const char* why) {
    EXPECT_NE(text.find(op), std::string::npos) << text;
    EXPECT_NE(text.find(why), std::string::npos) << text;
    EXPECT_NE(text.find("batch_test.cpp:"), std::string::npos) << text;
    EXPECT_NE(text.find("--batch N"), std::string::npos) << text;
  };
  names(message([](Tensor x) { return x - max(x, 0); }), "reduce_max", "one for all examples");
  names(message([](Tensor x) { return matmul(x, transpose(x)); }), "dot_general",
        "two extents that depend on the batch size");
  names(message([](Tensor x) { return x[slice({}, {}, -1)]; }), "reverse", "turns their order");
  names(message([](Tensor x) {
          return scan([](Tensor c, Tensor r) { return std::pair{c + r, c}; }, zeros({8}), x).second;
        }),
        "scan", "one example to the next");
}

INSTANTIATE_TEST_SUITE_P(Machines, BatchObject, ::testing::Values(Machine::Host, Machine::Arm64),
                         object_test::machine_name);

}  // namespace
}  // namespace hone
