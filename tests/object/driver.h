// Runs functions that were compiled ahead of time: a driver in C, linked by cc with the object and nothing but libm.
#pragma once
#include <string>
#include <vector>

#include "hone/compiler/object_options.h"
#include "hone/function/lowered.h"
#include "hone/tensor/tensor.h"

namespace hone::object_test {

enum class Machine { Host, Arm64 };

/// Whether this machine can build and run for it.
bool available(Machine machine);

struct RunOptions {
  compiler::ObjectOptions object{};
  int calls = 1;           ///< on the same inputs
  int after_reset = 0;     ///< calls after those and a reset, of an object with state
  int64_t batch = -1;      ///< of an object that takes it
  int threads = 1;         ///< above 1: parts of loops run through the callback, in reverse order
  bool fresh_mode = true;  ///< false: the host flushes denormals and rounds up
};

/// The results of the last call. `results` have the types of the function's. Throws std::runtime_error with the output
/// of the command that failed.
std::vector<Tensor> run_object(const Lowered& lowered, Machine machine, const std::vector<Tensor>& inputs,
                               const std::vector<TensorType>& results, const RunOptions& options = {});

/// The same of an object that was compiled with options.object.
std::vector<Tensor> run_object(const compiler::ObjectFiles& files, Machine machine, const std::vector<Tensor>& inputs,
                               const std::vector<TensorType>& results, const RunOptions& options);

/// Symbols that the object needs from outside, and those it offers.
struct Symbols {
  std::vector<std::string> needed, offered;
};
Symbols symbols_of(const Lowered& lowered, const compiler::ObjectOptions& options = {});

}  // namespace hone::object_test
