#include "hone/backend/jit/loop.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <map>
#include <vector>

#include "hone/backend/jit/rows.h"
#include "hone/backend/jit/values.h"

namespace hone::jit {
namespace {

using codegen::LoopProgram;
using codegen::LoopStep;
using codegen::LoopValue;

constexpr const char* kWidths[] = {"128", "256", "512"};  // by level

template <class T>
Node emit_fma(const Node* in) {
  if constexpr (level::kIsHalf<T>)
    return nullptr;  // sums of products of 16-bit floats are in f32
  else if constexpr (level::kIsFloat<T>)
    return fma(Emitted<T>::of(in[0]), Emitted<T>::of(in[1]), Emitted<T>::of(in[2])).node;
  else
    return (Emitted<T>::of(in[0]) * Emitted<T>::of(in[1]) + Emitted<T>::of(in[2])).node;
}
constexpr auto kFmas = []<class... T>(math::TypeList<T...>) {
  return std::array<Node (*)(const Node*), sizeof...(T)>{&emit_fma<T>...};
}(math::ElementTypeList{});

class Emitter {
 public:
  Emitter(const LoopProgram& program, llvm::Function* function)
      : p_(program),
        function_(function),
        ir_(function->getContext()),
        inputs_(program.carries + program.rows + program.constants),
        values_(static_cast<size_t>(inputs_ + program.hoisted + program.condition_steps + program.body_steps)) {}

  bool run() {
    llvm::BasicBlock* const entry = block("entry");
    ir_.SetInsertPoint(entry);
    for (int i = 0; i < inputs_ + p_.carries + p_.stacked_count; ++i)
      pointers_.push_back(ir_.CreateLoad(
          ir_.getPtrTy(), ir_.CreateConstInBoundsGEP1_32(ir_.getPtrTy(), function_->getArg(0), unsigned(i))));
    for (int v = p_.carries + p_.rows; v < inputs_; ++v) {
      if (p_.values[v].count <= codegen::kLoopElements) value(v) = load(v, pointer(v));
    }
    if (!emit(0, p_.hoisted)) return false;
    std::vector<Node> first;
    for (int c = 0; c < p_.carries; ++c) first.push_back(load(c, pointer(c)));
    const Node last_row = ir_.CreateSub(length(), ir_.getInt64(1));
    before_ = ir_.GetInsertBlock();
    return loop(first, last_row);
  }

 private:
  // head: carries, condition; body: what they become; exit: results.
  bool loop(const std::vector<Node>& first, Node last_row) {
    llvm::BasicBlock *const head = block("head"), *const body = block("body"), *const exit = block("exit");
    ir_.CreateBr(head);
    ir_.SetInsertPoint(head);
    std::vector<llvm::PHINode*> carries;
    for (int c = 0; c < p_.carries; ++c) {
      carries.push_back(ir_.CreatePHI(first[size_t(c)]->getType(), 2));
      carries.back()->addIncoming(first[size_t(c)], before_);
      value(c) = carries.back();
    }
    llvm::PHINode* const step = p_.condition < 0 ? ir_.CreatePHI(ir_.getInt64Ty(), 2) : nullptr;
    if (!emit(p_.hoisted, p_.condition_steps)) return false;
    const Node goes_on = step ? ir_.CreateICmpSLT(step, length())
                              : ir_.CreateIsNotNull(ir_.CreateExtractElement(value(p_.condition), uint64_t{0}));
    ir_.CreateCondBr(goes_on, body, exit);

    ir_.SetInsertPoint(body);
    if (step) row_ = p_.reverse ? ir_.CreateSub(last_row, step) : step;
    for (int v = p_.carries; v < p_.carries + p_.rows; ++v) value(v) = load(v, row_of(v, pointer(v)));
    if (!emit(p_.hoisted + p_.condition_steps, p_.body_steps)) return false;
    for (int i = 0; i < p_.stacked_count; ++i) {
      const int v = p_.stacked[i];
      ir_.CreateAlignedStore(value(v), row_of(v, pointers_[size_t(inputs_ + p_.carries + i)]), llvm::Align(1));
    }
    for (int c = 0; c < p_.carries; ++c) carries[size_t(c)]->addIncoming(value(p_.next[c]), ir_.GetInsertBlock());
    if (step) {
      step->addIncoming(ir_.getInt64(0), before_);
      step->addIncoming(ir_.CreateAdd(step, ir_.getInt64(1)), ir_.GetInsertBlock());
    }
    ir_.CreateBr(head);

    ir_.SetInsertPoint(exit);
    for (int c = 0; c < p_.carries; ++c)
      ir_.CreateAlignedStore(carries[size_t(c)], pointers_[size_t(inputs_ + c)], llvm::Align(1));
    ir_.CreateRetVoid();
    return true;
  }

  bool emit(int first, int count) {
    for (int i = first; i < first + count; ++i) {
      Node& result = value(inputs_ + i);
      result = emit(p_.steps[i], p_.values[inputs_ + i]);
      if (!result) return false;
    }
    return true;
  }

  Node emit(const LoopStep& step, const LoopValue& result) {
    Builder& builder = vectors_of(result.count);
    Node in[3] = {};
    for (int k = 0; k < step.call.operands; ++k) in[k] = value(step.call.in[k]);
    switch (step.call.row) {
      case LoopStep::kConstant:
        return constant(builder, result, p_.data + step.first);
      case LoopStep::kPick:
        return pick(step, in, result.count);
      case LoopStep::kRead: {
        const Node first = ir_.CreateExtractElement(in[1], uint64_t{0}), table = pointer(step.call.in[0]);
        return builder.load(kind_of(result.type),
                            ir_.CreateInBoundsGEP(builder.lane_type(kind_of(result.type)), table, {first}));
      }
      case LoopStep::kFma:
        return fma(step, in, result.count);
      default:
        return emit_step(builder, step.call, result.type, in);
    }
  }

  // Without such an instruction LLVM calls libm's for each lane.
  Node fma(const LoopStep& step, const Node* in, int count) {
    const Builder builder(ir_, count, true, false);
    return kFmas[size_t(step.call.type)](in);
  }

  Node constant(Builder& builder, const LoopValue& result, const uint64_t* bits) {
    Node all = builder.splat(kind_of(result.type), bits[0]);
    for (int i = 1; i < result.count; ++i) {
      if (bits[i] == bits[0]) continue;
      const Node one = builder.splat(kind_of(result.type), bits[i]);
      all = ir_.CreateInsertElement(all, ir_.CreateExtractElement(one, uint64_t{0}), uint64_t(i));
    }
    return all;
  }

  // LLVM shuffles two vectors of one type: the shorter is lengthened.
  Node pick(const LoopStep& step, const Node* in, int count) {
    const auto lanes = [&](int k) { return p_.values[step.call.in[k]].count; };
    llvm::SmallVector<int, 16> places;
    for (int i = 0; i < count; ++i) places.push_back(static_cast<int>(p_.data[step.first + i]));
    if (step.call.operands == 1) return ir_.CreateShuffleVector(in[0], places);
    const int both = std::max(lanes(0), lanes(1));
    const auto lengthened = [&](int k) {
      llvm::SmallVector<int, 16> own;
      for (int i = 0; i < both; ++i) own.push_back(i < lanes(k) ? i : llvm::PoisonMaskElem);
      return lanes(k) == both ? in[k] : ir_.CreateShuffleVector(in[k], own);
    };
    for (int& place : places) place += place >= lanes(0) ? both - lanes(0) : 0;
    return ir_.CreateShuffleVector(lengthened(0), lengthened(1), places);
  }

  Node load(int v, Node pointer) { return vectors_of(p_.values[v].count).load(kind_of(p_.values[v].type), pointer); }
  // Rows lie without gaps.
  Node row_of(int v, Node base) {
    llvm::Type* const lane = vectors_of(1).lane_type(kind_of(p_.values[v].type));
    const Node element = ir_.CreateMul(row_, ir_.getInt64(uint64_t(p_.values[v].count)));
    return ir_.CreateInBoundsGEP(lane, base, {element});
  }

  // One for each number of lanes, so that steps share its memory for lane loops.
  Builder& vectors_of(int lanes) {
    return builders_.try_emplace(lanes, ir_, lanes, p_.level != codegen::Level::v2, false).first->second.enter();
  }
  Node& value(int v) { return values_[size_t(v)]; }
  Node pointer(int v) { return pointers_[size_t(v)]; }
  Node length() { return function_->getArg(1); }
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(function_->getContext(), name, function_);
  }

  const LoopProgram& p_;
  llvm::Function* const function_;
  llvm::IRBuilder<> ir_;
  std::map<int, Builder> builders_;
  const int inputs_;
  std::vector<Node> values_, pointers_;
  llvm::BasicBlock* before_ = nullptr;
  Node row_ = nullptr;
};

}  // namespace

bool emit_loop(const LoopProgram& program, llvm::Module& module, const char* name) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type *const nothing = llvm::Type::getVoidTy(context), *const pointer = llvm::PointerType::getUnqual(context);
  llvm::Function* const function =
      llvm::Function::Create(llvm::FunctionType::get(nothing, {pointer, llvm::Type::getInt64Ty(context)}, false),
                             llvm::GlobalValue::ExternalLinkage, name, module);
  function->setDoesNotThrow();
  function->addFnAttr("prefer-vector-width", kWidths[static_cast<int>(program.level)]);
  function->addFnAttr("min-legal-vector-width", kWidths[static_cast<int>(program.level)]);
  return Emitter(program, function).run();
}

}  // namespace hone::jit
