// Clusters of elementwise calls and of reductions of rows: at first tile by tile, each call's prebuilt tile over a
// block that stays in L1; then by machine code, one loop with all values in registers (for rows, one between each two
// reductions). Both have the bits of the calls one by one.
#include <cstring>
#include <optional>

#include "hone/backend/cpu/fusion_program.h"
#include "hone/backend/cpu/install.h"
#include "hone/backend/cpu/map_works.h"
#include "hone/backend/cpu/scratch.h"
#include "hone/backend/cpu/spread.h"
#include "hone/base/parallel.h"
#include "hone/base/settings.h"
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
  Walk(const KernelCall& call, const Program& program, const MapCode* code)
      : call_(call),
        program_(program),
        code_(code),
        spreaders_(static_cast<int64_t>(call.inputs.size())),
        block_of_(call.inputs.size(), -1),
        blocks_(code ? std::array<size_t, 2>{} : program.scratch_blocks) {
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
      for (size_t i = 0; i < program_.arrays.size(); ++i) pointers_[i] = address(program_.arrays[i], row, 1);
      code_->run_rows(pointers_, strides_, rows, program_.length);
    }
  }

  void run(int64_t row, int64_t rows) {
    if (code_) {
      for (size_t i = 0; i < program_.arrays.size(); ++i) pointers_[i] = address(program_.arrays[i], row, rows);
      return code_->run(pointers_, rows);
    }
    for (size_t v = 0; v < pointers_.size(); ++v) pointers_[v] = address(program_.places[v], row, rows);
    for (const FusionStep& step : program_.steps) run(step, rows);
  }

 private:
  void find_strides() {
    for (size_t i = 0; i < program_.arrays.size(); ++i) {
      const Place& array = program_.arrays[i];
      const int64_t n = elements(array, 1);
      std::optional<int64_t> step = n * static_cast<int64_t>(array.item);
      if (i < call_.inputs.size() && spreaders_[static_cast<int64_t>(i)])
        step = block_of_[i] >= 0 ? std::nullopt : spreaders_[static_cast<int64_t>(i)]->step(n);
      one_by_one_ = one_by_one_ || !step;
      strides_.push_back(step.value_or(0));
    }
  }
  bool read_in_place(size_t operand) const {
    if (program_.length == 1) return program_.row > 0 || codegen::splat(program_.splats, operand);
    return spreaders_[static_cast<int64_t>(operand)]->in_place(elements(program_.arrays[operand], 1));
  }
  void run(const FusionStep& step, int64_t rows) {
    math::TileArgs args{{}, pointers_[static_cast<size_t>(step.out)], {step.params[0], step.params[1]}};
    for (int i = 0; i < step.operands; ++i)
      args.in[i] = pointers_[static_cast<size_t>(step.in[static_cast<size_t>(i)])];
    const Place& out = program_.places[static_cast<size_t>(step.out)];
    switch (step.kind) {
      case FusionStep::Tile:
        return step.tile(args, 0, elements(out, rows));
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
    const auto bytes = static_cast<int64_t>(item);
    std::byte* const to = static_cast<std::byte*>(args.out) + r * bytes;
    const void* const from = static_cast<const std::byte*>(args.in[0]) + r * program_.length * bytes;
    if (!step.tile) return step.row(from, program_.length, to);
    double accumulator;
    step.row(from, program_.length, &accumulator);
    step.tile({{&accumulator}, to, {}}, 0, 1);
  }

  int64_t elements(const Place& place, int64_t rows) const { return place.per_row ? rows : rows * program_.length; }
  std::byte* block(bool per_row, int index) const {
    return scratch_->data() + (per_row ? static_cast<int64_t>(blocks_[0]) * program_.block * 8 + index * per_row_bytes_
                                       : index * program_.block * 8);
  }
  void* address(const Place& place, int64_t row, int64_t rows) {
    const auto index = static_cast<size_t>(place.index);
    if (place.kind == Place::Scratch) return block(place.per_row, place.index);
    const int64_t begin = elements(place, row), n = elements(place, rows);
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
  const MapCode* const code_;  // null: tiles
  static_assert(std::is_trivially_destructible_v<Spreader>);
  Scratch<std::optional<Spreader>> spreaders_;
  SmallVector<int, 32> block_of_;  // scratch of an operand that is copied; -1: none
  std::array<size_t, 2> blocks_;   // of whole rows, of an element a row
  int64_t per_row_bytes_ = 0;
  SmallVector<void*, 96> pointers_;
  SmallVector<int64_t, 32> strides_;  // of arrays, from row to row
  bool one_by_one_ = false;
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

void run(const KernelCall& call) {
  const auto& program = *static_cast<const Program*>(call.prepared);
  const MapCode* const code = code_of(program);
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
