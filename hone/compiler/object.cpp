#include "hone/compiler/object.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "hone/base/error.h"
#include "hone/base/hash.h"
#include "hone/base/settings.h"
#include "hone/compiler/object_header.h"
#include "hone/compiler/pipeline.h"
#include "hone/compiler/works.h"
#include "hone/math/object.h"

namespace hone::compiler {
namespace {

constexpr size_t kAlign = math::kObjectAlign;

size_t aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// Objects compute as Portable does, whatever the process is set to.
class PortableScope {
 public:
  PortableScope() : before_(settings.reproducible) { settings.reproducible = Reproducible::Portable; }
  ~PortableScope() { settings.reproducible = before_; }
  PortableScope(const PortableScope&) = delete;
  PortableScope& operator=(const PortableScope&) = delete;

 private:
  Reproducible before_;
};

// A plan on its way into tables.
class Assembler {
 public:
  Assembler(const Executable& executable, std::span<const Tensor> variables, size_t results)
      : plan_(executable.plan()), outputs_(executable.outputs()), results_(results) {
    place_storages(variables);
    for (const Step& step : plan_.steps) add(step);
    finish_outputs();
    scratch_bytes_ = aligned(scratch_bytes_);
    if (!missing_.empty()) {
      Error error(Code::kUnsupported, {.what = "the program cannot become an object: some calls have no loops for it",
                                       .details = {missing_.begin(), missing_.end()},
                                       .fix = "leave them out of the function, or run it by Lowered::bind"});
      throw error;
    }
  }

  ObjectFiles emit(const ObjectOptions& options) {
    ObjectFiles files;
    const uint64_t hash = hash_combine(plan_.graph.fingerprint(), hash_of(constants_));
    const std::string weight_header =
        fmt::format("{:<63}\n", fmt::format("HONEWEIGHTS 1 {:016x} {}", hash, constants_.size()));
    const bool embed = options.embed_weights || constants_.empty();
    if (!embed) files.weights = weight_header + constants_;
    std::vector<codegen::ObjectWork> works;
    std::vector<codegen::MapProgram> clusters(works_.size());
    for (size_t i = 0; i < works_.size(); ++i) {
      const Item& item = works_[i];
      if (item.work.cluster) clusters[i] = item.work.cluster->program(codegen::Level::v2);
      works.push_back({item.work.function, item.work.params.data(), std::ssize(item.work.params),
                       item.work.cluster ? &clusters[i] : nullptr, item.memory.data(),
                       static_cast<int32_t>(item.memory.size()), item.work.count, item.work.grain, item.work.scratch});
    }
    const codegen::ObjectProgram program{.name = options.name.c_str(),
                                         .arm64 = options.arm64,
                                         .levels = options.levels,
                                         .works = works.data(),
                                         .work_count = std::ssize(works),
                                         .constants = constants_.data(),
                                         .constant_bytes = std::ssize(constants_),
                                         .weight_header = embed ? nullptr : weight_header.c_str(),
                                         .initial = initial_.data(),
                                         .initial_count = std::ssize(initial_),
                                         .state_bytes = static_cast<int64_t>(state_bytes_),
                                         .arena_bytes = static_cast<int64_t>(arena_bytes_),
                                         .scratch_bytes = static_cast<int64_t>(scratch_bytes_),
                                         .input_count = inputs_,
                                         .output_count = static_cast<int32_t>(results_),
                                         .flush_denormals = settings.flush_denormals,
                                         .entry = options.entry.c_str()};
    const codegen::Generator* const generator = codegen::generator();
    if (!generator)
      throw Error(Code::kFailedPrecondition, "objects need the code generator, which this build has not or cannot load",
                  "build with HONE_JIT=ON, or set HONE_JIT_LIBRARY to libhone-jit.so");
    std::string texts[4];  // by codegen::Text
    const codegen::TextSink sink{texts, [](void* to, codegen::Text kind, const char* text, size_t size) {
                                   static_cast<std::string*>(to)[static_cast<int>(kind)].append(text, size);
                                 }};
    if (!generator->compile_object(program, sink))
      throw Error(Code::kUnsupported, fmt::format("no object for '{}': {}", options.name, texts[0]),
                  "see the README for what a build needs");
    files.object = std::move(texts[3]);
    files.header = object_header(plan_.graph, results_, options,
                                 {.hash = hash,
                                  .state_bytes = state_bytes_,
                                  .constant_bytes = constants_.size(),
                                  .embedded = embed,
                                  .flush_denormals = settings.flush_denormals});
    return files;
  }

 private:
  struct Item {
    Work work;
    std::vector<math::ObjectMemory> memory;
  };

  math::ObjectMemory constant(const Tensor& value) {
    const size_t at = aligned(constants_.size()), bytes = value.bytes();
    constants_.resize(aligned(at + bytes));
    value.copy_to(static_cast<std::byte*>(static_cast<void*>(constants_.data() + at)));
    return {math::kConstantSlot, static_cast<int64_t>(at)};
  }

  int32_t output_slot(size_t i) const { return math::kFirstInputSlot + inputs_ + static_cast<int32_t>(i); }

  // Inputs that the caller gives come first, so that outputs know their slots.
  void place_storages(std::span<const Tensor> variables) {
    const std::span<const ir::Input> inputs = plan_.graph.inputs();
    std::vector<math::ObjectMemory> of_input;
    size_t variable = 0;
    for (const ir::Input& input : inputs) {
      const Tensor value = input.kind == ir::InputKind::Variable ? variables[variable++] : input.tensor;
      if (input.kind == ir::InputKind::Argument) {
        of_input.push_back({math::kFirstInputSlot + inputs_++, 0});
      } else if (input.kind == ir::InputKind::Variable && input.new_value != ir::kNone) {
        const math::ObjectMemory initial = constant(value);
        const auto at = static_cast<int64_t>(state_bytes_);
        initial_.push_back({initial.offset, at, static_cast<int64_t>(value.bytes())});
        state_bytes_ += aligned(value.bytes());
        of_input.push_back({math::kStateSlot, at});
      } else {
        of_input.push_back(constant(value));
      }
    }
    arena_bytes_ = aligned(plan_.arena_bytes);
    for (const Storage& storage : plan_.storages) {
      switch (storage.kind) {
        case Storage::Arena:
          storages_.push_back({math::kArenaSlot, static_cast<int64_t>(storage.offset)});
          break;
        case Storage::Input:
          storages_.push_back(of_input[storage.index]);
          break;
        case Storage::Output:
          if (storage.index < results_) {
            storages_.push_back({output_slot(storage.index), 0});
          } else {  // a new value that is not written in place
            storages_.push_back({math::kArenaSlot, static_cast<int64_t>(arena_bytes_)});
            arena_bytes_ += aligned(storage.bytes);
          }
          break;
        case Storage::Constant:
          storages_.push_back(constant_storage(storage));
          break;
        case Storage::Held:
          storages_.push_back({});  // its step is missing
          break;
      }
    }
    temporaries_at_ = arena_bytes_;
  }

  // A constant of the plan: places count from the beginning of its buffer.
  math::ObjectMemory constant_storage(const Storage& storage) {
    const Buffer& buffer = *storage.tensor.impl()->buffer;
    const size_t at = aligned(constants_.size());
    constants_.resize(aligned(at + buffer.bytes()));
    std::memcpy(constants_.data() + at, buffer.data(), buffer.bytes());
    return {math::kConstantSlot, static_cast<int64_t>(at)};
  }

  math::ObjectMemory memory_of(const Place& place) const {
    math::ObjectMemory memory = storages_[place.storage];
    memory.offset += static_cast<int64_t>(place.offset);
    return memory;
  }

  static Tensor typed(const TensorType& type, const Layout& layout) {
    const Tensor dense = placeholder(type);
    return layout.dense ? dense : dense.alias(type, layout.strides);
  }

  void add(const Step& step) {
    const ir::Node& node = plan_.graph.nodes()[step.node];
    if (step.kind == Step::Pack) {
      const ir::ValueId operand = plan_.graph.operands(node)[step.operand];
      const TensorType& type = plan_.graph.type(operand);
      return copy(type, plan_.places[operand], storages_[step.storage]);
    }
    if (step.kind == Step::Host) return missing(node, "calls the host");
    if (!step.kernel->works) return missing(node, step.kernel->name);
    SmallVector<Tensor, 4> inputs;
    SmallVector<TensorType, 4> outputs;
    std::vector<math::ObjectMemory> of_input, of_output;
    for (const ir::ValueId operand : plan_.graph.operands(node)) {
      inputs.push_back(typed(plan_.graph.type(operand), plan_.places[operand].layout));
      of_input.push_back(memory_of(plan_.places[operand]));
    }
    for (const auto& [operand, storage] : step.packed) {
      inputs[operand] = placeholder(inputs[operand].type());
      of_input[operand] = storages_[storage];
    }
    for (uint32_t i = 0; i < node.results; ++i) {
      const ir::ValueId result = node.first_result + i;
      outputs.push_back(plan_.graph.type(result));
      of_output.push_back(plan_.places[result].storage == ir::kNone ? unread(plan_.graph.type(result))
                                                                    : memory_of(plan_.places[result]));
    }
    try {
      append(
          step.kernel->works({*node.op, node.attrs, {inputs.data(), inputs.size()}, {outputs.data(), outputs.size()}}),
          of_input, of_output);
    } catch (const Error& error) {
      if (error.code() != Code::kUnsupported) throw;
      missing(node, error.what());
    }
  }

  // A result that nobody reads has no place in the plan.
  math::ObjectMemory unread(const TensorType& type) {
    return {math::kArenaSlot, temporary(static_cast<size_t>(type.shape.count()) * size_of(type.dtype))};
  }
  int64_t temporary(size_t bytes) {
    const auto at = static_cast<int64_t>(temporaries_used_ + temporaries_at_);
    temporaries_used_ += aligned(bytes);
    arena_bytes_ = std::max(arena_bytes_, temporaries_at_ + temporaries_used_);
    return at;
  }

  void append(Works works, const std::vector<math::ObjectMemory>& inputs,
              const std::vector<math::ObjectMemory>& outputs) {
    std::vector<int64_t> temporaries;
    for (const int64_t bytes : works.temporaries) temporaries.push_back(temporary(static_cast<size_t>(bytes)));
    temporaries_used_ = 0;
    for (Work& work : works.works) {
      Item item{std::move(work), {}};
      for (const WorkMemory& m : item.work.memory) {
        const auto index = static_cast<size_t>(m.index);
        math::ObjectMemory memory = m.kind == WorkMemory::Input ? inputs[index]
                                    : m.kind == WorkMemory::Output
                                        ? outputs[index]
                                        : math::ObjectMemory{math::kArenaSlot, temporaries[index]};
        memory.offset += m.offset;
        item.memory.push_back(memory);
      }
      scratch_bytes_ = std::max(scratch_bytes_, static_cast<size_t>(item.work.scratch));
      works_.push_back(std::move(item));
    }
  }

  // Dense, from wherever it lies.
  void copy(const TensorType& type, const Place& from, math::ObjectMemory to) {
    append(copy_works(typed(type, from.layout)), {memory_of(from)}, {to});
  }

  void finish_outputs() {
    const std::span<const ir::ValueId> outputs = plan_.graph.outputs();
    for (size_t i = 0; i < results_; ++i) {
      if (outputs_[i].kind != OutputPlace::Written)
        copy(plan_.graph.type(outputs[i]), plan_.places[outputs[i]], {output_slot(i), 0});
    }
    // New values, after every result has been read: one may be another's old value.
    std::vector<std::pair<math::ObjectMemory, size_t>> later;
    const std::span<const ir::Input> inputs = plan_.graph.inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const uint32_t value = inputs[i].new_value;
      if (value == ir::kNone || outputs_[value].kind == OutputPlace::Donated) continue;
      const TensorType& type = plan_.graph.type(outputs[value]);
      const math::ObjectMemory copied{math::kArenaSlot, static_cast<int64_t>(arena_bytes_)};
      arena_bytes_ += aligned(static_cast<size_t>(type.shape.count()) * size_of(type.dtype));
      temporaries_at_ = arena_bytes_;
      copy(type, plan_.places[outputs[value]], copied);
      later.emplace_back(copied, i);
    }
    size_t state = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].new_value == ir::kNone) continue;
      const auto at = std::ranges::find(later, i, &std::pair<math::ObjectMemory, size_t>::second);
      const codegen::ObjectInitial& place = initial_[state++];
      if (at == later.end()) continue;
      append(copy_works(placeholder(plan_.graph.type(inputs[i].value))), {at->first},
             {{math::kStateSlot, place.state}});
    }
  }

  void missing(const ir::Node& node, std::string_view why) {
    const Location location = plan_.graph.origin(node).location();
    missing_.insert(fmt::format("{} ({}){}", node.op->name, why,
                                location.known() ? fmt::format("  {}:{}", location.file, location.line) : ""));
  }

  const Plan& plan_;
  std::span<const OutputPlace> outputs_;
  size_t results_;
  int32_t inputs_ = 0;
  std::string constants_;
  std::vector<codegen::ObjectInitial> initial_;
  std::vector<math::ObjectMemory> storages_;
  std::vector<Item> works_;
  std::set<std::string> missing_;
  size_t state_bytes_ = 0, arena_bytes_ = 0, scratch_bytes_ = 0, temporaries_at_ = 0, temporaries_used_ = 0;
};

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
  const Compiled compiled = compile(optimize(graph), {.objects = true});
  return Assembler(*compiled.executable, variables, results).emit(options);
}

std::vector<std::string> object_obstacles(const ir::Graph& graph, std::span<const Tensor> variables, size_t results) {
  const PortableScope portable;
  try {
    const Compiled compiled = compile(optimize(graph), {.objects = true});
    const Assembler assembled(*compiled.executable, variables, results);
    return {};
  } catch (const Error& error) {
    if (error.code() != Code::kUnsupported) throw;
    return error.parts().details.empty() ? std::vector<std::string>{error.parts().what} : error.parts().details;
  }
}

}  // namespace hone::compiler
