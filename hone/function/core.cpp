// What function() keeps: traces by kind of arguments, executables by shapes.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "hone/base/error.h"
#include "hone/base/settings.h"
#include "hone/function/core_state.h"
#include "hone/function/lowered_state.h"
#include "hone/tensor/donation.h"
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
  DepthScope(const std::string& name, Location location) {
    if (++depth <= kMaxDepth) return;
    --depth;
    throw Error(Code::kFailedPrecondition,
                {.what = fmt::format("'{}' calls itself without end", name),
                 .location = location,
                 .details = {fmt::format("{} calls of functions stand inside each other", kMaxDepth)},
                 .fix = "a recorded function cannot decide by a tensor's value when to stop: use while_loop or scan"});
  }
  ~DepthScope() { --depth; }
  DepthScope(const DepthScope&) = delete;
  DepthScope& operator=(const DepthScope&) = delete;
};

// The error with the line of the call that led to it: the innermost calls, and the outermost.
[[noreturn]] void throw_through(const Error& error, const std::string& name, Location location) {
  ErrorParts parts = error.parts();
  const bool here = parts.location.line == location.line && std::string_view(parts.location.file) == location.file;
  if (!location.known() || here) throw;
  constexpr std::string_view kMark = "in '", kMore = "in calls of functions between";
  constexpr ptrdiff_t kShown = 6;
  if (std::ranges::count_if(parts.details, [&](const std::string& d) { return d.starts_with(kMark); }) >= kShown) {
    const bool more = parts.details[parts.details.size() - 2].starts_with(kMore);
    if (!more) parts.details.insert(parts.details.end() - 1, std::string(kMore));
    parts.details.pop_back();
  }
  parts.details.push_back(fmt::format("{}{}', called at {}", kMark, name, to_string(location)));
  throw Error(error.code(), std::move(parts));
}

}  // namespace

void run_functions_eagerly(bool eagerly) { eager_flag() = eagerly; }
bool functions_run_eagerly() { return eager_flag().load(std::memory_order_relaxed); }

namespace function_detail {

std::shared_ptr<const Concrete> Core::State::find(std::span<const Tensor> leaves, std::span<const uint64_t> statics,
                                                  Body body, const CallSite& site) {
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
  auto concrete = make(Signature(leaves, statics), body, site);
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

std::shared_ptr<const Concrete> Core::State::make(const Signature& signature, Body body, const CallSite& site) {
  check_signature(signature, site.location);
  Bindings bindings;
  const Recorded* recorded = matching(signature, bindings);
  if (!recorded) {
    recorded = &retrace(signature, body, site);
    bindings.clear();
    recorded->signature.match(signature, bindings);
  }
  auto concrete = std::make_shared<Concrete>();
  concrete->trace = recorded->trace;
  const ir::Graph& graph = recorded->trace->graph;
  const auto lookup = [&](std::string_view name) { return bindings.value(name); };
  concrete->compiled =
      compiler::compile(bindings.empty() ? graph : ir::bind(graph, lookup), {.machine_code = options.jit_compile});
  uint32_t argument = 0, variable = 0;
  for (const ir::Input& input : concrete->compiled.executable->graph().inputs()) {
    while (input.kind == ir::InputKind::Argument && !signature.leaf(argument).defined) ++argument;
    concrete->argument_of_input.push_back(input.kind == ir::InputKind::Argument   ? argument++
                                          : input.kind == ir::InputKind::Variable ? variable++
                                                                                  : 0);
    concrete->writes = concrete->writes || (input.kind == ir::InputKind::Variable && input.new_value != ir::kNone);
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

Core::Core(FunctionOptions options) : state_(std::make_unique<State>()) { state_->options = std::move(options); }
Core::~Core() = default;

// Nothing may be given away and read by one call.
void Core::State::check_donated(std::span<const Tensor> leaves, const CallSite& site) const {
  const SmallVector<char, 8> donated = donated_leaves(site);
  for (size_t i = 0; i < leaves.size(); ++i) {
    for (size_t j = 0; donated[i] && j < leaves.size(); ++j) {
      if (i == j || !leaves[i].defined() || !leaves[j].defined() || leaves[i].impl() != leaves[j].impl()) continue;
      const std::vector<std::string> names = leaf_names(site.ends);
      throw Error(Code::kInvalidArgument,
                  {.what = fmt::format("'{}' is given one tensor as {} and as {}, which it donates", options.name,
                                       names[j], names[i]),
                   .location = site.location,
                   .fix = "pass identity(x) as the donated one: it is copied, and x stays"});
    }
  }
}

// The function as written.
void Core::State::run_body(std::span<const Tensor> leaves, Body body, const CallSite& site, Leaves& results,
                           Statics& structure) {
  const DepthScope scope(options.name, site.location);
  std::vector<Tensor> flat;
  body(leaves, flat, structure);
  if (!options.donate_args.empty() && !has_interpreters()) {  // used up, as by the graph
    const SmallVector<char, 8> donated = donated_leaves(site);
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!donated[i] || !leaves[i].defined() || is_donated(leaves[i])) continue;
      const Tensor kept = take_memory(leaves[i], site.location);
      for (Tensor& each : flat) {
        if (each.defined() && each.impl() == leaves[i].impl()) each = kept;
      }
    }
  }
  for (Tensor& each : flat) results.push_back(std::move(each));
}

void Core::State::call(std::span<const Tensor> leaves, std::span<const uint64_t> statics, Body body,
                       const CallSite& site, Leaves& results, Statics& structure) {
  if (has_interpreters() || functions_run_eagerly() || options.run_eagerly || settings.reference_kernels ||
      settings.check_numerics)
    return run_body(leaves, body, site, results, structure);
  const std::shared_ptr<const Concrete> concrete = find(leaves, statics, body, site);
  if (!options.donate_args.empty()) check_donated(leaves, site);
  if (!concrete->writes) return execute(*concrete, leaves, site.location, results, structure);
  const std::lock_guard lock(run_mutex);
  execute(*concrete, leaves, site.location, results, structure);
}

void Core::call(std::span<const Tensor> leaves, std::span<const uint64_t> statics, Body body, const CallSite& site,
                Leaves& results, Statics& structure) {
  try {
    state_->call(leaves, statics, body, site, results, structure);
  } catch (const Error& error) {
    throw_through(error, state_->options.name, site.location);
  }
}

Lowered Core::lower(std::span<const Spec> specs, std::span<const uint64_t> statics, Body body, const CallSite& site) {
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
    s.traces.push_back(s.record_as(signature, body, site, s.reason_for(signature, site)));
    recorded = &s.traces.back();
  }
  lowered->trace = recorded->trace;
  if (!signature.is_symbolic()) {
    bindings.clear();
    recorded->signature.match(signature, bindings);
    const auto lookup = [&](std::string_view name) { return bindings.value(name); };
    lowered->compiled =
        compiler::compile(bindings.empty() ? recorded->trace->graph : ir::bind(recorded->trace->graph, lookup),
                          {.machine_code = s.options.jit_compile});
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
  size_t number = static_cast<size_t>(state_->recorded_reasons) - state_->reasons.size();
  for (const std::string& reason : state_->reasons) text += fmt::format("trace {}: {}\n", ++number, reason);
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
    for (const State::Entry& entry : state_->entries) {
      if (entry.concrete->trace != recorded.trace) continue;
      text += describe_donation(*recorded.trace, *entry.concrete->compiled.executable);
      break;
    }
    double elements = 0;
    for (const ir::Node& node : graph.nodes()) {
      for (uint32_t i = 0; i < node.results; ++i) {
        const Shape& shape = graph.type(node.first_result + i).shape;
        elements += shape.is_static() ? static_cast<double>(shape.count()) : 1e9;
      }
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
  state_->recorded_reasons = 0;
}

}  // namespace function_detail
}  // namespace hone
