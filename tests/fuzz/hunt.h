// Hunts for a program that an oracle does not accept.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "hone/function/trace.h"
#include "tests/fuzz/program.h"

namespace hone::fuzz {

/// "" if the program does what it must, else what differs.
using Oracle = std::function<std::string(const Program&)>;

/// A program as a graph, and what ir::interpret takes for it.
struct Recorded {
  Trace trace;
  std::vector<Tensor> inputs;
};
/// Throws what the program throws.
Recorded recorded(const Program& program);

/// The program's graph as text; the message where it cannot be recorded.
std::string ir_text(const Program& program);

/// A program that the oracle does not accept becomes a failed test: minimised, with its IR, which is also written to
/// HONE_FUZZ_KEEP (else a folder beside the other temporary files). True if it was not accepted.
bool hold(const char* oracle, const Program& program, const Oracle& difference);

}  // namespace hone::fuzz
