// Texts of programs, damaged: an Error or a graph, never a crash, never long.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hone/base/error.h"
#include "hone/compiler/stablehlo.h"
#include "tests/conformance/cases.h"
#include "tests/fuzz/draw.h"

namespace hone::fuzz {
namespace {

// What JAX writes and Hone does not: calls, pretty loops and reducers, locations, dense bytes, batching axes.
constexpr const char* kForeign[] = {
    R"(#loc1 = loc("x")
module @jit_f attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%arg0: tensor<8x3xf32> loc("x")) -> (tensor<3xf32> {jax.result_info = "result[0]"}, tensor<8x3xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3xf32> loc(#loc3)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x3xf32>
    %2:4 = stablehlo.while(%iterArg = %arg0, %iterArg_1 = %c, %iterArg_2 = %0, %iterArg_3 = %1) : tensor<8x3xf32>, tensor<i32>, tensor<3xf32>, tensor<8x3xf32>
    cond {
      %c_4 = stablehlo.constant dense<8> : tensor<i32>
      %3 = stablehlo.compare LT, %iterArg_1, %c_4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %3:2 = func.call @closed_call(%iterArg_2, %0) : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
      %c_4 = stablehlo.constant dense<1> : tensor<i32>
      %6 = stablehlo.add %iterArg_1, %c_4 : tensor<i32>
      stablehlo.return %iterArg, %6, %3#0, %iterArg_3 : tensor<8x3xf32>, tensor<i32>, tensor<3xf32>, tensor<8x3xf32>
    }
    return %2#2, %2#3 : tensor<3xf32>, tensor<8x3xf32>
  }
  func.func private @closed_call(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<3xf32>
    return %0, %0 : tensor<3xf32>, tensor<3xf32>
  }
} loc(#loc)
#loc = loc(unknown)
#loc3 = loc("jit(f)/mul"(callsite("f"("/tmp/j.py":3:12 to :22) at fused[#loc1, "y"])))
)",
    R"(func.func @main(%arg0: tensor<2x8x3xf32>, %arg1: tensor<2x3x1xi32>) -> tensor<2x3xf32> {
  %0 = stablehlo.iota dim = 1 : tensor<2x8x3xi32>
  %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [1] : (tensor<2x8x3xf32>, tensor<2x8x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
   reducer(%arg2: tensor<f32>, %arg4: tensor<f32>) (%arg3: tensor<i32>, %arg5: tensor<i32>)  {
    %2 = stablehlo.compare GT, %arg2, %arg4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %9 = stablehlo.select %2, %arg2, %arg4 : tensor<i1>, tensor<f32>
    %10 = stablehlo.select %2, %arg3, %arg5 : tensor<i1>, tensor<i32>
    stablehlo.return %9, %10 : tensor<f32>, tensor<i32>
  }
  %6 = "stablehlo.gather"(%1#0, %arg1) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<2x3xf32>, tensor<2x3x1xi32>) -> tensor<2x3xf32>
  %7 = stablehlo.constant dense<"0x0000803F000000400000404000008040000080BF00000000"> : tensor<2x3xf32>
  %8 = stablehlo.dot_general %6, %7, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  check.expect_close %7, %6 {max_ulp_difference = 3 : ui64} : tensor<2x3xf32>, tensor<2x3xf32>
  return %6 : tensor<2x3xf32>
})"};

std::vector<std::string> texts() {
  std::vector<std::string> out(std::begin(kForeign), std::end(kForeign));
  const Op* last = nullptr;
  for (const conformance::Case& c : conformance::cases()) {
    if (&c.op == last) continue;  // one of each op
    last = &c.op;
    ir::Builder builder(std::make_shared<ir::Context>());
    std::vector<ir::ValueId> inputs, outputs;
    for (const TensorType& type : c.sample.inputs) inputs.push_back(builder.add_input(type, {}));
    const auto results = static_cast<uint32_t>(c.outputs());
    const uint32_t node = builder.add(c.op, c.sample.attrs, inputs, results, 0);
    for (uint32_t i = 0; i < results; ++i) outputs.push_back(builder.graph().nodes()[node].first_result + i);
    const ir::Graph graph = builder.finish(std::move(outputs));
    for (const bool generic : {false, true})
      out.push_back(compiler::to_text(graph, {.generic = generic, .locations = generic}));
  }
  return out;
}

std::string damaged(std::string text, Draw& draw) {
  const auto place = [&] { return static_cast<size_t>(draw.integer(0, static_cast<int64_t>(text.size()) - 1)); };
  for (int64_t times = draw.integer(1, 4); times > 0 && !text.empty(); --times) {
    switch (draw.integer(0, 5)) {
      case 0:
        text.resize(place());
        break;
      case 1:
        text[place()] ^= static_cast<char>(1 << draw.integer(0, 7));
        break;
      case 2:
        text[place()] = "<>{}[]()%#@:,=-x?0919\"\n"[draw.integer(0, 22)];
        break;
      case 3:
        text.erase(place(), static_cast<size_t>(draw.integer(1, 12)));
        break;
      case 4:
        text.insert(place(), text.substr(place(), static_cast<size_t>(draw.integer(1, 30))));
        break;
      default:
        text.insert(place(), draw.among<const char*>({"-1", "9223372036854775807", "99999999999999999999", "((((",
                                                      "tensor<", "?x", "{", "0x"}));
    }
  }
  return text;
}

// A graph, or an Error that the user may have caused.
void read(const std::string& text) {
  try {
    const ir::Graph graph = compiler::parse_text(text, "fuzz");
    ir::verify(graph, "parse_text");
    compiler::to_text(graph);
  } catch (const Error& error) {
    EXPECT_NE(error.code(), Code::kInternal) << error.what() << "\n" << text;
  }
}

TEST(TextFuzz, DamagedTextsAreAnErrorOrAGraph) {
  const std::vector<std::string> all = texts();
  ASSERT_GT(all.size(), 200U);
  for (size_t i = 0; i < all.size(); ++i) {
    Draw draw(1000 + i);
    for (int round = 0; round < (i < 2 ? 1500 : 12); ++round) read(damaged(all[i], draw));
  }
}

TEST(TextFuzz, EveryTruncationIsAnErrorOrAGraph) {
  for (const char* text : kForeign) {
    for (size_t length = 0; text[length]; length += 3) read(std::string(text, length));
  }
}

TEST(TextFuzz, DeepNestingIsAnError) {
  for (const char* open : {"[", "{a = ", "({", "dense<[[", "loc(\"x\"(", "#a<[", "(tensor<3xf32>) -> ("}) {
    std::string text = "func.func @main() { stablehlo.add ";
    for (int i = 0; i < 100'000; ++i) text += open;
    EXPECT_THROW(compiler::parse_text(text, "deep"), Error) << open;
  }
}

}  // namespace
}  // namespace hone::fuzz
