#include "hone/compiler/object.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hone/base/error.h"
#include "hone/base/hash.h"
#include "hone/base/settings.h"
#include "hone/compiler/batch_axis.h"
#include "hone/compiler/object_header.h"
#include "hone/compiler/object_tables.h"
#include "hone/compiler/pipeline.h"

namespace hone::compiler {
namespace {

// Clusters by what they compute.
class Clusters {
 public:
  const codegen::MapProgram* add(const MapDescription& cluster) {
    const codegen::MapProgram program = cluster.program(codegen::Level::v2);
    std::string key;
    const auto append = [&](const auto* data, size_t count) {
      key.append(static_cast<const char*>(static_cast<const void*>(data)), count * sizeof *data);
    };
    append(&program.operands, 1);
    append(&program.splats, 1);
    append(program.results, static_cast<size_t>(program.result_count));
    append(&program.step_count, 1);
    append(program.types, static_cast<size_t>(program.operands + program.step_count));
    append(program.steps, static_cast<size_t>(program.step_count));
    return &programs_.try_emplace(std::move(key), program).first->second;
  }

 private:
  std::map<std::string, codegen::MapProgram> programs_;
};

// A program on its way into an object.
class Assembler {
 public:
  Assembler(const ir::Graph& graph, std::span<const Tensor> variables, size_t results)
      : graph_(graph), variables_(variables), results_(results) {}

  // The program for this batch (0: the one that it has) as a table.
  void add(const Executable& executable, int64_t batch) {
    inputs_ = 0;
    ObjectFrame frame;
    place_inputs(frame, executable.graph());
    place_outputs(frame, executable);
    const auto first = static_cast<int64_t>(tables_.rows.size());
    ObjectPlan plan(tables_, executable, frame);
    plan.add_rows();
    // New values, after every result has been read: one may be another's old value.
    for (const auto& [type, from, to] : assigned_) plan.copy(placeholder(type), from, to);
    parts_.push_back({batch, first, static_cast<int64_t>(tables_.rows.size()) - first});
    slots_ = std::max(slots_, tables_.slots);
    if (!tables_.missing.empty()) {
      throw Error(Code::kUnsupported, {.what = "the program cannot become an object: some calls have no loops for it",
                                       .details = {tables_.missing.begin(), tables_.missing.end()},
                                       .fix = "leave them out of the function, or run it by Lowered::bind"});
    }
  }

  ObjectFiles emit(const ObjectOptions& options) {
    ObjectFiles files;
    const std::string& constants = tables_.constants;
    const uint64_t hash = hash_combine(graph_.fingerprint(), hash_of(constants));
    const std::vector<int64_t> example_bytes = bytes_of_examples();
    const std::string weight_header =
        fmt::format("{:<63}\n", fmt::format("HONEWEIGHTS 1 {:016x} {}", hash, constants.size()));
    const bool embed = options.embed_weights || constants.empty();
    if (!embed) files.weights = weight_header + constants;
    Clusters clusters;
    std::vector<codegen::ObjectWork> works;
    for (const ObjectTables::Row& row : tables_.rows) {
      works.push_back({row.work.function, row.work.params.data(), std::ssize(row.work.params),
                       row.work.cluster ? clusters.add(*row.work.cluster) : nullptr, row.memory.data(),
                       static_cast<int32_t>(row.memory.size()), row.work.count, row.work.grain, row.work.scratch});
    }
    const codegen::ObjectProgram program{.name = options.name.c_str(),
                                         .arm64 = options.arm64,
                                         .levels = options.levels,
                                         .works = works.data(),
                                         .work_count = std::ssize(works),
                                         .tables = parts_.data(),
                                         .table_count = std::ssize(parts_),
                                         .example_bytes = graph_.is_static() ? nullptr : example_bytes.data(),
                                         .constants = constants.data(),
                                         .constant_bytes = std::ssize(constants),
                                         .weight_header = embed ? nullptr : weight_header.c_str(),
                                         .initial = initial_.data(),
                                         .initial_count = std::ssize(initial_),
                                         .state_bytes = static_cast<int64_t>(state_bytes_),
                                         .arena_bytes = static_cast<int64_t>(tables_.arena_bytes),
                                         .scratch_bytes = static_cast<int64_t>(tables_.scratch_bytes),
                                         .input_count = inputs_,
                                         .output_count = static_cast<int32_t>(results_),
                                         .slot_count = slots_,
                                         .flush_denormals = settings.flush_denormals,
                                         .entry = options.entry.c_str()};
    files.object = generated(program);
    files.any_batch = !graph_.is_static();
    files.state_bytes = state_bytes_;
    files.header = object_header(graph_, results_, options,
                                 {.hash = hash,
                                  .state_bytes = state_bytes_,
                                  .constant_bytes = constants.size(),
                                  .embedded = embed,
                                  .flush_denormals = settings.flush_denormals});
    return files;
  }

 private:
  // Inputs that the caller gives come first, so that outputs know their slots.
  void place_inputs(ObjectFrame& frame, const ir::Graph& graph) {
    size_t variable = 0;
    for (const ir::Input& input : graph.inputs()) {
      math::ObjectMemory place{};  // of what the graph holds: unread
      if (input.kind == ir::InputKind::Argument) {
        place = {math::kFirstInputSlot + inputs_++, 0};
      } else if (input.kind == ir::InputKind::Variable) {
        const Tensor& value = variables_[variable++];
        place = tables_.constant(value);
        if (input.new_value != ir::kNone) {  // its state
          const auto at = static_cast<int64_t>(state_bytes_);
          initial_.push_back({place.offset, at, static_cast<int64_t>(value.bytes())});
          state_bytes_ += object_aligned(value.bytes());
          place = {math::kStateSlot, at};
        }
      }
      frame.inputs.push_back(place);
    }
  }

  void place_outputs(ObjectFrame& frame, const Executable& executable) {
    const ir::Graph& graph = executable.graph();
    const std::span<const ir::ValueId> outputs = graph.outputs();
    frame.outputs.resize(outputs.size());
    for (size_t i = 0; i < results_; ++i)
      frame.outputs[i] = {math::kFirstInputSlot + inputs_ + static_cast<int32_t>(i), 0};
    tables_.slots = math::kFirstInputSlot + inputs_ + static_cast<int32_t>(results_);
    for (size_t i = 0; i < graph.inputs().size(); ++i) {  // new values that are not written in place
      const ir::Input& input = graph.inputs()[i];
      const uint32_t value = input.new_value;
      if (value == ir::kNone || input.kind != ir::InputKind::Variable) continue;
      if (executable.outputs()[value].kind == OutputPlace::Donated) continue;
      const TensorType& type = graph.type(outputs[value]);
      if (!frame.outputs[value]) {
        frame.outputs[value] = {math::kArenaSlot, static_cast<int64_t>(frame.arena)};
        frame.arena += object_aligned(static_cast<size_t>(type.shape.count()) * size_of(type.dtype));
      }
      assigned_.push_back({type, *frame.outputs[value], frame.inputs[i]});
    }
  }

  // From one example to the next of what the caller gives: 0 where it is one for all.
  std::vector<int64_t> bytes_of_examples() const {
    std::vector<int64_t> bytes;
    const auto add = [&](ir::ValueId value) {
      const TensorType& type = graph_.type(value);
      const int64_t of_one = type.shape.elements().evaluate([](std::string_view) { return int64_t{1}; });
      bytes.push_back(type.shape.is_static() ? 0 : of_one * static_cast<int64_t>(size_of(type.dtype)));
    };
    for (const ir::Input& input : graph_.inputs()) {
      if (input.kind == ir::InputKind::Argument) add(input.value);
    }
    for (size_t i = 0; i < results_; ++i) add(graph_.outputs()[i]);
    return bytes;
  }

  static std::string generated(const codegen::ObjectProgram& program) {
    const codegen::Generator* const generator = codegen::generator();
    if (!generator)
      throw Error(Code::kFailedPrecondition, "objects need the code generator, which this build has not or cannot load",
                  "build with HONE_JIT=ON, or set HONE_JIT_LIBRARY to libhone-jit.so");
    std::string texts[4];  // by codegen::Text
    const codegen::TextSink sink{texts, [](void* to, codegen::Text kind, const char* text, size_t size) {
                                   static_cast<std::string*>(to)[static_cast<int>(kind)].append(text, size);
                                 }};
    if (!generator->compile_object(program, sink))
      throw Error(Code::kUnsupported, fmt::format("no object for '{}': {}", program.name, texts[0]),
                  "see the README for what a build needs");
    return std::move(texts[3]);
  }

  struct Assignment {
    TensorType type;
    math::ObjectMemory from, to;
  };

  const ir::Graph& graph_;
  std::span<const Tensor> variables_;
  size_t results_;
  int32_t inputs_ = 0, slots_ = 0;
  std::vector<codegen::ObjectTable> parts_;
  ObjectTables tables_;
  std::vector<codegen::ObjectInitial> initial_;
  std::vector<Assignment> assigned_;
  size_t state_bytes_ = 0;
};

// Examples that are computed at once, of a batch of any size.
constexpr int64_t kParts[] = {64, 8, 1};

bool is_identifier(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace

ObjectFiles compile_object(const ir::Graph& graph, std::span<const Tensor> variables, size_t results,
                           const ObjectOptions& options) {
  if (!is_identifier(options.name))
    throw Error(Code::kInvalidArgument, fmt::format("'{}' is no name for C functions", options.name),
                "use letters, digits and underscores");
  const PortableScope portable;
  const ir::Graph program = optimize(graph);
  Assembler assembler(program, variables, results);
  if (program.is_static()) {
    assembler.add(*compile(program, {.objects = true}).executable, 0);
    return assembler.emit(options);
  }
  prove_examples_apart(program, batch_of(program));
  for (const int64_t part : kParts) {
    const ir::Graph bound = ir::bind(program, [part](std::string_view) { return part; });
    assembler.add(*compile(bound, {.objects = true}).executable, part);
  }
  return assembler.emit(options);
}

std::vector<std::string> object_obstacles(const ir::Graph& graph, std::span<const Tensor> variables, size_t results) {
  const PortableScope portable;
  try {
    const ir::Graph program = optimize(graph);
    Assembler(program, variables, results).add(*compile(program, {.objects = true}).executable, 0);
    return {};
  } catch (const Error& error) {
    if (error.code() != Code::kUnsupported) throw;
    return error.parts().details.empty() ? std::vector<std::string>{error.parts().what} : error.parts().details;
  }
}

}  // namespace hone::compiler
