// Clusters of elementwise calls: at first tile by tile, each call's prebuilt tile over a block that stays in L1; then
// by machine code, one loop with all values in registers. Both have the bits of the calls one by one.
#include <array>
#include <optional>

#include "hone/backend/cpu/install.h"
#include "hone/backend/cpu/isa.h"
#include "hone/backend/cpu/map_code.h"
#include "hone/backend/cpu/map_works.h"
#include "hone/backend/cpu/scratch.h"
#include "hone/backend/cpu/spread.h"
#include "hone/base/parallel.h"
#include "hone/base/settings.h"
#include "hone/ir/graph.h"
#include "hone/ir/region.h"
#include "hone/ops/attrs.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"

namespace hone {
namespace {

constexpr int64_t kBlock = 1024;              // elements of a tile at most
constexpr int64_t kScratchBytes = 48 * 1024;  // of all blocks that a thread holds
constexpr int64_t kWork = 32768;              // calls times elements that are worth a thread

const ir::Graph& body_of(AttrRef attrs) { return ir::graph_of(attrs.as<FusionAttrs>().body[0]); }

math::TileFn tile_of(const ir::Graph& body, const ir::Node& node) {
  const auto type = [&](size_t i) { return static_cast<int>(body.type(body.operands(node)[i]).dtype); };
  if (node.op == &ops::convert) return kernels().convert[type(0)][static_cast<int>(body.type(node.first_result).dtype)];
  return node.op->elementwise >= 0 ? kernels().elementwise[node.op->elementwise][type(node.op == &ops::select ? 1 : 0)]
                                   : nullptr;
}

const char* refuses(const KernelQuery& query) {
  const ir::Graph& body = body_of(query.attrs);
  if (query.outputs.empty()) return "no result";
  for (const ir::Node& node : body.nodes()) {
    if (!tile_of(body, node)) return "a call of the body has no tile";
    if (!(body.type(node.first_result).shape == query.outputs[0].shape)) return "results differ in shape";
  }
  for (const ir::Input& input : body.inputs()) {
    if (!(body.type(input.value).shape == query.outputs[0].shape)) return "an operand has another shape";
  }
  return nullptr;
}

// A place of a tile's elements: an operand, a result, or a block of scratch.
struct Place {
  enum Kind : uint8_t { Operand, Result, Scratch } kind;
  int index;
  size_t item;  // bytes of an element
};

struct Step {
  math::TileFn tile;
  std::array<int, 3> in;  // places
  int operands;
  int out;
  double params[2];
};

struct Program {
  std::vector<Place> places;  // by value of the body
  std::vector<Step> steps;
  std::vector<int> last_read;  // step, by operand
  std::vector<int> written;    // step, by result
  size_t scratch_blocks = 0;
  int64_t block = kBlock;
  int64_t grain = kWork;
  bool wants_code = false;  // whatever settings.jit says
  std::shared_ptr<MapCode> code;
  std::vector<Place> arrays;  // what the code takes: operands, then results
  uint64_t splats = 0;        // bit i: the code reads operand i as one element
  int64_t row = 0;            // code in blocks of rows reads all operands where they lie; 0: some need copies
  mutable std::atomic<bool> has_run{false};
};

// Gives scratch blocks to values that live between steps only. A block is free again after its last reader, which may
// write over it where elements have one size.
void place_values(const ir::Graph& body, Program& program) {
  const ir::Users users(body);
  std::vector<uint32_t> left(body.values());
  for (ir::ValueId v = 0; v < body.values(); ++v) left[v] = static_cast<uint32_t>(users.of(v).size());
  program.places.resize(body.values());
  for (size_t i = 0; i < body.inputs().size(); ++i) {
    const ir::ValueId v = body.inputs()[i].value;
    program.places[v] = {Place::Operand, static_cast<int>(i), size_of(body.type(v).dtype)};
  }
  std::vector<int> free_blocks;
  for (const ir::Node& node : body.nodes()) {
    const ir::ValueId result = node.first_result;
    Place place{Place::Scratch, 0, size_of(body.type(result).dtype)};
    SmallVector<int, 3> free_later;
    for (const ir::ValueId operand : body.operands(node)) {
      const Place& read = program.places[operand];
      if (--left[operand] != 0 || read.kind != Place::Scratch) continue;
      if (read.item == place.item)
        free_blocks.push_back(read.index);
      else
        free_later.push_back(read.index);
    }
    const auto output = std::ranges::find(body.outputs(), result);
    if (output != body.outputs().end()) {
      place.kind = Place::Result, place.index = static_cast<int>(output - body.outputs().begin());
    } else if (free_blocks.empty()) {
      place.index = static_cast<int>(program.scratch_blocks++);
    } else {
      place.index = free_blocks.back();
      free_blocks.pop_back();
    }
    program.places[result] = place;
    free_blocks.insert(free_blocks.end(), free_later.begin(), free_later.end());
  }
}

// What code reads where it lies: an operand that is one element, or runs on, or stays the same, within each row of one
// length.
void find_rows(const KernelQuery& query, Program& program) {
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

std::shared_ptr<const void> prepare(const KernelQuery& query) {
  const ir::Graph& body = body_of(query.attrs);
  auto program = std::make_shared<Program>();
  place_values(body, *program);
  for (const ir::Node& node : body.nodes()) {
    Step step{tile_of(body, node), {}, static_cast<int>(node.operands), static_cast<int>(node.first_result), {}};
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
  }
  for (const ir::ValueId output : body.outputs()) program->written.push_back(static_cast<int>(body.producer(output)));
  size_t strided = 0;
  for (const Tensor& input : query.inputs) strided += input.layout().dense ? 0 : 1;
  const auto blocks = static_cast<int64_t>(program->scratch_blocks + strided);
  if (blocks > 0) program->block = std::clamp<int64_t>(kScratchBytes / (blocks * 8) / 64 * 64, 64, kBlock);
  program->grain = std::max<int64_t>(kWork / static_cast<int64_t>(program->steps.size()), 1024);
  for (const ir::Input& input : body.inputs()) program->arrays.push_back(program->places[input.value]);
  for (const ir::ValueId output : body.outputs()) program->arrays.push_back(program->places[output]);
  find_rows(query, *program);
  program->code = MapCode::of(body, isa_level(), program->splats);
  program->wants_code = query.machine_code;
  if (query.machine_code) program->code->compile();
  return program;
}

// A result may lie where an operand does. An operand that is read after that result is written goes through scratch.
bool overwritten(const KernelCall& call, const Program& program, size_t operand) {
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i].mutable_bytes() == call.inputs[operand].mutable_bytes() &&
        program.last_read[operand] > program.written[i])
      return true;
  }
  return false;
}

// One thread's walk over [begin, end).
class Walk {
 public:
  Walk(const KernelCall& call, const Program& program, const MapCode* code)
      : call_(call),
        program_(program),
        code_(code),
        spreaders_(static_cast<int64_t>(call.inputs.size())),
        block_of_(call.inputs.size(), -1) {
    std::uninitialized_value_construct_n(spreaders_.data(), call.inputs.size());
    size_t blocks = code ? 0 : program.scratch_blocks;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      const bool dense = call.inputs[i].layout().dense;
      if (dense && (code || !overwritten(call, program, i))) continue;  // code reads all before it writes
      if (!dense) spreaders_[static_cast<int64_t>(i)].emplace(call.inputs[i], size_of(call.inputs[i].dtype()));
      if (code && (program.row > 0 || codegen::splat(program.splats, i))) continue;  // read where it lies
      block_of_[i] = static_cast<int>(blocks++);
    }
    scratch_.emplace(static_cast<int64_t>(blocks) * program.block);
    pointers_.resize(code ? program.arrays.size() : program.places.size());
  }

  void run(int64_t begin, int64_t n) {
    if (code_) {
      for (size_t i = 0; i < pointers_.size(); ++i) pointers_[i] = address(program_.arrays[i], begin, n);
      return code_->run(pointers_, n);
    }
    for (size_t v = 0; v < pointers_.size(); ++v) pointers_[v] = address(program_.places[v], begin, n);
    for (const Step& step : program_.steps) {
      math::TileArgs args{{}, pointers_[static_cast<size_t>(step.out)], {step.params[0], step.params[1]}};
      for (int i = 0; i < step.operands; ++i)
        args.in[i] = pointers_[static_cast<size_t>(step.in[static_cast<size_t>(i)])];
      step.tile(args, 0, n);
    }
  }

 private:
  std::byte* block(int index) {
    return static_cast<std::byte*>(static_cast<void*>(scratch_->data() + index * program_.block));
  }
  void* address(const Place& place, int64_t begin, int64_t n) {
    const auto index = static_cast<size_t>(place.index);
    if (place.kind == Place::Scratch) return block(place.index);
    const size_t offset = static_cast<size_t>(begin) * place.item;
    if (place.kind == Place::Result) return call_.outputs[index].mutable_bytes() + offset;
    if (std::optional<Spreader>& spreader = spreaders_[place.index]) {
      return const_cast<std::byte*>(block_of_[index] < 0 ? spreader->address(begin)
                                                         : spreader->block(block(block_of_[index]), begin, n));
    }
    std::byte* const elements = call_.inputs[index].mutable_bytes() + offset;
    if (block_of_[index] < 0) return elements;
    return std::memcpy(block(block_of_[index]), elements, static_cast<size_t>(n) * place.item);
  }

  const KernelCall& call_;
  const Program& program_;
  const MapCode* const code_;  // null: tiles
  static_assert(std::is_trivially_destructible_v<Spreader>);
  Scratch<std::optional<Spreader>> spreaders_;
  SmallVector<int, 32> block_of_;  // scratch of an operand that is copied; -1: none
  SmallVector<void*, 96> pointers_;
  std::optional<Scratch<uint64_t>> scratch_;
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
  const int64_t count = call.outputs[0].size();
  const BlockCuts cuts = code && program.row > 0 ? BlockCuts(program.row) : BlockCuts(call.inputs, program.block);
  parallel_for(count, program.grain, [&](int64_t begin, int64_t end) {
    Walk walk(call, program, code);
    for (int64_t at = begin; at < end;) {
      const int64_t stop = std::min(end, cuts.next(at));
      walk.run(at, stop - at);
      at = stop;
    }
  });
}

}  // namespace

void install_cpu_fusion() {
  add_kernels(ops::fusion, {{.name = "cpu.fusion",
                             .refuses = refuses,
                             .run = run,
                             .prepare = prepare,
                             .works = map_works,
                             .reads_strides = true,
                             .in_place = true}});
}

}  // namespace hone
