// What tests of clusters share.
#pragma once
#include <gtest/gtest.h>

#include "hone/base/parallel.h"
#include "hone/base/settings.h"
#include "hone/compiler/codegen.h"
#include "hone/function/function.h"
#include "tests/conformance/cases.h"

namespace hone::conformance {

using Inputs = std::vector<Tensor>;
using Program = Inputs (*)(const Inputs&);

/// Puts back what tests of clusters set.
class Restored {
 public:
  Restored() = default;
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;
  ~Restored() {
    settings.jit = jit_;
    set_threads(threads_);
  }

 private:
  bool jit_ = settings.jit;
  int threads_ = threads();
};

/// Eager, tile by tile and by machine code.
inline void expect_same_bits(const char* name, Program program, const Inputs& inputs) {
  const Inputs expected = program(inputs);
  settings.jit = false;
  const auto tiles = function([&](const Inputs& in) { return program(in); });
  EXPECT_EQ(difference(tiles(inputs), expected), "") << name << " by tiles";
  if (!codegen::built()) return;
  settings.jit = true;
  const auto code = function([&](const Inputs& in) { return program(in); }, {.jit_compile = true});
  EXPECT_EQ(difference(code(inputs), expected), "") << name << " by machine code";
}

}  // namespace hone::conformance
