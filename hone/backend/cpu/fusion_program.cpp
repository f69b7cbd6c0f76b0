#include "hone/backend/cpu/fusion_program.h"

#include <algorithm>

#include "hone/backend/cpu/isa.h"
#include "hone/backend/cpu/spread.h"
#include "hone/compiler/passes.h"
#include "hone/compiler/row_space.h"
#include "hone/ir/graph.h"
#include "hone/ir/region.h"
#include "hone/ops/attrs.h"
#include "hone/ops/reduce_steps.h"
#include "hone/ops/table.h"
#include "hone/tensor/half.h"

namespace hone {
namespace {

constexpr int64_t kBlock = 1024;              // elements of a tile at most, unless a row is longer
constexpr int64_t kScratchBytes = 48 * 1024;  // of all blocks that a thread holds, unless rows are long
constexpr int64_t kWork = 32768;              // calls times elements that are worth a thread

const ir::Graph& body_of(AttrRef attrs) { return ir::graph_of(attrs.as<FusionAttrs>().body[0]); }

math::TileFn conversion(DType from, DType to) {
  return kernels().convert[static_cast<int>(from)][static_cast<int>(to)];
}

// Without its places. A step without tile and row: there is no kernel for the call.
FusionStep step_of(const ir::Graph& body, const ir::Node& node, const compiler::RowSpace& space) {
  const auto type = [&](size_t i) { return body.type(body.operands(node)[i]).dtype; };
  FusionStep step;
  if (const int kind = reduce_kind(*node.op); kind >= 0) {
    const math::ReduceKernels& reduce = kernels().reduce[kind][static_cast<int>(type(0))];
    const bool fold = space.is_fold[node.first_result] != 0;
    step.kind = fold && compiler::of_columns(space.fold) ? FusionStep::Fold : FusionStep::Reduce;
    step.row = reduce.row, step.columns = &reduce, step.from = size_of(type(0));
    if (!fold && compute_type(type(0)) != type(0)) step.tile = conversion(compute_type(type(0)), type(0));
  } else if (node.op->elementwise >= 0) {
    step.tile = kernels().elementwise[node.op->elementwise][static_cast<int>(type(node.op == &ops::select ? 1 : 0))];
  } else {
    const ir::ValueId operand = body.operands(node)[0];
    if (space.per_row[operand] != space.per_row[node.first_result]) step.kind = FusionStep::Repeat;
    step.tile = conversion(type(0), body.type(node.first_result).dtype);
  }
  return step;
}

// A fold's place, which is noted as the output of the cluster.
Place partial(const ir::Graph& body, const compiler::RowSpace& space, int output, FusionProgram& program) {
  const ir::ValueId result = body.outputs()[static_cast<size_t>(output)];
  const DType dtype = body.type(result).dtype;
  const bool columns = compiler::of_columns(space.fold);
  const size_t item = size_of(compute_type(dtype));
  program.folds.push_back({output, reduce_kind(*body.nodes()[body.producer(result)].op), dtype,
                           columns ? space.length : 1, static_cast<int64_t>(item)});
  return {Place::Partial, !columns, static_cast<int>(program.folds.size()) - 1, item};
}

// Gives scratch blocks to values that live between steps only. A block is free again after its last reader, which may
// write over it where elements have one size.
void place_values(const ir::Graph& body, const compiler::RowSpace& space, FusionProgram& program) {
  const ir::Users users(body);
  std::vector<uint32_t> left(body.values());
  for (ir::ValueId v = 0; v < body.values(); ++v) left[v] = static_cast<uint32_t>(users.of(v).size());
  program.places.resize(body.values());
  for (size_t i = 0; i < body.inputs().size(); ++i) {
    const ir::ValueId v = body.inputs()[i].value;
    program.places[v] = {Place::Operand, space.per_row[v] != 0, static_cast<int>(i), size_of(body.type(v).dtype)};
  }
  std::array<std::vector<int>, 2> free_blocks;
  for (const ir::Node& node : body.nodes()) {
    const ir::ValueId result = node.first_result;
    Place place{Place::Scratch, space.per_row[result] != 0, 0, size_of(body.type(result).dtype)};
    SmallVector<Place, 3> free_later;
    for (const ir::ValueId operand : body.operands(node)) {
      const Place& read = program.places[operand];
      if (--left[operand] != 0 || read.kind != Place::Scratch) continue;
      if (read.item == place.item && read.per_row == place.per_row)
        free_blocks[place.per_row].push_back(read.index);
      else
        free_later.push_back(read);
    }
    std::vector<int>& blocks = free_blocks[place.per_row];
    const auto output = std::ranges::find(body.outputs(), result);
    if (output != body.outputs().end()) {
      place.kind = Place::Result, place.index = static_cast<int>(output - body.outputs().begin());
      if (space.is_fold[result] != 0) place = partial(body, space, place.index, program);
    } else if (blocks.empty()) {
      place.index = static_cast<int>(program.scratch_blocks[place.per_row]++);
    } else {
      place.index = blocks.back();
      blocks.pop_back();
    }
    program.places[result] = place;
    for (const Place& read : free_later) free_blocks[read.per_row].push_back(read.index);
  }
}

// What code reads where it lies: an operand that is one element, or runs on, or stays the same, within each row of one
// length.
void find_runs(const KernelQuery& query, FusionProgram& program) {
  uint64_t everywhere = 0, in_rows = 0;
  int64_t row = 0;
  bool alike = true;
  for (size_t i = 0; i < query.inputs.size(); ++i) {
    const Tensor& x = query.inputs[i];
    if (x.layout().dense) continue;
    const Spreader spreader(nullptr, x.shape(), x.layout().strides, size_of(x.dtype()));
    const uint64_t bit = i < 64 ? uint64_t{1} << i : 0;
    if (spreader.period() == 1 && bit != 0) {
      everywhere |= bit;
      continue;
    }
    if (spreader.stride() == 0) in_rows |= bit;
    alike = alike && bit != 0 && (spreader.stride() == 0 || spreader.stride() == 1) &&
            spreader.run() >= BlockCuts::kLongRun && (row == 0 || row == spreader.run());
    row = spreader.run();
  }
  program.splats = alike ? everywhere | in_rows : everywhere;
  if (alike) program.row = row > 0 ? row : query.outputs[0].shape.count();
}

// The same where the cluster says what a row is.
void find_rows(const KernelQuery& query, FusionProgram& program) {
  for (size_t i = 0; i < query.inputs.size() && i < 64; ++i) {
    const Tensor& x = query.inputs[i];
    if (x.layout().dense || program.arrays[i].per_row) continue;
    const Spreader spreader(nullptr, x.shape(), x.layout().strides, size_of(x.dtype()));
    const bool alike = spreader.period() == 1 || (spreader.stride() == 0 && spreader.in_place(program.length));
    if (alike) program.splats |= uint64_t{1} << i;
  }
}

}  // namespace

const char* refuses_fusion(const KernelQuery& query) {
  const ir::Graph& body = body_of(query.attrs);
  if (query.outputs.empty()) return "no result";
  const compiler::RowSpace space(body);
  if (space.wrong) return space.wrong;
  for (const ir::Node& node : body.nodes()) {
    const FusionStep step = step_of(body, node, space);
    if (!step.tile && !step.row) return "a call of the body has no tile";
  }
  if (space.length > codegen::kMaxRow) return "rows are too long";
  return nullptr;
}

std::shared_ptr<FusionProgram> make_fusion_program(const KernelQuery& query) {
  const ir::Graph& body = body_of(query.attrs);
  const compiler::RowSpace space(body);
  auto program = std::make_shared<FusionProgram>();
  program->rows = space.rows, program->length = space.length, program->count = space.count;
  program->fold = space.fold;
  place_values(body, space, *program);
  for (const ir::Node& node : body.nodes()) {
    FusionStep step = step_of(body, node, space);
    program->reduces_rows = program->reduces_rows || (step.row && !space.is_fold[node.first_result]);
    step.operands = static_cast<int>(node.operands), step.out = static_cast<int>(node.first_result);
    for (uint32_t i = 0; i < node.operands; ++i) step.in[i] = static_cast<int>(body.operands(node)[i]);
    if (node.attrs.type() == &attr_type<ParamAttrs>()) {
      step.params[0] = node.attrs.as<ParamAttrs>().a;
      step.params[1] = node.attrs.as<ParamAttrs>().b;
    }
    program->steps.push_back(step);
  }
  const ir::Users users(body);
  for (const ir::Input& input : body.inputs()) {
    const std::span<const uint32_t> readers = users.of(input.value);
    program->last_read.push_back(readers.empty() ? -1 : static_cast<int>(std::ranges::max(readers)));
    program->arrays.push_back(program->places[input.value]);
  }
  for (const ir::ValueId output : body.outputs()) {
    program->written.push_back(static_cast<int>(space.is_fold[output] ? body.nodes().size() : body.producer(output)));
    program->arrays.push_back(program->places[output]);
  }
  size_t strided = 0;
  for (const Tensor& input : query.inputs) strided += input.layout().dense ? 0 : 1;
  const auto blocks = static_cast<int64_t>(program->scratch_blocks[0] + strided);
  program->block = kBlock;
  if (blocks > 0) program->block = std::clamp<int64_t>(kScratchBytes / (blocks * 8) / 64 * 64, 64, kBlock);
  program->block = std::max<int64_t>(program->block / space.length, 1) * space.length;
  program->grain = std::max<int64_t>(kWork / static_cast<int64_t>(program->steps.size()), 1024);
  space.length > 1 ? find_rows(query, *program) : find_runs(query, *program);
  program->code = MapCode::of(body, isa_level(), program->splats);
  program->wants_code = query.machine_code;
  if (query.machine_code) program->code->compile();
  return program;
}

}  // namespace hone
