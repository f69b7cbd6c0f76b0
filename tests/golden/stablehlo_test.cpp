// The programs of stablehlo.npz (make_stablehlo.py): JAX's text, run by Hone in every mode, gives XLA's results.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "hone/base/error.h"
#include "hone/base/file.h"
#include "hone/base/settings.h"
#include "hone/compiler/pipeline.h"
#include "hone/compiler/stablehlo.h"
#include "hone/formats/npy.h"
#include "hone/ops/creation.h"

namespace hone {
namespace {

struct Program {
  std::string name, text;
  bool exact = false;
  std::map<std::string, Tensor> arrays;  // arg0, ..., out0, ...
};

const std::vector<Program>& programs() {
  static const auto* all = [] {
    auto* out = new std::vector<Program>;
    std::map<std::string, Program> by_name;
    for (const auto& [path, tensor] : formats::read_npz("tests/golden/stablehlo.npz")) {
      const size_t slash = path.find('/');
      Program& program = by_name[path.substr(0, slash)];
      const std::string part = path.substr(slash + 1);
      if (part == "text") {
        program.text.assign(static_cast<const char*>(tensor.raw()), tensor.bytes());
        program.exact = program.text.starts_with("// exact");
      } else {
        program.arrays.emplace(part, tensor);
      }
    }
    for (auto& [name, program] : by_name) {
      program.name = name;
      out->push_back(std::move(program));
    }
    return out;
  }();
  return *all;
}

// Of the largest finite magnitude, or of 1: XLA sums in another order and approximates functions otherwise.
double tolerance(DType dtype) {
  switch (dtype) {
    case f64:
      return 1e-11;
    case f16:
      return 4e-3;
    case bf16:
      return 3e-2;
    default:
      return 3e-5;
  }
}

std::string difference(const Tensor& got, const Tensor& expected, bool exact) {
  if (!(got.type() == expected.type()))
    return fmt::format("{} where XLA gives {}", to_string(got.type()), to_string(expected.type()));
  const bool close = !exact && is_floating(got.dtype());
  const std::vector<double> a = cast(got, f64).to_vector<double>(), b = cast(expected, f64).to_vector<double>();
  double scale = 1;
  for (const double value : b) {
    if (std::isfinite(value)) scale = std::max(scale, std::abs(value));
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (close && std::abs(a[i] - b[i]) <= tolerance(got.dtype()) * scale) continue;
    return fmt::format("element {}: {} where XLA gives {}", i, a[i], b[i]);
  }
  return {};
}

std::vector<Tensor> inputs_of(const ir::Graph& graph, const Program& program) {
  std::vector<Tensor> inputs;
  size_t number = 0;
  for (const ir::Input& input : graph.inputs()) {
    inputs.push_back(input.kind == ir::InputKind::Constant ? input.tensor
                                                           : program.arrays.at(fmt::format("arg{}", number++)));
  }
  return inputs;
}

void expect_results(const std::vector<Tensor>& outputs, const Program& program, const char* mode) {
  ASSERT_GT(outputs.size(), 0U) << program.name;
  ASSERT_FALSE(program.arrays.contains(fmt::format("out{}", outputs.size()))) << program.name;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& expected = program.arrays.at(fmt::format("out{}", i));
    EXPECT_EQ(difference(outputs[i], expected, program.exact), "") << program.name << ", out" << i << ", " << mode;
  }
}

void expect_same_bits(const std::vector<Tensor>& compiled, const std::vector<Tensor>& eager, const Program& program) {
  for (size_t i = 0; i < eager.size(); ++i) {
    ASSERT_EQ(compiled[i].type(), eager[i].type()) << program.name;
    EXPECT_EQ(std::memcmp(compiled[i].raw(), eager[i].raw(), eager[i].bytes()), 0) << program.name << ", out" << i;
  }
}

// HONE_TEXT_DUMP=DIR: what Hone prints, for make_stablehlo.py --check.
void dump(const Program& program, const std::string& text, const std::vector<Tensor>& outputs) {
  const char* const folder = std::getenv("HONE_TEXT_DUMP");
  if (!folder) return;
  formats::NamedTensors arrays;
  for (const auto& [name, tensor] : program.arrays) {
    if (name.starts_with("arg")) arrays.emplace_back(name, tensor);
  }
  for (size_t i = 0; i < outputs.size(); ++i) arrays.emplace_back(fmt::format("out{}", i), outputs[i]);
  write_file_atomic(fmt::format("{}/jax_{}.mlir", folder, program.name), text);
  formats::write_npz(fmt::format("{}/jax_{}.npz", folder, program.name), arrays);
}

TEST(StableHlo, ThereAreHundredsOfPrograms) { EXPECT_GE(programs().size(), 400U); }

TEST(StableHlo, ProgramsOfJaxGiveXlasResults) {
  for (const Program& program : programs()) {
    try {
      const ir::Graph graph = compiler::parse_text(program.text, program.name);
      ir::verify(graph, "parse_text");
      const std::vector<Tensor> inputs = inputs_of(graph, program), eager = ir::interpret(graph, inputs);
      expect_results(eager, program, "eager");
      const std::vector<Tensor> compiled = compiler::run_once(graph, inputs);
      expect_results(compiled, program, "graph");
      expect_same_bits(compiled, eager, program);
      settings.reference_kernels = true;
      expect_results(ir::interpret(graph, inputs), program, "reference");
    } catch (const Error& error) {
      ADD_FAILURE() << program.name << ": " << error.what();
    }
    settings.reference_kernels = false;
  }
}

TEST(StableHlo, WhatIsPrintedReadsBackAndMeansTheSame) {
  for (const Program& program : programs()) {
    for (const bool generic : {false, true}) {
      try {
        const std::string text =
            compiler::to_text(compiler::parse_text(program.text, program.name), {.generic = generic});
        const ir::Graph again = compiler::parse_text(text, program.name + " printed");
        EXPECT_EQ(compiler::to_text(again, {.generic = generic}), text) << program.name;
        if (!generic) continue;
        const std::vector<Tensor> outputs = ir::interpret(again, inputs_of(again, program));
        expect_results(outputs, program, "printed");
        dump(program, text, outputs);
      } catch (const Error& error) {
        ADD_FAILURE() << program.name << ": " << error.what();
      }
    }
  }
}

}  // namespace
}  // namespace hone
