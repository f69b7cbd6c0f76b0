#include "hone/backend/cpu/loop_code.h"

#include <fmt/format.h>

namespace hone {
namespace {

std::atomic<int64_t> run_count{0};

}  // namespace

int64_t loop_code_runs() { return run_count; }

LoopCode::LoopCode(const LoopProgram& program, IsaLevel level)
    : MachineCode("a loop, which runs call by call"), program_(program), isa_(level) {
  const LoopProgram& p = program_;
  const int32_t counts[] = {static_cast<int32_t>(level),
                            p.rows,
                            p.constants,
                            p.hoisted,
                            p.condition_steps,
                            p.condition,
                            static_cast<int32_t>(p.reverse),
                            static_cast<int32_t>(p.values.size()),
                            static_cast<int32_t>(p.steps.size()),
                            static_cast<int32_t>(p.next.size()),
                            static_cast<int32_t>(p.stacked.size())};
  level_ = name(level);
  title_ = fmt::format("loop {} of {} steps", level_, p.steps.size());
  key_ = "loop";
  append_key<int32_t>(key_, counts);
  append_key<codegen::LoopValue>(key_, p.values);
  append_key<codegen::LoopStep>(key_, p.steps);
  append_key<int32_t>(key_, p.next);
  append_key<int32_t>(key_, p.stacked);
  append_key<uint64_t>(key_, p.data);
}

std::shared_ptr<LoopCode> LoopCode::of(const LoopProgram& program, IsaLevel level) {
  return std::static_pointer_cast<LoopCode>(shared(std::shared_ptr<LoopCode>(new LoopCode(program, level))));
}

bool LoopCode::make(const codegen::Generator& generator, const codegen::TextSink& sink) const {
  const LoopProgram& p = program_;
  codegen::LoopProgram plain;
  plain.level = static_cast<codegen::Level>(isa_);
  plain.carries = static_cast<int32_t>(p.next.size()), plain.rows = p.rows, plain.constants = p.constants;
  plain.values = p.values.data(), plain.steps = p.steps.data();
  plain.hoisted = p.hoisted, plain.condition_steps = p.condition_steps;
  plain.body_steps = static_cast<int32_t>(p.steps.size()) - p.hoisted - p.condition_steps;
  plain.condition = p.condition;
  plain.next = p.next.data();
  plain.stacked = p.stacked.data(), plain.stacked_count = static_cast<int32_t>(p.stacked.size());
  plain.reverse = p.reverse;
  plain.data = p.data.data();
  return generator.compile_loop(plain, sink);
}

void LoopCode::run(void* const* pointers, int64_t length) const {
  reinterpret_cast<codegen::LoopFn>(function())(pointers, length);
  run_count.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace hone
