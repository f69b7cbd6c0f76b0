#include "hone/backend/jit/builder.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <array>
#include <cstddef>

#include "hone/math/kernels.h"

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

Builder::Builder(llvm::IRBuilderBase& ir, int lanes, bool has_fma, bool masks)
    : ir_(ir), lanes_(lanes), all_lanes_(lanes), has_fma_(has_fma), masks_(masks) {
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

// Memory for one vector of any kind, or a tile's arguments.
Node Builder::slot(int index) {
  Node& slot = slots_[index];
  if (slot) return slot;
  llvm::BasicBlock& entry = ir_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> start(&entry, entry.begin());
  const uint64_t words = std::max<uint64_t>(static_cast<uint64_t>(all_lanes_), sizeof(math::TileArgs) / 8);
  llvm::AllocaInst* const memory = start.CreateAlloca(llvm::ArrayType::get(start.getInt64Ty(), words));
  memory->setAlignment(llvm::Align(64));
  return slot = memory;
}

Node Builder::undefined(Kind kind) { return llvm::PoisonValue::get(type(kind)); }

void Builder::leave_to_tile() { all_left_ = true; }
void Builder::leave_to_tile(Node mask) { left_ = left_ ? ir_.CreateOr(left_, mask) : mask; }

Node Builder::step(const std::string& tile, const double* params, std::span<const Node> operands, Kind result,
                   FunctionRef<Node()> emit) {
  left_ = nullptr, all_left_ = false;
  llvm::BasicBlock* const before = ir_.GetInsertBlock();
  const llvm::Instruction* const last = before->empty() ? nullptr : &before->back();
  const Node direct = emit();
  if (all_left_) {
    while (!before->empty() && &before->back() != last) before->back().eraseFromParent();
    return call_tile(tile, params, operands, type(result));
  }
  if (!left_) return direct;
  const Node mask = left_;
  llvm::Function* const function = before->getParent();
  llvm::BasicBlock* const rare = llvm::BasicBlock::Create(ir_.getContext(), "rare", function);
  llvm::BasicBlock* const join = llvm::BasicBlock::Create(ir_.getContext(), "join", function);
  const Node word = ir_.CreateBitCast(mask, ir_.getIntNTy(static_cast<unsigned>(lanes_)));
  ir_.CreateCondBr(ir_.CreateIsNotNull(word), rare, join);

  ir_.SetInsertPoint(rare);
  const Node patched = ir_.CreateSelect(mask, call_tile(tile, params, operands, direct->getType()), direct);
  ir_.CreateBr(join);

  ir_.SetInsertPoint(join);
  llvm::PHINode* const joined = ir_.CreatePHI(direct->getType(), 2);
  joined->addIncoming(direct, before);
  joined->addIncoming(patched, rare);
  return joined;
}

Node Builder::call_tile(const std::string& tile, const double* params, std::span<const Node> operands,
                        llvm::Type* result) {
  static_assert(sizeof(void*) == 8 && std::size(math::TileArgs{}.in) + 2 <= kSlots);
  const Node args = slot(0), out = slot(1);
  const auto set = [&](Node value, size_t offset) {
    ir_.CreateStore(value, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), args, offset));
  };
  for (size_t i = 0; i < operands.size(); ++i) {
    const Node memory = slot(static_cast<int>(i) + 2);
    ir_.CreateStore(operands[i], memory);
    set(memory, offsetof(math::TileArgs, in) + 8 * i);
  }
  set(out, offsetof(math::TileArgs, out));
  for (size_t i = 0; i < std::size(math::TileArgs{}.params); ++i)
    set(llvm::ConstantFP::get(ir_.getDoubleTy(), params[i]), offsetof(math::TileArgs, params) + 8 * i);
  llvm::FunctionType* const signature =
      llvm::FunctionType::get(ir_.getVoidTy(), {ir_.getPtrTy(), ir_.getInt64Ty(), ir_.getInt64Ty()}, false);
  llvm::Module* const module = ir_.GetInsertBlock()->getModule();
  ir_.CreateCall(module->getOrInsertFunction(tile, signature),
                 {args, ir_.getInt64(0), ir_.getInt64(static_cast<uint64_t>(lanes_))});
  return ir_.CreateLoad(result, out);
}

Node Builder::load(Kind kind, Node pointer) { return ir_.CreateAlignedLoad(type(kind), pointer, llvm::Align(1)); }
Node Builder::load_splat(Kind kind, Node pointer) {
  return ir_.CreateVectorSplat(static_cast<unsigned>(lanes_),
                               ir_.CreateAlignedLoad(lane_type(kind), pointer, llvm::Align(1)));
}
void Builder::store(Node x, Node pointer) { ir_.CreateAlignedStore(x, pointer, llvm::Align(1)); }

Node Builder::mask_of_first(Node count) {
  llvm::SmallVector<uint32_t, 64> numbers;
  for (int i = 0; i < lanes_; ++i) numbers.push_back(static_cast<uint32_t>(i));
  const Node all = ir_.CreateVectorSplat(static_cast<unsigned>(lanes_), ir_.CreateTrunc(count, ir_.getInt32Ty()));
  return ir_.CreateICmpULT(llvm::ConstantDataVector::get(ir_.getContext(), numbers), all);
}
Node Builder::first_of(Node count, Node x, Node otherwise) {
  return ir_.CreateSelect(mask_of_first(count), x, otherwise);
}
void Builder::copy(Node to, Node from, Kind kind, Node count) {
  const uint64_t item = lane_type(kind)->getPrimitiveSizeInBits().getFixedValue() / 8;
  ir_.CreateMemCpy(to, llvm::Align(1), from, llvm::Align(1), ir_.CreateMul(count, ir_.getInt64(item)));
}
Node Builder::load_first(Kind kind, Node pointer, Node count) {
  const bool real = kind == Kind::F32 || kind == Kind::F64;
  llvm::Type* const vector = type(kind);
  llvm::Constant* const ones = real ? llvm::ConstantFP::get(vector, 1) : llvm::ConstantInt::get(vector, 1);
  if (masks_) return ir_.CreateMaskedLoad(vector, pointer, llvm::Align(1), mask_of_first(count), ones);
  ir_.CreateStore(ones, slot(0));
  copy(slot(0), pointer, kind, count);
  return ir_.CreateLoad(vector, slot(0));
}
void Builder::store_first(Kind kind, Node x, Node pointer, Node count) {
  if (masks_) return void(ir_.CreateMaskedStore(x, pointer, llvm::Align(1), mask_of_first(count)));
  ir_.CreateStore(x, slot(0));
  copy(pointer, slot(0), kind, count);
}
Node Builder::part(Node x, int first, int n) {
  llvm::SmallVector<int, 64> lanes;
  for (int i = first; i < first + n; ++i) lanes.push_back(i);
  return ir_.CreateShuffleVector(x, lanes);
}
void Builder::prefetch(Node pointer, int64_t bytes) {
  constexpr int64_t kLine = 64;
  for (int64_t i = 0; i < bytes; i += kLine) {
    const Node line = ir_.CreateGEP(ir_.getInt8Ty(), pointer, {ir_.getInt64(static_cast<uint64_t>(i))});
    const Node read = ir_.getInt32(0), second = ir_.getInt32(2), data = ir_.getInt32(1);
    ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir_.getPtrTy()}, {line, read, second, data});
  }
}
}  // namespace hone::jit
