// Random programs over public ops: the same program each time it runs, eager or traced.
#pragma once
#include <string>
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
  std::string text() const;
};

Program random_program(uint64_t seed);
std::vector<Tensor> inputs_of(const Program& program);
/// State that programs read and assign.
std::vector<Variable> variables_of(const Program& program);
std::vector<Tensor> run(const Program& program, const std::vector<Tensor>& inputs,
                        const std::vector<Variable>& variables);

/// Leaves out instructions as long as `fails` holds.
Program minimise(Program program, const std::function<bool(const Program&)>& fails);

}  // namespace hone::fuzz
