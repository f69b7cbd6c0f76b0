// Clusters of elementwise calls and of reductions of rows: at first tile by tile, each call's prebuilt tile over a
// block that stays in L1; then by machine code, one loop with all values in registers (for rows, one between each two
// reductions). Both have the bits of the calls one by one.
#include <cstring>
#include <optional>

#include "hone/backend/cpu/fusion_partials.h"
#include "hone/backend/cpu/fusion_program.h"
#include "hone/backend/cpu/install.h"
#include "hone/backend/cpu/map_works.h"
#include "hone/backend/cpu/scratch.h"
#include "hone/backend/cpu/spread.h"
#include "hone/base/parallel.h"
#include "hone/base/settings.h"
#include "hone/compiler/row_space.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

using Program = FusionProgram;

std::shared_ptr<const void> prepare(const KernelQuery& query) { return make_fusion_program(query); }

// A result may lie where an operand does. An operand that is read after that result is written goes through scratch.
bool overwritten(const KernelCall& call, const Program& program, size_t operand) {
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i].mutable_bytes() == call.inputs[operand].mutable_bytes() &&
        program.last_read[operand] > program.written[i])
      return true;
  }
  return false;
}

// One thread's walk over rows; where nothing is reduced, a row is an element.
class Walk {
 public:
  Walk(const KernelCall& call, const Program& program, const MapCode* code, const Partials* partials = nullptr)
      : call_(call),
        program_(program),
        code_(code),
        partials_(partials),
        spreaders_(static_cast<int64_t>(call.inputs.size())),
        block_of_(call.inputs.size(), -1),
        blocks_(code ? std::array<size_t, 2>{} : program.scratch_blocks),
        columns_(program.length) {
    std::uninitialized_value_construct_n(spreaders_.data(), call.inputs.size());
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const bool dense = call.inputs[i].layout().dense;
      if (dense && (code || !overwritten(call, program, i))) continue;  // code reads all before it writes
      if (!dense) spreaders_[static_cast<int64_t>(i)].emplace(call.inputs[i], size_of(call.inputs[i].dtype()));
      if (code && read_in_place(i)) continue;
      block_of_[i] = static_cast<int>(blocks_[program.arrays[i].per_row]++);
    }
    per_row_bytes_ = (program.block / program.length * 8 + 63) / 64 * 64;
    const int64_t blocks_end =
        static_cast<int64_t>(blocks_[0]) * program.block * 8 + static_cast<int64_t>(blocks_[1]) * per_row_bytes_;
    const size_t kept = code ? code->kept().size() : 0;
    const int64_t kept_bytes = (program.length * 8 + codegen::kVectorBytes + 63) / 64 * 64;
    scratch_.emplace(blocks_end + static_cast<int64_t>(kept) * kept_bytes);
    pointers_.resize(code ? program.arrays.size() : program.places.size());
    for (size_t i = 0; i < kept; ++i)
      pointers_.push_back(scratch_->data() + blocks_end + static_cast<int64_t>(i) * kept_bytes);
    if (code && program.length > 1) find_strides();
  }

  // By machine code that reduces: all at once, unless operands lie too irregularly.
  void run_rows(int64_t begin, int64_t end) {
    for (int64_t row = begin, rows = one_by_one_ ? 1 : end - begin; row < end; row += rows) {
      for (size_t i = 0; i < program_.arrays.size(); ++i) pointers_[i] = address(program_.arrays[i], row, rows);
      code_->run_rows(pointers_, strides_, rows, std::min(columns_, program_.count - row * program_.length));
    }
  }

  void run(int64_t row, int64_t rows) {
    if (code_) {
      for (size_t i = 0; i < program_.arrays.size(); ++i) pointers_[i] = address(program_.arrays[i], row, rows);
      return code_->run(pointers_, rows);
    }
    row_ = row;
    for (size_t v = 0; v < pointers_.size(); ++v) pointers_[v] = address(program_.places[v], row, rows);
    for (const FusionStep& step : program_.steps) run(step, rows);
  }

  // Rows of a block, of which columns [column, column + n): by code all, else tile by tile.
  void fold_block(int64_t block, int64_t column, int64_t n) {
    block_ = block, column_ = column, columns_ = n;
    const auto [begin, end] = partials_->rows_of(block);
    if (compiler::of_columns(program_.fold)) partials_->start(block, column, n);
    if (code_) return run_rows(begin, end);
    const int64_t rows = program_.block / program_.length;
    for (int64_t row = begin; row < end; row += rows) run(row, std::min(rows, end - row));
  }

 private:
  void find_strides() {
    for (size_t i = 0; i < program_.arrays.size(); ++i) {
      const Place& array = program_.arrays[i];
      const int64_t n = elements(array, 0, 1);
      std::optional<int64_t> step = n * static_cast<int64_t>(array.item);
      if (array.kind == Place::Partial && !array.per_row) step = 0;
      if (i < call_.inputs.size() && spreaders_[static_cast<int64_t>(i)])
        step = block_of_[i] >= 0 ? std::nullopt : spreaders_[static_cast<int64_t>(i)]->step(n);
      one_by_one_ = one_by_one_ || !step;
      strides_.push_back(step.value_or(0));
    }
  }
  bool read_in_place(size_t operand) const {
    if (program_.length == 1) return program_.row > 0 || codegen::splat(program_.splats, operand);
    return codegen::splat(program_.splats, operand) ||
           spreaders_[static_cast<int64_t>(operand)]->in_place(elements(program_.arrays[operand], 0, 1));
  }
  void run(const FusionStep& step, int64_t rows) {
    math::TileArgs args{{}, pointers_[static_cast<size_t>(step.out)], {step.params[0], step.params[1]}};
    for (int i = 0; i < step.operands; ++i)
      args.in[i] = pointers_[static_cast<size_t>(step.in[static_cast<size_t>(i)])];
    const Place& out = program_.places[static_cast<size_t>(step.out)];
    switch (step.kind) {
      case FusionStep::Tile:
        return step.tile(args, 0, elements(out, row_, rows));
      case FusionStep::Fold:
        for (int64_t r = 0; r < rows; ++r)
          add_row(step,
                  static_cast<const std::byte*>(args.in[0]) + r * program_.length * static_cast<int64_t>(step.from),
                  static_cast<std::byte*>(args.out), static_cast<int64_t>(out.item));
        return;
      case FusionStep::Reduce:
        for (int64_t r = 0; r < rows; ++r) reduce(step, args, out.item, r);
        return;
      case FusionStep::Repeat:
        for (int64_t r = 0; r < rows; ++r) {
          const auto item = static_cast<int64_t>(out.item), length = program_.length;
          repeat(static_cast<std::byte*>(args.out) + r * length * item,
                 static_cast<const std::byte*>(args.in[0]) + r * item, out.item, length);
        }
    }
  }
  void reduce(const FusionStep& step, const math::TileArgs& args, size_t item, int64_t r) const {
    const auto bytes = static_cast<int64_t>(item), length = program_.length;
    std::byte* const to = static_cast<std::byte*>(args.out) + r * bytes;
    const void* const from = static_cast<const std::byte*>(args.in[0]) + r * length * static_cast<int64_t>(step.from);
    const int64_t n = std::min(length, program_.count - (row_ + r) * length);
    if (!step.tile) return step.row(from, n, to);
    double accumulator;
    step.row(from, n, &accumulator);
    step.tile({{&accumulator}, to, {}}, 0, 1);
  }

  // A row into the accumulators of columns, which are as many.
  void add_row(const FusionStep& step, const std::byte* x, std::byte* accumulators, int64_t item) const {
    if (static_cast<int64_t>(step.from) == item) return step.columns->combine(accumulators, x, program_.length);
    float widened[math::kReduceColumns];
    for (int64_t i = 0; i < program_.length; i += math::kReduceColumns) {
      const int64_t n = std::min(math::kReduceColumns, program_.length - i);
      step.columns->columns(x + i * static_cast<int64_t>(step.from), 1, n, n, widened);
      step.columns->combine(accumulators + i * item, widened, n);
    }
  }

  int64_t elements(const Place& place, int64_t row, int64_t rows) const {
    return place.per_row ? rows : std::min(rows * program_.length, program_.count - row * program_.length);
  }
  std::byte* block(bool per_row, int index) const {
    return scratch_->data() + (per_row ? static_cast<int64_t>(blocks_[0]) * program_.block * 8 + index * per_row_bytes_
                                       : index * program_.block * 8);
  }
  void* address(const Place& place, int64_t row, int64_t rows) {
    const auto index = static_cast<size_t>(place.index);
    if (place.kind == Place::Scratch) return block(place.per_row, place.index);
    if (place.kind == Place::Partial)
      return partials_->of(place.index, place.per_row ? row : block_) +
             column_ * static_cast<int64_t>(place.per_row ? 0 : place.item);
    const int64_t begin = place.per_row ? row : row * program_.length + column_;
    const int64_t n = place.per_row || columns_ == program_.length ? elements(place, row, rows) : columns_;
    const size_t offset = static_cast<size_t>(begin) * place.item;
    if (place.kind == Place::Result) return call_.outputs[index].mutable_bytes() + offset;
    std::byte* const own = block_of_[index] < 0 ? nullptr : block(place.per_row, block_of_[index]);
    if (std::optional<Spreader>& spreader = spreaders_[place.index])
      return const_cast<std::byte*>(own ? spreader->block(own, begin, n) : spreader->address(begin));
    std::byte* const elements = call_.inputs[index].mutable_bytes() + offset;
    return own ? std::memcpy(own, elements, static_cast<size_t>(n) * place.item) : elements;
  }

  const KernelCall& call_;
  const Program& program_;
  const MapCode* const code_;       // null: tiles
  const Partials* const partials_;  // null: nothing is folded
  static_assert(std::is_trivially_destructible_v<Spreader>);
  Scratch<std::optional<Spreader>> spreaders_;
  SmallVector<int, 32> block_of_;  // scratch of an operand that is copied; -1: none
  std::array<size_t, 2> blocks_;   // of whole rows, of an element a row
  int64_t per_row_bytes_ = 0;
  SmallVector<void*, 96> pointers_;
  SmallVector<int64_t, 32> strides_;  // of arrays, from row to row
  bool one_by_one_ = false;
  int64_t row_ = 0, block_ = 0, column_ = 0, columns_;  // what runs now
  std::optional<Scratch<std::byte>> scratch_;
};

// The cluster's code, if it is there; a second run asks for it.
const MapCode* code_of(const Program& program) {
  if (!program.wants_code && !settings.jit) return nullptr;
  if (program.code->ready()) {
    MapCode::count_run();
    return program.code.get();
  }
  if (!program.wants_code && program.has_run.exchange(true, std::memory_order_relaxed)) {
    MapCode::request(program.code);
    if (program.code->ready()) return code_of(program);
  }
  return nullptr;
}

// Block by block of what is folded; by code, wide rows in pieces, unless each is reduced too.
void run_folds(const KernelCall& call, const Program& program, const MapCode* code) {
  const Partials partials(program);
  const int64_t width = code && !program.reduces_rows ? std::min(program.length, math::kReduceColumns) : program.length;
  const bool columns = compiler::of_columns(program.fold);
  const int64_t pieces = columns ? (program.length + width - 1) / width : 1;
  const int64_t elements = columns ? std::min(program.fold.extent, math::kReduceRows) * width : program.length;
  parallel_for(
      partials.blocks() * pieces, std::max<int64_t>(1, program.grain / elements),
      [&](int64_t begin, int64_t end) {
        Walk walk(call, program, code, &partials);
        for (int64_t i = begin; i < end; ++i) {
          const int64_t column = columns ? i % pieces * width : 0;
          walk.fold_block(i / pieces, column, columns ? std::min(width, program.length - column) : program.length);
        }
      },
      1);
  partials.finish(call);
}

void run(const KernelCall& call) {
  const auto& program = *static_cast<const Program*>(call.prepared);
  const MapCode* const code = code_of(program);
  if (!program.folds.empty()) return run_folds(call, program, code);
  const int64_t length = program.length;
  const BlockCuts cuts = length > 1                ? BlockCuts(program.block / length)
                         : code && program.row > 0 ? BlockCuts(program.row)
                                                   : BlockCuts(call.inputs, program.block);
  const int64_t align = length > 16 ? 1 : 64;
  parallel_for(
      program.rows, std::max<int64_t>(1, program.grain / length),
      [&](int64_t begin, int64_t end) {
        Walk walk(call, program, code);
        if (code && length > 1) return walk.run_rows(begin, end);
        for (int64_t at = begin; at < end;) {
          const int64_t stop = std::min(end, cuts.next(at));
          walk.run(at, stop - at);
          at = stop;
        }
      },
      align);
}

}  // namespace

void install_cpu_fusion() {
  add_kernels(ops::fusion, {{.name = "cpu.fusion",
                             .refuses = refuses_fusion,
                             .run = run,
                             .prepare = prepare,
                             .works = map_works,
                             .reads_strides = true,
                             .in_place = true}});
}

}  // namespace hone
