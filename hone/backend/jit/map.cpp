#include "hone/backend/jit/map.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <vector>

#include "hone/backend/jit/row_map.h"
#include "hone/backend/jit/rows.h"

namespace hone::jit {
namespace {

constexpr int kRegisterBytes[] = {16, 32, 64, 16};  // by level

}  // namespace

bool emit_map(const codegen::MapProgram& program, llvm::Module& module, const char* name) {
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> ir(context);
  llvm::Function* const function = llvm::Function::Create(
      llvm::FunctionType::get(ir.getVoidTy(), {ir.getPtrTy(), ir.getPtrTy(), ir.getInt64Ty(), ir.getInt64Ty()}, false),
      llvm::GlobalValue::ExternalLinkage, name, module);
  function->setDoesNotThrow();
  const std::string width = std::to_string(8 * kRegisterBytes[static_cast<int>(program.level)]);
  function->addFnAttr("prefer-vector-width", width);
  function->addFnAttr("min-legal-vector-width", width);

  const int lanes = codegen::lanes_of(program);
  const auto reduces = [](const codegen::MapStep& step) { return codegen::reduces(step) || codegen::folds(step); };
  if (std::any_of(program.steps, program.steps + program.step_count, reduces))
    return emit_row_map(program, *function, lanes);
  llvm::BasicBlock* const entry = llvm::BasicBlock::Create(context, "entry", function);
  llvm::BasicBlock* const loop = llvm::BasicBlock::Create(context, "loop", function);
  llvm::BasicBlock* const exit = llvm::BasicBlock::Create(context, "exit", function);
  ir.SetInsertPoint(entry);
  std::vector<Node> bases;
  for (int i = 0; i < program.operands + program.result_count; ++i) {
    const Node address = ir.CreateConstInBoundsGEP1_32(ir.getPtrTy(), function->getArg(0), static_cast<unsigned>(i));
    bases.push_back(ir.CreateLoad(ir.getPtrTy(), address));
  }
  ir.CreateBr(loop);

  ir.SetInsertPoint(loop);
  llvm::PHINode* const at = ir.CreatePHI(ir.getInt64Ty(), 2);
  Builder builder(ir, lanes, program.level != codegen::Level::v2, program.level == codegen::Level::v4);
  const auto element = [&](int array, int type) {
    return ir.CreateInBoundsGEP(builder.lane_type(kind_of(type)), bases[static_cast<size_t>(array)], {at});
  };
  const auto read = [&](int operand) {
    const int type = program.types[operand];
    return codegen::splat(program.splats, static_cast<size_t>(operand))
               ? builder.load_splat(kind_of(type), bases[static_cast<size_t>(operand)])
               : builder.load(kind_of(type), element(operand, type));
  };
  std::vector<Node> values(static_cast<size_t>(program.operands + program.step_count));
  for (int i = 0; i < program.step_count; ++i) {
    const codegen::MapStep& step = program.steps[i];
    Node in[3] = {};
    for (int k = 0; k < step.operands; ++k) {
      const int v = step.in[k];
      Node& value = values[static_cast<size_t>(v)];
      if (!value) value = read(v);
      in[k] = value;
    }
    const int result = program.operands + i;
    Node& value = values[static_cast<size_t>(result)];
    value = emit_step(builder, step, program.types[result], in);
    if (!value) return false;
  }
  // After all loads: a result may lie where an operand does.
  for (int i = 0; i < program.result_count; ++i) {
    const int v = program.results[i];
    Node& value = values[static_cast<size_t>(v)];
    if (!value) value = read(v);
    builder.store(value, element(program.operands + i, program.types[v]));
  }
  const Node next = ir.CreateAdd(at, ir.getInt64(static_cast<uint64_t>(lanes)));
  at->addIncoming(ir.getInt64(0), entry);
  at->addIncoming(next, ir.GetInsertBlock());
  ir.CreateCondBr(ir.CreateICmpSLT(next, function->getArg(3)), loop, exit);
  ir.SetInsertPoint(exit);
  ir.CreateRetVoid();
  return true;
}

}  // namespace hone::jit
