// How an object is made (compiler/object.h).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace hone::compiler {

struct ObjectOptions {
  std::string name = "model";  ///< a C identifier: what all functions and macros begin with
  bool arm64 = false;          ///< aarch64-linux-gnu, else x86-64
  uint32_t levels = 7;         ///< instruction-set levels of x86-64: bits 0 to 2 are v2, v3, v4; one is chosen by cpuid
  bool embed_weights = true;   ///< else they are ObjectFiles::weights, for NAME_load_weights
  std::string entry = "run";   ///< what its function is called behind the name: run or step
  std::string comment{};       ///< lines that the header tells about the model
};

/// What a C program needs.
struct ObjectFiles {
  std::string object;      ///< ELF, relocatable
  std::string header;      ///< C99, also C++
  std::string weights;     ///< a file for NAME_load_weights; empty where the object has them
  bool any_batch = false;  ///< its function takes the batch size
  size_t state_bytes = 0;  ///< of a stateful object
};

}  // namespace hone::compiler
