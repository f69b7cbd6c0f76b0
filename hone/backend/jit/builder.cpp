#include "hone/backend/jit/builder.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include <array>

namespace hone::jit {
namespace {

thread_local Builder* current_builder = nullptr;

constexpr std::array kBinary = {llvm::Instruction::Add,  llvm::Instruction::Sub,  llvm::Instruction::Mul,
                                llvm::Instruction::And,  llvm::Instruction::Or,   llvm::Instruction::Xor,
                                llvm::Instruction::Shl,  llvm::Instruction::LShr, llvm::Instruction::AShr,
                                llvm::Instruction::FAdd, llvm::Instruction::FSub, llvm::Instruction::FMul,
                                llvm::Instruction::FDiv};
constexpr std::array kCompare = {llvm::CmpInst::ICMP_EQ,  llvm::CmpInst::ICMP_NE,  llvm::CmpInst::ICMP_SLT,
                                 llvm::CmpInst::ICMP_SLE, llvm::CmpInst::ICMP_ULT, llvm::CmpInst::ICMP_ULE,
                                 llvm::CmpInst::FCMP_OEQ, llvm::CmpInst::FCMP_UNE, llvm::CmpInst::FCMP_OLT,
                                 llvm::CmpInst::FCMP_OLE};
constexpr std::array<llvm::Intrinsic::ID, 8> kFunction = {
    llvm::Intrinsic::maximum, llvm::Intrinsic::minimum, llvm::Intrinsic::fma,   llvm::Intrinsic::sqrt,
    llvm::Intrinsic::floor,   llvm::Intrinsic::ceil,    llvm::Intrinsic::trunc, llvm::Intrinsic::roundeven};

}  // namespace

Builder::Builder(llvm::IRBuilderBase& ir, int lanes, bool has_fma) : ir_(ir), lanes_(lanes), has_fma_(has_fma) {
  current_builder = this;
}
Builder::~Builder() { current_builder = nullptr; }
Builder& Builder::current() { return *current_builder; }
Builder& Builder::enter() { return *(current_builder = this); }

llvm::Type* Builder::lane_type(Kind kind) {
  switch (kind) {
    case Kind::I8:
      return ir_.getInt8Ty();
    case Kind::I16:
      return ir_.getInt16Ty();
    case Kind::I32:
      return ir_.getInt32Ty();
    case Kind::I64:
      return ir_.getInt64Ty();
    case Kind::F32:
      return ir_.getFloatTy();
    case Kind::F64:
      return ir_.getDoubleTy();
  }
  return nullptr;
}
llvm::Type* Builder::type(Kind kind) {
  return llvm::FixedVectorType::get(lane_type(kind), static_cast<unsigned>(lanes_));
}

Node Builder::splat(Kind kind, uint64_t bits) {
  llvm::Type* const vector = type(kind);
  llvm::Type* const lane = vector->getScalarType();
  if (lane->isIntegerTy()) return llvm::ConstantInt::get(vector, bits);
  const llvm::APInt word(lane->getPrimitiveSizeInBits().getFixedValue(), bits);
  return llvm::ConstantFP::get(vector, llvm::APFloat(lane->getFltSemantics(), word));
}

Node Builder::binary(Binary op, Node a, Node b) {
  return ir_.CreateBinOp(static_cast<llvm::Instruction::BinaryOps>(kBinary[static_cast<size_t>(op)]), a, b);
}
Node Builder::negate(Node x) { return ir_.CreateFNeg(x); }
Node Builder::compare(Compare op, Node a, Node b) { return ir_.CreateCmp(kCompare[static_cast<size_t>(op)], a, b); }
Node Builder::select(Node mask, Node a, Node b) { return ir_.CreateSelect(mask, a, b); }
Node Builder::invert(Node mask) { return ir_.CreateNot(mask); }

Node Builder::cast(Cast cast, Kind to, Node x) {
  llvm::Type* const target = type(to);
  switch (cast) {
    case Cast::Bits:
      return ir_.CreateBitCast(x, target);
    case Cast::Truncate:
      return ir_.CreateTrunc(x, target);
    case Cast::SignExtend:
      return ir_.CreateSExt(x, target);
    case Cast::ZeroExtend:
      return ir_.CreateZExt(x, target);
    case Cast::SToFloat:
      return ir_.CreateSIToFP(x, target);
    case Cast::UToFloat:
      return ir_.CreateUIToFP(x, target);
    case Cast::FloatToS:
      return ir_.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {target, x->getType()}, {x});
    case Cast::FloatToU:
      return ir_.CreateIntrinsic(llvm::Intrinsic::fptoui_sat, {target, x->getType()}, {x});
    case Cast::FloatToFloat:
      return ir_.CreateFPCast(x, target);
  }
  return nullptr;
}

Node Builder::call(Function function, std::initializer_list<Node> operands) {
  return ir_.CreateIntrinsic(kFunction[static_cast<size_t>(function)], {(*operands.begin())->getType()},
                             llvm::ArrayRef<Node>(operands));
}

Node Builder::bytes_of_mask(Node mask) { return ir_.CreateZExt(mask, type(Kind::I8)); }
Node Builder::mask_of_bytes(Node bytes) { return ir_.CreateIsNotNull(bytes); }

// Memory for one vector of any kind.
Node Builder::slot(int index) {
  Node& slot = slots_[index];
  if (slot) return slot;
  llvm::BasicBlock& entry = ir_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> start(&entry, entry.begin());
  llvm::AllocaInst* const memory =
      start.CreateAlloca(llvm::ArrayType::get(start.getInt64Ty(), static_cast<uint64_t>(lanes_)));
  memory->setAlignment(llvm::Align(64));
  return slot = memory;
}

Node Builder::address(const void* p) {
  return llvm::ConstantExpr::getIntToPtr(ir_.getInt64(reinterpret_cast<uint64_t>(p)), ir_.getPtrTy());
}

Node Builder::loop(LaneLoop loop, Kind result, std::initializer_list<Node> operands) {
  const Node list = slot(0), out = slot(1);
  int index = 2;
  for (const Node operand : operands) {
    const Node memory = slot(index);
    ir_.CreateStore(operand, memory);
    ir_.CreateStore(memory, ir_.CreateConstInBoundsGEP1_32(ir_.getPtrTy(), list, static_cast<unsigned>(index - 2)));
    ++index;
  }
  llvm::FunctionType* const signature =
      llvm::FunctionType::get(ir_.getVoidTy(), {ir_.getPtrTy(), ir_.getPtrTy(), ir_.getInt64Ty()}, false);
  ir_.CreateCall(signature, address(reinterpret_cast<const void*>(loop)),
                 {list, out, ir_.getInt64(static_cast<uint64_t>(lanes_))});
  return ir_.CreateLoad(type(result), out);
}

Node Builder::patch(PatchLoop loop, Node mask, Node x, Node otherwise) {
  llvm::Function* const function = ir_.GetInsertBlock()->getParent();
  llvm::BasicBlock* const before = ir_.GetInsertBlock();
  llvm::BasicBlock* const rare = llvm::BasicBlock::Create(ir_.getContext(), "rare", function);
  llvm::BasicBlock* const join = llvm::BasicBlock::Create(ir_.getContext(), "join", function);
  const Node word = ir_.CreateBitCast(mask, ir_.getIntNTy(static_cast<unsigned>(lanes_)));
  ir_.CreateCondBr(ir_.CreateIsNotNull(word), rare, join);

  ir_.SetInsertPoint(rare);
  ir_.CreateStore(bytes_of_mask(mask), slot(0));
  ir_.CreateStore(x, slot(2));
  ir_.CreateStore(otherwise, slot(1));
  llvm::FunctionType* const signature = llvm::FunctionType::get(
      ir_.getVoidTy(), {ir_.getPtrTy(), ir_.getPtrTy(), ir_.getPtrTy(), ir_.getInt64Ty()}, false);
  ir_.CreateCall(signature, address(reinterpret_cast<const void*>(loop)),
                 {slot(0), slot(2), slot(1), ir_.getInt64(static_cast<uint64_t>(lanes_))});
  const Node patched = ir_.CreateLoad(otherwise->getType(), slot(1));
  ir_.CreateBr(join);

  ir_.SetInsertPoint(join);
  llvm::PHINode* const result = ir_.CreatePHI(otherwise->getType(), 2);
  result->addIncoming(otherwise, before);
  result->addIncoming(patched, rare);
  return result;
}

Node Builder::load(Kind kind, Node pointer) { return ir_.CreateAlignedLoad(type(kind), pointer, llvm::Align(1)); }
Node Builder::load_splat(Kind kind, Node pointer) {
  return ir_.CreateVectorSplat(static_cast<unsigned>(lanes_),
                               ir_.CreateAlignedLoad(lane_type(kind), pointer, llvm::Align(1)));
}
void Builder::store(Node x, Node pointer) { ir_.CreateAlignedStore(x, pointer, llvm::Align(1)); }

}  // namespace hone::jit
