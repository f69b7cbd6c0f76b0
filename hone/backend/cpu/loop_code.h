// Machine code of loops: one function, whose carries live in registers. Equal loops share code.
#pragma once
#include "hone/backend/cpu/isa.h"
#include "hone/backend/cpu/loop_program.h"
#include "hone/backend/cpu/machine_code.h"

namespace hone {

/// The code of one loop at one level, or a wish for it. Thread-safe.
class LoopCode final : public MachineCode {
 public:
  static std::shared_ptr<LoopCode> of(const LoopProgram& program, IsaLevel level = isa_level());

  /// See codegen::LoopFn. Needs ready().
  void run(void* const* pointers, int64_t length) const;

 private:
  LoopCode(const LoopProgram& program, IsaLevel level);
  bool make(const codegen::Generator& generator, const codegen::TextSink& sink) const override;

  LoopProgram program_;
  IsaLevel isa_;
};

/// Since the process began, for tests: runs of loops as machine code.
int64_t loop_code_runs();

}  // namespace hone
