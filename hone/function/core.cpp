// What function() keeps: traces by kind of arguments, executables by shapes.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <list>
#include <mutex>
#include <unordered_map>

#include "hone/base/error.h"
#include "hone/base/settings.h"
#include "hone/compiler/pipeline.h"
#include "hone/function/function.h"
#include "hone/function/lowered_state.h"
#include "hone/function/signature.h"
#include "hone/function/trace.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

bool eager_by_environment() {
  const char* text = std::getenv("HONE_EAGER");
  return text && *text && std::string_view(text) != "0";
}
std::atomic<bool>& eager_flag() {
  static std::atomic<bool> flag{eager_by_environment()};
  return flag;
}

constexpr int kMaxDepth = 200;  // calls of functions inside each other
thread_local int depth = 0;

class DepthScope {
 public:
  explicit DepthScope(const std::string& name) {
    if (++depth <= kMaxDepth) return;
    --depth;
    throw Error(Code::kFailedPrecondition,
                {.what = fmt::format("'{}' calls itself without end", name),
                 .details = {fmt::format("{} calls of functions stand inside each other", kMaxDepth)},
                 .fix = "a recorded function cannot decide by a tensor's value when to stop: use while_loop or scan"});
  }
  ~DepthScope() { --depth; }
  DepthScope(const DepthScope&) = delete;
  DepthScope& operator=(const DepthScope&) = delete;
};

Tensor owned(const Tensor& x) {
  Tensor copy = Tensor::empty(x.type());
  x.copy_to(copy.mutable_bytes());
  return copy;
}

}  // namespace

void run_functions_eagerly(bool eagerly) { eager_flag() = eagerly; }
bool functions_run_eagerly() { return eager_flag().load(std::memory_order_relaxed); }

namespace function_detail {

void hash_text(Statics& statics, std::string_view text) {
  statics.push_back(text.size());
  for (size_t at = 0; at < text.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
    statics.push_back(word);
  }
}

namespace {

// A trace bound to numbers, ready to run.
struct Concrete {
  std::shared_ptr<const Trace> trace;
  compiler::Compiled compiled;
  SmallVector<uint32_t, 8> argument_of_input;  // leaf, or index of the variable
  bool writes = false;                         // assigns variables
};

}  // namespace

struct Core::State {
  struct Recorded {
    Signature signature;  // symbolic where it was generalised
    std::shared_ptr<const Trace> trace;
    std::string reason;  // why it was made
    double milliseconds = 0;
  };
  struct Entry {
    Signature::Key key;
    std::shared_ptr<const Concrete> concrete;
  };

  FunctionOptions options;
  mutable std::mutex mutex;  // guards all below
  std::mutex run_mutex;      // calls that assign variables, one after the other
  std::vector<Recorded> traces;
  std::list<Entry> entries;  // by time of use, the latest first
  std::unordered_multimap<uint64_t, std::list<Entry>::iterator> index;
  int64_t count = 0;
  int64_t calls = 0;
  bool may_make_variables = true, no_retrace = false, symbolic_failed = false;
  std::vector<std::string> reasons;

  std::shared_ptr<const Concrete> find(std::span<const Tensor> leaves, std::span<const uint64_t> statics, Body body);
  std::shared_ptr<const Concrete> make(const Signature& signature, Body body);
  const Recorded* matching(const Signature& signature, Bindings& bindings) const;
  const Recorded& retrace(const Signature& signature, Body body);
  Recorded record_as(const Signature& signature, Body body, std::string reason);
  void remember(const Signature::Key& key, std::shared_ptr<const Concrete> concrete);
  void check_signature(const Signature& signature) const;
  std::string reason_for(const Signature& signature) const;
};

std::shared_ptr<const Concrete> Core::State::find(std::span<const Tensor> leaves, std::span<const uint64_t> statics,
                                                  Body body) {
  const Signature::Key key = Signature::key_of(leaves, statics);
  const std::lock_guard lock(mutex);
  ++calls;
  if (!entries.empty() && entries.front().key == key) return entries.front().concrete;
  const auto [first, last] = index.equal_range(key.hash());
  for (auto at = first; at != last; ++at) {
    if (!(at->second->key == key)) continue;
    entries.splice(entries.begin(), entries, at->second);
    return entries.front().concrete;
  }
  auto concrete = make(Signature(leaves, statics), body);
  remember(key, concrete);
  return concrete;
}

void Core::State::remember(const Signature::Key& key, std::shared_ptr<const Concrete> concrete) {
  entries.push_front({key, std::move(concrete)});
  index.emplace(key.hash(), entries.begin());
  if (entries.size() <= std::max<size_t>(options.max_traces, 1)) return;
  const auto [first, last] = index.equal_range(entries.back().key.hash());
  for (auto at = first; at != last; ++at) {
    if (at->second == std::prev(entries.end())) {
      index.erase(at);
      break;
    }
  }
  entries.pop_back();
  // A trace without an executable goes with it, the symbolic ones last.
  if (traces.size() > std::max<size_t>(options.max_traces, 1)) traces.erase(traces.begin());
}

std::shared_ptr<const Concrete> Core::State::make(const Signature& signature, Body body) {
  check_signature(signature);
  Bindings bindings;
  const Recorded* recorded = matching(signature, bindings);
  if (!recorded) {
    recorded = &retrace(signature, body);
    bindings.clear();
    recorded->signature.match(signature, bindings);
  }
  auto concrete = std::make_shared<Concrete>();
  concrete->trace = recorded->trace;
  const ir::Graph& graph = recorded->trace->graph;
  const auto lookup = [&](std::string_view name) { return bindings.value(name); };
  concrete->compiled = compiler::compile(bindings.empty() ? graph : ir::bind(graph, lookup));
  uint32_t argument = 0, variable = 0;
  for (const ir::Input& input : concrete->compiled.executable->graph().inputs()) {
    while (input.kind == ir::InputKind::Argument && !signature.leaf(argument).defined) ++argument;
    concrete->argument_of_input.push_back(input.kind == ir::InputKind::Argument   ? argument++
                                          : input.kind == ir::InputKind::Variable ? variable++
                                                                                  : 0);
    concrete->writes = concrete->writes || input.new_value != ir::kNone;
  }
  return concrete;
}

const Core::State::Recorded* Core::State::matching(const Signature& signature, Bindings& bindings) const {
  for (const Recorded& recorded : traces) {
    bindings.clear();
    if (recorded.signature.match(signature, bindings)) return &recorded;
  }
  return nullptr;
}

void Core::State::check_signature(const Signature& signature) const {
  if (!options.input_signature) return;
  Bindings bindings;
  if (Signature(*options.input_signature, signature.statics()).match(signature, bindings)) return;
  std::string expected, got;
  for (const Spec& spec : *options.input_signature) expected += (expected.empty() ? "" : ", ") + to_string(spec);
  for (size_t i = 0; i < signature.leaves(); ++i) got += (i ? ", " : "") + to_string(signature.leaf(i).type);
  throw Error(Code::kInvalidArgument, {.what = fmt::format("'{}' does not take these arguments", options.name),
                                       .details = {"expected: " + expected, "got: " + got},
                                       .fix = "convert or reshape them, or widen input_signature"});
}

std::string Core::State::reason_for(const Signature& signature) const {
  if (traces.empty()) return "first call";
  const Recorded* nearest = nullptr;
  std::string best;
  size_t fewest = SIZE_MAX;
  for (const Recorded& recorded : traces) {
    size_t differences = 0;
    std::string text = signature.difference(recorded.signature, differences);
    if (differences < fewest) fewest = differences, best = std::move(text), nearest = &recorded;
  }
  return nearest ? best : "first call";
}

const Core::State::Recorded& Core::State::retrace(const Signature& signature, Body body) {
  std::string reason = reason_for(signature);
  if (no_retrace) {
    throw Error(
        Code::kFailedPrecondition,
        {.what = fmt::format("'{}' would be recorded again, which expect_no_retrace forbids", options.name),
         .details = {reason},
         .fix = "call it with the types of before, or give Spec{..., {Dim(\"name\"), ...}} as input_signature"});
  }
  std::optional<Signature> general;
  if (options.input_signature) {
    general = Signature(*options.input_signature, signature.statics());
  } else if (options.reduce_retracing && !symbolic_failed) {
    for (auto at = traces.rbegin(); at != traces.rend() && !general; ++at)
      general = signature.generalise(at->signature);
  }
  if (general && general->is_symbolic()) {
    try {
      traces.push_back(record_as(*general, body, reason + "; recorded with symbolic extents: " + general->symbols()));
      return traces.back();
    } catch (const Error& error) {
      if (options.input_signature) throw;
      symbolic_failed = true;
      reason += fmt::format("; symbolic extents do not serve: {}", error.parts().what);
    }
  }
  traces.push_back(record_as(signature, body, std::move(reason)));
  return traces.back();
}

Core::State::Recorded Core::State::record_as(const Signature& signature, Body body, std::string reason) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<TensorType> types;
  std::vector<char> flags;
  for (size_t i = 0; i < signature.leaves(); ++i) {
    types.push_back(signature.leaf(i).type);
    flags.push_back(signature.leaf(i).defined);
  }
  TraceRequest request{
      options.name, types, {reinterpret_cast<const bool*>(flags.data()), flags.size()}, may_make_variables};
  Trace trace = record(request, body);
  if (settings.trace_twice) {
    request.may_make_variables = false;
    const Trace again = record(request, body);
    bool differ = false;
    const Location where = first_difference(trace.graph, again.graph, differ);
    if (differ) {
      throw Error(
          Code::kFailedPrecondition,
          {.what = fmt::format("'{}' does not do the same each time it is recorded", options.name),
           .location = where,
           .details = {"the host changes something here: a counter, a clock, a random number of its own"},
           .fix = "pass what changes as a tensor or keep it in a Variable; settings.trace_twice = false switches "
                  "this check off"});
    }
  }
  may_make_variables = false;
  trace.graph = compiler::optimize(trace.graph);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  ++count;
  reasons.push_back(reason);
  return {signature, std::make_shared<const Trace>(std::move(trace)), std::move(reason), spent.count()};
}

namespace {

void execute(const Concrete& concrete, std::span<const Tensor> leaves, Results& results) {
  const compiler::Executable& executable = *concrete.compiled.executable;
  const Trace& trace = *concrete.trace;
  const std::span<const ir::Input> wanted = executable.graph().inputs();
  const std::span<const ir::ValueId> made = executable.graph().outputs();
  SmallVector<Tensor, 32> inputs(wanted.size()), outputs(made.size());
  const auto put_back = [&] {
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].new_value != ir::kNone && inputs[i].defined())
        trace.variables[concrete.argument_of_input[i]].assign(inputs[i]);
    }
  };
  try {
    for (size_t i = 0; i < wanted.size(); ++i) {
      const uint32_t from = concrete.argument_of_input[i];
      if (wanted[i].kind == ir::InputKind::Argument) {
        inputs[i] = leaves[from].dense();
      } else if (wanted[i].kind == ir::InputKind::Variable) {
        const Variable& variable = trace.variables[from];
        inputs[i] = wanted[i].new_value == ir::kNone ? variable.value() : variable.take();
        if (wanted[i].new_value != ir::kNone &&
            executable.outputs()[wanted[i].new_value].kind == compiler::OutputPlace::Donated && !inputs[i].exclusive())
          inputs[i] = owned(inputs[i]);
      }
    }
    for (size_t i = 0; i < made.size(); ++i) {
      if (executable.outputs()[i].kind != compiler::OutputPlace::Donated)
        outputs[i] = Tensor::empty(executable.graph().type(made[i]));
    }
    executable.run({inputs.data(), inputs.size()}, {outputs.data(), outputs.size()});
  } catch (...) {
    put_back();
    throw;
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    const uint32_t output = wanted[i].new_value;
    if (output == ir::kNone) continue;
    // Written memory is another value: it gets an identity of its own.
    const Tensor value = outputs[output].defined() ? outputs[output] : inputs[i].alias(inputs[i].type());
    inputs[i] = Tensor();
    if (output < trace.results) outputs[output] = value;
    trace.variables[concrete.argument_of_input[i]].assign(value);
  }
  for (size_t i = 0; i < trace.results; ++i) results.tensors.push_back(std::move(outputs[i]));
  results.structure = trace.structure;
}

}  // namespace

Core::Core(FunctionOptions options) : state_(std::make_unique<State>()) { state_->options = std::move(options); }
Core::~Core() = default;

void Core::call(std::span<const Tensor> leaves, std::span<const uint64_t> statics, Body body, Results& results) {
  State& s = *state_;
  if (has_interpreters() || functions_run_eagerly() || s.options.run_eagerly || settings.reference_kernels ||
      settings.check_numerics) {
    const DepthScope scope(s.options.name);
    std::vector<Tensor> flat;
    body(leaves, flat, results.structure);
    for (Tensor& each : flat) results.tensors.push_back(std::move(each));
    return;
  }
  const std::shared_ptr<const Concrete> concrete = s.find(leaves, statics, body);
  if (!concrete->writes) return execute(*concrete, leaves, results);
  const std::lock_guard lock(s.run_mutex);
  execute(*concrete, leaves, results);
}

Lowered Core::lower(std::span<const Spec> specs, std::span<const uint64_t> statics, Body body) {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  const Signature signature(specs, statics);
  auto lowered = std::make_shared<Lowered::State>();
  Bindings bindings;
  const State::Recorded* recorded = nullptr;
  for (const State::Recorded& each : s.traces) {
    if (each.signature == signature) recorded = &each;
  }
  if (!recorded && !signature.is_symbolic()) recorded = s.matching(signature, bindings);
  if (!recorded) {
    s.traces.push_back(s.record_as(signature, body, s.reason_for(signature)));
    recorded = &s.traces.back();
  }
  lowered->trace = recorded->trace;
  if (!signature.is_symbolic()) {
    bindings.clear();
    recorded->signature.match(signature, bindings);
    const auto lookup = [&](std::string_view name) { return bindings.value(name); };
    lowered->compiled =
        compiler::compile(bindings.empty() ? recorded->trace->graph : ir::bind(recorded->trace->graph, lookup));
  }
  return Lowered(lowered);
}

int64_t Core::trace_count() const {
  const std::lock_guard lock(state_->mutex);
  return state_->count;
}

std::string Core::explain_retraces() const {
  const std::lock_guard lock(state_->mutex);
  std::string text;
  for (size_t i = 0; i < state_->reasons.size(); ++i) text += fmt::format("trace {}: {}\n", i + 1, state_->reasons[i]);
  return text;
}

std::string Core::explain() const {
  const std::lock_guard lock(state_->mutex);
  std::string text = fmt::format("{}: {} calls, {} traces, {} plans kept\n", state_->options.name, state_->calls,
                                 state_->count, state_->entries.size());
  for (const State::Recorded& recorded : state_->traces) {
    const ir::Graph& graph = recorded.trace->graph;
    text += fmt::format("  {}: {} calls of ops, recorded in {:.2f} ms\n", recorded.signature.text(),
                        graph.nodes().size(), recorded.milliseconds);
    double elements = 0;
    for (const ir::Node& node : graph.nodes()) {
      const Shape& shape = graph.type(node.first_result).shape;
      elements += shape.is_static() ? static_cast<double>(shape.count()) : 1e9;
    }
    constexpr double kCheap = 512;  // elements in all: less than a microsecond of work
    if (graph.nodes().size() <= 2 && elements <= kCheap)
      text += "    its body is cheaper than its call: call the ops directly, or put more into the function\n";
  }
  return text;
}

void Core::expect_no_retrace(bool on) {
  const std::lock_guard lock(state_->mutex);
  state_->no_retrace = on;
}

void Core::clear() {
  const std::lock_guard lock(state_->mutex);
  state_->index.clear();
  state_->entries.clear();
  state_->traces.clear();
  state_->reasons.clear();
}

}  // namespace function_detail
}  // namespace hone
