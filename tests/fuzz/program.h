// Random programs over public ops: the same program each time it runs, eager or traced.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hone/function/variable.h"
#include "tests/fuzz/draw.h"

namespace hone::fuzz {

/// A list of instructions, each a seed. What an instruction does depends on its seed and on the types of the values so
/// far, so that leaving some out gives another valid program.
struct Program {
  uint64_t inputs = 0;  ///< seed of the inputs
  std::vector<uint64_t> instructions;
  bool gradients = false;  ///< results are followed by gradients with respect to the inputs
  /// In f64, of functions that have a derivative almost everywhere; the one result is a scalar.
  bool smooth = false;
  bool large = false;  ///< of tensors that kernels split over threads
  std::string text() const;
};

Program random_program(uint64_t seed);
/// With gradients.
Program smooth_program(uint64_t seed);
Program large_program(uint64_t seed);
/// What text() gives; false if it is something else.
bool parse_program(std::string_view text, Program& program);
std::vector<Tensor> inputs_of(const Program& program);
/// State that programs read and assign.
std::vector<Variable> variables_of(const Program& program);
std::vector<Tensor> run(const Program& program, const std::vector<Tensor>& inputs,
                        const std::vector<Variable>& variables);

/// An instruction of branches and loops over x, a float, and y of its type, broadcasting with it.
Tensor control(Draw& draw, const Tensor& x, const Tensor& y, bool differentiable);

/// Of types and bits; of a NaN only that it is one.
uint64_t hash_of_results(std::span<const Tensor> results);
/// What the program computes and leaves in its variables, as a graph: their hash. 0 where it throws an Error.
uint64_t hash_of_run(const Program& program);

/// Leaves out instructions as long as `fails` holds.
Program minimise(Program program, const std::function<bool(const Program&)>& fails);

}  // namespace hone::fuzz
