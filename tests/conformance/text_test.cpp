// The text form: every sample of every op, printed and read back. HONE_TEXT_DUMP=DIR writes the texts with inputs and
// outputs for tests/golden/make_stablehlo.py --check.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "hone/base/error.h"
#include "hone/base/file.h"
#include "hone/compiler/stablehlo.h"
#include "hone/formats/npy.h"
#include "tests/conformance/cases.h"

namespace hone::conformance {
namespace {

ir::Graph graph_of(const Case& c, std::span<const TensorType> types) {
  ir::Builder builder(std::make_shared<ir::Context>());
  std::vector<ir::ValueId> inputs, outputs;
  for (const TensorType& type : types) inputs.push_back(builder.add_input(type, {}));
  const auto results = static_cast<uint32_t>(c.outputs());
  const uint32_t node = builder.add(c.op, c.sample.attrs, inputs, results, 0);
  for (uint32_t i = 0; i < results; ++i) outputs.push_back(builder.graph().nodes()[node].first_result + i);
  return builder.finish(std::move(outputs));
}

std::vector<Tensor> results_of(const ir::Graph& graph, const std::vector<Tensor>& arguments) {
  std::vector<Tensor> inputs;
  size_t given = 0;
  for (const ir::Input& input : graph.inputs())
    inputs.push_back(input.kind == ir::InputKind::Constant ? input.tensor : arguments[given++]);
  return ir::interpret(graph, inputs);
}

formats::NamedTensors named(const char* prefix, const std::vector<Tensor>& tensors) {
  formats::NamedTensors out;
  for (size_t i = 0; i < tensors.size(); ++i) out.emplace_back(fmt::format("{}{}", prefix, i), tensors[i]);
  return out;
}

// Texts without custom calls say all that they compute: an interpreter of StableHLO can run them.
void dump(const Case& c, const std::string& text, const std::vector<Tensor>& inputs,
          const std::vector<Tensor>& outputs) {
  const char* const folder = std::getenv("HONE_TEXT_DUMP");
  if (!folder) return;
  const std::string path = fmt::format("{}/{}_{}", folder, c.op.name, c.number);
  write_file_atomic(path + ".mlir", text);
  if (text.find("custom_call") != std::string::npos) return;
  formats::NamedTensors arrays = named("arg", inputs);
  for (auto& array : named("out", outputs)) arrays.push_back(std::move(array));
  formats::write_npz(path + ".npz", arrays);
}

TEST(Text, EverySampleReadsBackAndGivesTheSameBits) {
  for (const Case& c : cases()) {
    for (const bool generic : {false, true}) {
      try {
        const std::string text = compiler::to_text(graph_of(c, c.sample.inputs), {.generic = generic});
        const ir::Graph again = compiler::parse_text(text, "printed");
        EXPECT_EQ(compiler::to_text(again, {.generic = generic}), text) << c.label();
        if (generic) continue;
        const std::vector<Tensor> inputs = draw(c), expected = run(c, inputs);
        EXPECT_EQ(difference(results_of(again, inputs), expected), "") << c.label();
        dump(c, text, inputs, expected);
      } catch (const Error& error) {
        ADD_FAILURE() << c.label() << ": " << error.what();
      }
    }
  }
}

// Extents that stand for one number become a symbol; where an op's rule cannot follow, it says so.
TEST(Text, SymbolicGraphsReadBack) {
  const Dim rows("text_rows", 1, 1 << 20);
  std::set<std::string_view> served;
  for (const Case& c : cases()) {
    std::vector<TensorType> types = c.sample.inputs;
    bool symbolic = false;
    for (TensorType& type : types) {
      if (type.shape.empty() || !(type.shape[0] == types[0].shape[0])) continue;
      symbolic = true;
    }
    if (!symbolic) continue;
    const Dim first = types[0].shape.empty() ? Dim(-1) : types[0].shape[0];
    for (TensorType& type : types) {
      if (!type.shape.empty() && type.shape[0] == first) type.shape[0] = rows * 2 + 1;
    }
    std::optional<ir::Graph> graph;
    try {
      graph = graph_of(c, types);
    } catch (const Error&) {
      continue;
    }
    try {
      const std::string text = compiler::to_text(*graph);
      const ir::Graph again = compiler::parse_text(text, "printed");
      EXPECT_EQ(compiler::to_text(again), text) << c.label();
      for (size_t i = 0; i < types.size(); ++i) EXPECT_EQ(again.type(again.inputs()[i].value), types[i]) << c.label();
      served.insert(c.op.name);
    } catch (const Error& error) {
      ADD_FAILURE() << c.label() << ": " << error.what();
    }
  }
  EXPECT_GT(served.size(), 80U);
}

TEST(Text, InputsKeepNamesKindsAndNewValues) {
  ir::Builder builder(std::make_shared<ir::Context>());
  ir::Input variable;
  variable.kind = ir::InputKind::Variable;
  variable.name = "weights \"w\"";
  variable.new_value = 1;
  const ir::ValueId x = builder.add_input({f32, {3}}, {}), w = builder.add_input({f32, {3}}, variable);
  const ir::ValueId operands[] = {x, w};
  const ir::ValueId sum = builder.add_one(ops::add, {}, operands, 0),
                    product = builder.add_one(ops::multiply, {}, operands, 0);
  const std::string text = compiler::to_text(builder.finish({sum, product}));
  const ir::Graph again = compiler::parse_text(text, "printed");
  EXPECT_EQ(compiler::to_text(again), text);
  EXPECT_EQ(again.inputs()[1].kind, ir::InputKind::Variable);
  EXPECT_EQ(again.inputs()[1].name, variable.name);
  EXPECT_EQ(again.inputs()[1].new_value, 1U);
}

TEST(Text, LinesOfTheSourceComeAlong) {
  ir::Context context;
  ir::Builder builder(std::make_shared<ir::Context>());
  ir::Origin origin;
  origin.lines.push_back({"model.cpp", "", 31});
  origin.layer = "model/dense";
  const ir::ValueId x = builder.add_input({f32, {3}}, {});
  const ir::ValueId operands[] = {x, x};
  const ir::ValueId sum = builder.add_one(ops::add, {}, operands, builder.context().add(origin));
  const std::string text = compiler::to_text(builder.finish({sum}), {.locations = true});
  EXPECT_NE(text.find("loc(\"model/dense\"(\"model.cpp\":31:0))"), std::string::npos) << text;
  const ir::Graph again = compiler::parse_text(text, "printed");
  EXPECT_EQ(compiler::to_text(again, {.locations = true}), text);
  EXPECT_STREQ(again.origin(again.nodes()[0]).location().file, "model.cpp");
}

struct Wrong {
  const char* body;
  const char* message;
};

TEST(Text, MistakesAreNamedByFileLineAndColumn) {
  const Wrong kWrong[] = {
      {"%0 = stablehlo.add %arg0, %x : tensor<3xf32>", "f.mlir:2:27: %x is not defined"},
      {"%0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>",
       "f.mlir:2:6: stablehlo.add gives f32[3], the text says tensor<4xf32>"},
      {"%0 = stablehlo.add %arg0, %arg0 : tensor<3xf32", "f.mlir:2:35: expected a type that ends on its line"},
      {"%0 = stablehlo.add %arg0, = : tensor<3xf32>", "f.mlir:2:27: expected an attribute's value, got '='"},
      {"%0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<3xf32>", "expected 3 elements"},
      {"%0 = stablehlo.constant dense<1.5> : tensor<3xi32>", "expected an element of i32, got '1.5'"},
      {"%0 = stablehlo.constant dense<\"0x00\"> : tensor<3xi32>", "expected the bytes of i32[3] in hexadecimal"},
      {"%0 = stablehlo.compare XX, %arg0, %arg0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>",
       "'XX' is no comparison_direction"},
      {"%0:2 = stablehlo.add %arg0, %arg0 : tensor<3xf32>", "gives 1 results, the text names 2"},
      {"%0 = call @f(%arg0) : (tensor<3xf32>) -> tensor<3xf32>", "there is no function @f"},
      {"%0 = call @main(%arg0) : (tensor<3xf32>) -> tensor<3xf32>", "more than 100 calls and regions in each other"},
      {"%0 = stablehlo.custom_call @hone.softmax(%arg0) {hone.attributes = {axes = 1}} : (tensor<3xf32>) -> "
       "tensor<3xf32>",
       "softmax has no such attribute"},
      {"%0 = stablehlo.concatenate %arg0, dim = \"x\" : (tensor<3xf32>) -> tensor<3xf32>",
       "the attribute dim must be an integer"},
      {"%0 = stablehlo.slice %arg0 [1:9] : (tensor<3xf32>) -> tensor<8xf32>", "f.mlir:2"}};
  for (const Wrong& wrong : kWrong) {
    const std::string text = fmt::format(
        "func.func @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {{\n{}\nreturn %0 : tensor<3xf32>\n}}", wrong.body);
    try {
      compiler::parse_text(text, "f.mlir");
      ADD_FAILURE() << wrong.body;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument) << wrong.body;
      EXPECT_NE(std::string(error.what()).find(wrong.message), std::string::npos) << wrong.body << "\n" << error.what();
    }
  }
}

TEST(Text, WhatIsNotSupportedIsListedAtOnce) {
  const char* const text =
      R"(func.func @main(%arg0: tensor<3xcomplex<f32>>, %arg1: tensor<?xf32>, %arg2: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.real %arg0 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %1 = stablehlo.add %0, %arg2 : tensor<3xf32>
  %2 = stablehlo.dynamic_reshape %arg1, %arg2 : (tensor<?xf32>, tensor<3xf32>) -> tensor<3xf32>
  %3 = stablehlo.convert %arg2 : (tensor<3xf32>) -> tensor<3xf8E4M3FN>
  %4 = "stablehlo.reduce_window"(%arg2, %arg2, %1, %1) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    stablehlo.return %a, %b : tensor<f32>, tensor<f32>
  }) : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %5 = stablehlo.custom_call @lapack_sgetrf(%arg2) : (tensor<3xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
})";
  try {
    compiler::parse_text(text, "f.mlir");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnsupported);
    const std::string message = error.what();
    for (const char* part :
         {"f.mlir uses what Hone does not support", "1:17: the type tensor<3xcomplex<f32>>",
          "1:48: the type tensor<?xf32>: ? without the attribute hone.shape", "2:8: stablehlo.real",
          "4:8: stablehlo.dynamic_reshape", "5:8: stablehlo.convert gives tensor<3xf8E4M3FN>",
          "6:8: stablehlo.reduce_window of 2 operands", "10:8: stablehlo.custom_call @lapack_sgetrf"})
      EXPECT_NE(message.find(part), std::string::npos) << part << "\n" << message;
    EXPECT_EQ(message.find("stablehlo.add"), std::string::npos) << message;
  }
}

// Regions that look like known ones but are not.
TEST(Text, OnlyRegionsThatComputeTheSameAreKnown) {
  const auto sort = [](const char* body) {
    return fmt::format(R"(func.func @main(%arg0: tensor<3xi32>) -> tensor<3xi32> {{
  %0 = "stablehlo.sort"(%arg0) <{{dimension = 0 : i64}}> ({{
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    {}
    stablehlo.return %c : tensor<i1>
  }}) : (tensor<3xi32>) -> tensor<3xi32>
  return %0 : tensor<3xi32>
}})",
                       body);
  };
  const auto known = [&](const char* body) {
    try {
      return compiler::parse_text(sort(body), "f").nodes().size() == 1;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUnsupported) << error.what();
      return false;
    }
  };
  EXPECT_TRUE(known("%c = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>"));
  EXPECT_TRUE(known("%c = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>"));
  EXPECT_TRUE(known("%c = stablehlo.compare GT, %b, %a : (tensor<i32>, tensor<i32>) -> tensor<i1>"));
  EXPECT_FALSE(known("%c = stablehlo.compare LE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>"));
  EXPECT_FALSE(known("%c = stablehlo.compare LT, %a, %a : (tensor<i32>, tensor<i32>) -> tensor<i1>"));
  EXPECT_FALSE(known(R"(%d = stablehlo.negate %a : tensor<i32>
    %c = stablehlo.compare LT, %d, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>)"));
}

}  // namespace
}  // namespace hone::conformance
