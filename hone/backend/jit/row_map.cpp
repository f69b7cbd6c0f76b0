#include "hone/backend/jit/row_map.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>
#include <vector>

#include "hone/backend/jit/rows.h"
#include "hone/math/reduce_kernels.h"

namespace hone::jit {
namespace {

using codegen::MapStep;
constexpr int kBlocks = static_cast<int>(codegen::kMaxRow / math::kReduceBlock);
static_assert(codegen::kMaxRow % math::kReduceBlock == 0);

const ReduceRow* row_of(const MapStep& step) {
  return reduce_row((codegen::folds(step) ? MapStep::kFold : MapStep::kReduce) - step.row, step.type);
}

// All that later blocks of code read lies in memory, which costs nothing: registers are not kept between blocks anyway.
class Emitter {
 public:
  Emitter(const codegen::MapProgram& program, llvm::Function& function, int lanes)
      : program_(program),
        function_(function),
        ir_(function.getContext()),
        builder_(ir_, lanes, program.level != codegen::Level::v2, program.level == codegen::Level::v4),
        lanes_(lanes),
        arrays_(program.operands + program.result_count),
        memory_(static_cast<size_t>(program.operands + program.step_count)),
        accumulators_(memory_.size()) {}

  bool run() {
    for (int i = 0; i < program_.step_count; ++i) {
      if (codegen::reduces(step(i)) || codegen::folds(step(i)) ? !row_of(step(i)) : !has_functor(i)) return false;
    }
    ir_.SetInsertPoint(llvm::BasicBlock::Create(function_.getContext(), "entry", &function_));
    allocate();
    loop("row", number(0), function_.getArg(2), 1, [&](Node row) {
      for (int i = 0; i < arrays_; ++i) {
        const Node stride = ir_.CreateLoad(ir_.getInt64Ty(), at(function_.getArg(1), ir_.getInt64Ty(), number(i)));
        pointers_[static_cast<size_t>(i)] =
            at(bases_[static_cast<size_t>(i)], ir_.getInt8Ty(), ir_.CreateMul(row, stride));
        next_[static_cast<size_t>(i)] = ir_.CreateGEP(ir_.getInt8Ty(), pointers_[static_cast<size_t>(i)],
                                                      {i < program_.operands ? stride : number(0)});
      }
      const int phases = codegen::phases(program_.steps, program_.step_count);
      for (int p = 0; p <= phases; ++p) {
        of_rows(p);
        if (p < phases) phase(p, p + 1 == phases);
      }
      store_row_results();
    });
    ir_.CreateRetVoid();
    return true;
  }

 private:
  const MapStep& step(int i) const { return program_.steps[i]; }
  const MapStep* step_of(int value) const {
    return value < program_.operands ? nullptr : &step(value - program_.operands);
  }
  bool per_row(int value) const {
    const MapStep* const made = step_of(value);
    return made ? made->per_row != 0 : codegen::splat(program_.splats, static_cast<size_t>(value));
  }
  Kind kind(int value) const { return kind_of(program_.types[value]); }
  bool has_functor(int i) const {
    return (step(i).row == MapStep::kConvert ? conversion_emitter(step(i).type, program_.types[program_.operands + i])
                                             : row_emitter(step(i).row, step(i).type)) != nullptr;
  }
  Node call(int i, const Node* in) { return emit_step(builder_, step(i), program_.types[program_.operands + i], in); }

  Node number(int64_t n) { return ir_.getInt64(static_cast<uint64_t>(n)); }
  Node at(Node pointer, llvm::Type* type, Node index) { return ir_.CreateInBoundsGEP(type, pointer, {index}); }
  Node element(Node pointer, Kind kind, Node index) { return at(pointer, builder_.lane_type(kind), index); }
  Node allocate(Kind kind, int count) {
    llvm::AllocaInst* const memory =
        ir_.CreateAlloca(llvm::ArrayType::get(builder_.lane_type(kind), static_cast<uint64_t>(count)));
    memory->setAlignment(llvm::Align(64));
    return memory;
  }

  void allocate() {
    int kept = arrays_;
    for (int i = 0; i < arrays_; ++i) bases_.push_back(pointer(i));
    pointers_.resize(bases_.size()), next_.resize(bases_.size());
    for (int i = 0; i < program_.step_count; ++i) {
      const auto v = static_cast<size_t>(program_.operands + i);
      if (step(i).kept != 0) memory_[v] = pointer(kept++);
      if (codegen::reduces(step(i))) {
        accumulators_[v] = allocate(row_of(step(i))->accumulator, row_of(step(i))->accumulators);
        memory_[v] = allocate(row_of(step(i))->accumulator, kBlocks);
      } else if (step(i).per_row != 0) {
        memory_[v] = allocate(kind(static_cast<int>(v)), 1);
      }
    }
  }
  Node pointer(int i) { return ir_.CreateLoad(ir_.getPtrTy(), at(function_.getArg(0), ir_.getPtrTy(), number(i))); }

  // for (i = begin; i < end; i += stride): at least once.
  template <class F>
  void loop(const char* name, Node begin, Node end, int64_t stride, F body) {
    llvm::BasicBlock* const before = ir_.GetInsertBlock();
    llvm::BasicBlock* const head = llvm::BasicBlock::Create(function_.getContext(), name, &function_);
    ir_.CreateBr(head);
    ir_.SetInsertPoint(head);
    llvm::PHINode* const i = ir_.CreatePHI(ir_.getInt64Ty(), 2);
    i->addIncoming(begin, before);
    body(i);
    const Node next = ir_.CreateAdd(i, number(stride));
    i->addIncoming(next, ir_.GetInsertBlock());
    llvm::BasicBlock* const exit = llvm::BasicBlock::Create(function_.getContext(), name, &function_);
    ir_.CreateCondBr(ir_.CreateICmpSLT(next, end), head, exit);
    ir_.SetInsertPoint(exit);
  }
  template <class F>
  void when(Node condition, F body) {
    llvm::BasicBlock* const then = llvm::BasicBlock::Create(function_.getContext(), "", &function_);
    llvm::BasicBlock* const join = llvm::BasicBlock::Create(function_.getContext(), "", &function_);
    ir_.CreateCondBr(condition, then, join);
    ir_.SetInsertPoint(then);
    body();
    ir_.CreateBr(join);
    ir_.SetInsertPoint(join);
  }

  // The calls on rows' results before loop p.
  void of_rows(int p) {
    const Builder::OneLane one(builder_);
    for (int i = 0; i < program_.step_count; ++i) {
      if (step(i).per_row == 0 || codegen::reduces(step(i)) || step(i).phase != p) continue;
      Node in[3] = {};
      for (int k = 0; k < step(i).operands; ++k) {
        const int v = step(i).in[k];
        in[k] = builder_.load(kind(v), place(v));
      }
      builder_.store(call(i, in), memory_[static_cast<size_t>(program_.operands + i)]);
    }
  }
  // Of a value of the row: one element.
  Node place(int value) const {
    const auto v = static_cast<size_t>(value);
    return value < program_.operands ? pointers_[v] : memory_[v];
  }
  void store_row_results() {
    const Builder::OneLane one(builder_);
    for (int i = 0; i < program_.result_count; ++i) {
      const int v = program_.results[i];
      if (!per_row(v)) continue;
      builder_.store(builder_.load(kind(v), place(v)), pointers_[static_cast<size_t>(program_.operands + i)]);
    }
  }

  // One loop over the row, in blocks of the canonical order if it reduces.
  void phase(int p, bool last) {
    p_ = p, last_ = last;
    std::vector<int> reductions;
    for (int i = 0; i < program_.step_count; ++i) {
      if (codegen::reduces(step(i)) && step(i).phase == p) reductions.push_back(program_.operands + i);
    }
    const Node n = function_.getArg(3);
    if (reductions.empty()) return pass(number(0), n, false);
    loop("block", number(0), n, math::kReduceBlock, [&](Node begin) {
      for (const int v : reductions) start(v);
      const Node limit = ir_.CreateAdd(begin, number(math::kReduceBlock));
      pass(begin, ir_.CreateSelect(ir_.CreateICmpSLT(limit, n), limit, n), true);
      for (const int v : reductions) finish_block(v, begin);
    });
    for (const int v : reductions) finish(v, n);
  }
  void start(int v) {
    const ReduceRow& row = *row_of(*step_of(v));
    const Node identity = row.identity();
    for (int i = 0; i < row.accumulators; i += lanes_)
      builder_.store(identity, element(accumulators_[static_cast<size_t>(v)], row.accumulator, number(i)));
  }
  // Folds the accumulators in halves: whole vectors, then lanes.
  void finish_block(int v, Node begin) {
    const ReduceRow& row = *row_of(*step_of(v));
    std::vector<Node> parts;
    for (int i = 0; i < row.accumulators; i += lanes_)
      parts.push_back(
          builder_.load(row.accumulator, element(accumulators_[static_cast<size_t>(v)], row.accumulator, number(i))));
    for (; parts.size() > 1; parts.resize(parts.size() / 2)) {
      for (size_t k = 0; k < parts.size() / 2; ++k) parts[k] = row.apply(parts[k], parts[k + parts.size() / 2]);
    }
    Node x = parts[0];
    for (int width = lanes_ / 2; width >= 1; width /= 2)
      x = row.apply(builder_.part(x, 0, width), builder_.part(x, width, width));
    const Node block = ir_.CreateUDiv(begin, number(math::kReduceBlock));
    builder_.store(x, element(memory_[static_cast<size_t>(v)], row.accumulator, block));
  }
  void finish(int v, Node n) {
    const ReduceRow& row = *row_of(*step_of(v));
    const Node memory = memory_[static_cast<size_t>(v)];
    const Builder::OneLane one(builder_);
    when(ir_.CreateICmpSGT(n, number(math::kReduceBlock)), [&] { fold(row, memory, n); });
    if (row.accumulator == kind(v)) return;
    builder_.store(row.round(builder_.load(row.accumulator, memory)), memory);
  }

  // Results of blocks into the first: pairwise, neighbours first.
  void fold(const ReduceRow& row, Node memory, Node n) {
    for (int width = 1; width < kBlocks; width *= 2) {
      for (int k = 0; k + width < kBlocks; k += 2 * width) {
        when(ir_.CreateICmpSGT(n, number((k + width) * math::kReduceBlock)), [&] {
          const Node into = element(memory, row.accumulator, number(k));
          const Node with = element(memory, row.accumulator, number(k + width));
          builder_.store(row.apply(builder_.load(row.accumulator, into), builder_.load(row.accumulator, with)), into);
        });
      }
    }
  }

  // Whole vectors of [begin, end), then the rest of one. Short loops that reduce take several at a time: else each
  // vector would wait for the accumulators' way through memory.
  void pass(Node begin, Node end, bool reduces) {
    constexpr int kVectors = 4;
    constexpr unsigned kShort = 32;  // instructions
    llvm::BasicBlock* const wide = llvm::BasicBlock::Create(function_.getContext(), "wide", &function_);
    llvm::BasicBlock* const narrow = llvm::BasicBlock::Create(function_.getContext(), "narrow", &function_);
    ir_.CreateBr(wide);
    ir_.SetInsertPoint(narrow);
    llvm::PHINode* const from = ir_.CreatePHI(ir_.getInt64Ty(), 1);
    const Node stop = whole(from, end, lanes_);
    const unsigned before = function_.getInstructionCount();
    when(ir_.CreateICmpSLT(from, stop),
         [&] { loop("vector", from, stop, lanes_, [&](Node i) { vector(i, nullptr); }); });
    const bool is_short = function_.getInstructionCount() - before < kShort;
    when(ir_.CreateICmpSLT(stop, end), [&] { vector(stop, ir_.CreateSub(end, stop)); });
    const llvm::IRBuilderBase::InsertPoint after = ir_.saveIP();

    ir_.SetInsertPoint(wide);
    Node narrow_from = begin;
    if (reduces && is_short) {
      narrow_from = whole(begin, end, kVectors * lanes_);
      when(ir_.CreateICmpSLT(begin, narrow_from), [&] {
        loop("vectors", begin, narrow_from, kVectors * lanes_, [&](Node i) {
          for (int k = 0; k < kVectors; ++k) vector(ir_.CreateAdd(i, number(k * lanes_)), nullptr);
        });
      });
    }
    from->addIncoming(narrow_from, ir_.GetInsertBlock());
    ir_.CreateBr(narrow);
    ir_.restoreIP(after);
  }
  // The end of whole pieces from `begin` on.
  Node whole(Node begin, Node end, int64_t piece) {
    return ir_.CreateAdd(begin, ir_.CreateAnd(ir_.CreateSub(end, begin), number(-piece)));
  }

  // Elements [i, i + lanes), or the first `count` of them.
  void vector(Node i, Node count) {
    i_ = i, count_ = count;
    values_.assign(memory_.size(), nullptr);
    for (int k = 0; k < program_.step_count; ++k) {
      if (codegen::reduces(step(k)) && step(k).phase == p_) accumulate(program_.operands + k);
    }
    for (int k = 0; k < program_.step_count; ++k) {
      const int v = program_.operands + k;
      if (step(k).kept != 0 && step(k).phase == p_)
        builder_.store(value(v), element(memory_[static_cast<size_t>(v)], kind(v), i_));
    }
    if (!count_) prefetch();
    if (!last_) return;
    std::vector<Node> results;  // all are read before one is written, where an operand may lie
    for (int k = 0; k < program_.result_count; ++k)
      results.push_back(per_row(program_.results[k]) ? nullptr : value(unfolded(program_.results[k])));
    for (int k = 0; k < program_.result_count; ++k) {
      if (!results[static_cast<size_t>(k)]) continue;
      const Kind of = kind(program_.results[k]);
      const Node to = element(pointers_[static_cast<size_t>(program_.operands + k)], of, i_);
      if (folds(program_.results[k]))
        results[static_cast<size_t>(k)] = add_to(program_.results[k], results[static_cast<size_t>(k)], to);
      count_ ? builder_.store_first(of, results[static_cast<size_t>(k)], to, count_)
             : builder_.store(results[static_cast<size_t>(k)], to);
    }
  }

  // A row goes into accumulators of columns.
  bool folds(int value) const { return step_of(value) && codegen::folds(*step_of(value)); }
  int unfolded(int value) const { return folds(value) ? step_of(value)->in[0] : value; }
  Node add_to(int v, Node x, Node accumulators) {
    const ReduceRow& row = *row_of(*step_of(v));
    const Node before = count_ ? builder_.load_first(row.accumulator, accumulators, count_)
                               : builder_.load(row.accumulator, accumulators);
    return row.apply(row.widen(x), before);
  }

  // Where there are several loops: in the first what the last one writes, in the second, which finds all that it reads
  // in the cache, what the first one reads of the next row.
  void prefetch() {
    for (int k = 0; k < arrays_; ++k) {
      const bool operand = k < program_.operands;
      const int v = operand ? k : program_.results[k - program_.operands];
      if (per_row(v) || folds(v) || p_ != (operand ? 1 : 0) || (last_ && !operand)) continue;
      builder_.prefetch(ir_.CreateGEP(builder_.lane_type(kind(v)), next_[static_cast<size_t>(k)], {i_}),
                        lanes_ * static_cast<int64_t>(builder_.lane_type(kind(v))->getScalarSizeInBits() / 8));
    }
  }
  void accumulate(int v) {
    const ReduceRow& row = *row_of(*step_of(v));
    Node x = row.widen(value(step_of(v)->in[0]));
    if (count_) x = builder_.first_of(count_, x, row.identity());
    const Node index = row.accumulators == lanes_ ? number(0) : ir_.CreateAnd(i_, number(row.accumulators - 1));
    const Node place = element(accumulators_[static_cast<size_t>(v)], row.accumulator, index);
    // In this order what an extremum asks of its first operand is known before the accumulator.
    builder_.store(row.apply(x, builder_.load(row.accumulator, place)), place);
  }

  Node value(int v) {
    Node& known = values_[static_cast<size_t>(v)];
    if (known) return known;
    const MapStep* const made = step_of(v);
    Node x = nullptr;
    if (per_row(v)) {
      x = builder_.load_splat(kind(v), place(v));
    } else if (!made) {
      const Node from = element(pointers_[static_cast<size_t>(v)], kind(v), i_);
      x = count_ ? builder_.load_first(kind(v), from, count_) : builder_.load(kind(v), from);
    } else if (made->kept != 0 && made->phase < p_) {
      x = builder_.load(kind(v), element(memory_[static_cast<size_t>(v)], kind(v), i_));
    } else {
      Node in[3] = {};
      for (int k = 0; k < made->operands; ++k) in[k] = value(made->in[k]);
      x = call(v - program_.operands, in);
    }
    return values_[static_cast<size_t>(v)] = x;
  }

  const codegen::MapProgram& program_;
  llvm::Function& function_;
  llvm::IRBuilder<> ir_;
  Builder builder_;
  int lanes_, arrays_;
  std::vector<Node> bases_, pointers_;       // of operands and results: the first row, this one
  std::vector<Node> next_;                   // of operands the next row, of results this one
  std::vector<Node> memory_, accumulators_;  // by value: a row of scratch, or the element of this row
  // What is emitted now:
  int p_ = 0;
  bool last_ = false;
  Node i_ = nullptr, count_ = nullptr;
  std::vector<Node> values_;
};

}  // namespace

bool emit_row_map(const codegen::MapProgram& program, llvm::Function& function, int lanes) {
  return Emitter(program, function, lanes).run();
}

}  // namespace hone::jit
