#include "hone/tensor/interpreter.h"

#include <fmt/format.h>

#include <atomic>
#include <mutex>

#include "hone/base/error.h"
#include "hone/tensor/donation.h"

namespace hone {
namespace {

thread_local Interpreter* top = nullptr;
thread_local const LocationScope* scope = nullptr;
constinit std::atomic<Evaluator> evaluator{nullptr};

void evaluate(Call& call) {
  Evaluator serve = evaluator.load(std::memory_order_acquire);
  if (!serve) [[unlikely]] {
    ensure_defaults();
    serve = evaluator.load(std::memory_order_acquire);
  }
  serve(call);
}

void check_inputs(const Call& call) {
  const int n = static_cast<int>(call.inputs.size());
  if (n < call.op.min_inputs || (call.op.max_inputs >= 0 && n > call.op.max_inputs)) {
    throw Error(Code::kInternal, {.what = fmt::format("{} takes {} to {} inputs, got {}", call.op.name,
                                                      call.op.min_inputs, call.op.max_inputs, n),
                                  .location = call.location});
  }
  for (int i = 0; i < n; ++i) {
    if (call.inputs[static_cast<size_t>(i)].defined()) continue;
    throw Error(Code::kInvalidArgument,
                {.what = fmt::format("operand {} of {} is an undefined tensor", i, call.op.name),
                 .location = call.location,
                 .fix = "set the tensor before the call (Tensor() holds nothing)"});
  }
}

}  // namespace

uint64_t Interpreter::identity() const {
  static std::atomic<uint64_t> identities{0};
  if (identity_ == 0) identity_ = identities.fetch_add(1, std::memory_order_relaxed) + 1;
  return identity_;
}

Interpreter::~Interpreter() {
  if (active_) remove();
}

void Interpreter::read_variable(const Variable&, Tensor&) {}
bool Interpreter::assign_variable(const Variable&, const Tensor&) { return false; }
Tensor Interpreter::initial_value(const Tensor& value, Location) { return value; }

Interpreter::HostRead Interpreter::host_read() const {
  return {"a value of a traced function is read on the host",
          "the function runs once to record its ops; their values exist only when the graph runs",
          "branch with cond, loop with while_loop or scan, show it with print, or debug with "
          "run_functions_eagerly(true)"};
}

void Interpreter::push() {
  below_ = top;
  top = this;
  active_ = true;
}

void Interpreter::remove() {
  for (Interpreter** at = &top; *at; at = &(*at)->below_) {
    if (*at == this) {
      *at = below_;
      break;
    }
  }
  active_ = false;
}

void Interpreter::pass_on(Call& call) {
  Interpreter* below = below_;
  if (!below) {
    const InterpreterScope none(nullptr);
    return evaluate(call);
  }
  const InterpreterScope rest(below);
  below->process(call);
}

InterpreterScope::InterpreterScope(Interpreter* entry) : saved_(std::exchange(top, entry)) {}
InterpreterScope::~InterpreterScope() { top = saved_; }

void ensure_defaults() {
  if (evaluator.load(std::memory_order_acquire)) return;
  static std::once_flag once;
  std::call_once(once, install_defaults);
}

void set_evaluator(Evaluator e) { evaluator.store(e, std::memory_order_release); }

void dispatch(Call& call) {
  check_inputs(call);
  call.location = LocationScope::resolve(call.location);
  top ? top->process(call) : evaluate(call);
}

bool has_interpreters() { return top != nullptr; }

namespace {
void read_through(Interpreter* entry, const Variable& variable, Tensor& value) {
  if (!entry) return;
  read_through(entry->below(), variable, value);
  entry->read_variable(variable, value);
}
}  // namespace

void dispatch_read(const Variable& variable, Tensor& value) { read_through(top, variable, value); }

bool dispatch_assign(const Variable& variable, const Tensor& value) {
  for (Interpreter* at = top; at; at = at->below()) {
    if (at->assign_variable(variable, value)) return true;
  }
  return false;
}

namespace {
// The entry of this thread that made the value; null for one that is gone or belongs to another thread.
Interpreter* owner_of(const Tensor& traced) {
  const uint64_t owner = static_cast<const TracedImpl*>(traced.impl())->owner;
  for (Interpreter* at = top; at; at = at->below()) {
    if (at->identity() == owner) return at;
  }
  return nullptr;
}
}  // namespace

Tensor dispatch_initial(const Tensor& value, Location location) {
  Tensor initial = value;
  for (Interpreter* at = top; at; at = at->below()) {
    const InterpreterScope none(nullptr);
    initial = at->initial_value(initial, location);
  }
  if (!initial.concrete()) fail_traced(initial, location);
  return initial;
}

void fail_traced(const Tensor& traced, Location location) {
  if (is_donated(traced)) fail_donated(traced, location);
  ErrorParts parts{.location = LocationScope::resolve(location)};
  const Location made = static_cast<const TracedImpl*>(traced.impl())->made;
  parts.details.push_back(
      fmt::format("value: {}{}", to_string(traced.type()), made.known() ? ", made at " + to_string(made) : ""));
  if (const Interpreter* owner = owner_of(traced)) {
    const Interpreter::HostRead text = owner->host_read();
    parts.what = text.what;
    parts.details.emplace_back(text.why);
    parts.fix = text.fix;
  } else {
    parts.what = "a traced value is used outside its trace";
    parts.details.emplace_back(
        "it was kept from a function that has returned, traced or under vmap, or belongs to another thread");
    parts.fix = "return the value from the function";
    if (!static_cast<const TracedImpl*>(traced.impl())->held) parts.fix += ", or assign it to a Variable inside";
  }
  throw Error(Code::kFailedPrecondition, std::move(parts));
}

Tensor dispatch(const Op& op, AttrRef attrs, std::span<Tensor> inputs, Location location) {
  Tensor out;
  Call call{op, attrs, inputs, {&out, 1}, location};
  dispatch(call);
  return out;
}

LocationScope::LocationScope(Location location, const char* layer)
    : above_(scope), location_(above_ && above_->location_.known() ? above_->location_ : location), layer_(layer) {
  scope = this;
}
LocationScope::~LocationScope() { scope = above_; }
Location LocationScope::resolve(Location own) { return scope && scope->location_.known() ? scope->location_ : own; }

std::string LocationScope::path() {
  std::string path;
  for (const LocationScope* at = scope; at; at = at->above_) {
    if (at->layer_) path = path.empty() ? at->layer_ : std::string(at->layer_) + "/" + path;
  }
  return path;
}

void InferContext::fail(std::string what, std::string detail, std::string fix) const {
  ErrorParts parts{.what = fmt::format("{} in {}", what, op_.name), .location = location_, .fix = std::move(fix)};
  std::string_view names = op_.operands;
  std::string operands;
  for (int i = 0; i < inputs(); ++i) {
    const auto end = names.find(' ');
    const std::string_view one = names.substr(0, end);
    operands +=
        fmt::format("{}{}: {}", i ? "   " : "", one.empty() ? fmt::format("operand {}", i) : one, to_string(in(i)));
    if (end != std::string_view::npos)
      names.remove_prefix(end + 1);
    else if (inputs() > i + 1 && op_.max_inputs >= 0)
      names = {};
  }
  if (!operands.empty()) parts.details.push_back(std::move(operands));
  if (std::string attributes = to_string(attrs_); !attributes.empty()) parts.details.push_back("with " + attributes);
  if (!detail.empty()) parts.details.push_back(std::move(detail));
  if (std::string path = LocationScope::path(); !path.empty()) parts.details.push_back("in layer " + path);
  throw Error(Code::kInvalidArgument, std::move(parts));
}

void InferContext::check_dtype() const {
  if (op_.dtypes & bit(dtype(0))) return;
  std::string wanted;
  for (int i = 0; i < kDTypes; ++i) {
    if (op_.dtypes & bit(static_cast<DType>(i)))
      wanted += (wanted.empty() ? "" : " ") + std::string(hone::name(static_cast<DType>(i)));
  }
  fail("dtype mismatch", fmt::format("expected: one of {}, got: {}", wanted, hone::name(dtype(0))),
       "convert it first: cast(x, dtype)");
}

}  // namespace hone
