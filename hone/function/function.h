// function(f): a C++ function of tensors, recorded once for each kind of arguments and run as an optimised graph.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "hone/function/lowered.h"
#include "hone/function/structure.h"
#include "hone/function/variable.h"

namespace hone {

/// The type of an argument; extents may be symbols: Spec{f32, {Dim("batch"), 28, 28, 1}}.
using Spec = TensorType;

struct FunctionOptions {
  std::string name = "function";  ///< in messages and dumps
  bool jit_compile = false;       ///< compile to machine code (runs the graph executor until that is there)
  /// Traces for these types only, of all tensor arguments in order; others are an error.
  std::optional<std::vector<Spec>> input_signature{};
  bool reduce_retracing = true;  ///< a second extent of an axis makes it symbolic
  size_t max_traces = 64;        ///< the least recently used goes
  bool run_eagerly = false;      ///< call the function itself each time
};

/// All functions run op by op, as written: for a debugger. Also HONE_EAGER=1.
void run_functions_eagerly(bool eagerly);
bool functions_run_eagerly();

namespace function_detail {

/// Results of a call, in flat order, and the sizes of containers among them.
struct Results {
  Leaves tensors;
  Statics structure;
};

/// Traces and executables of one function. Thread-safe.
class Core {
 public:
  explicit Core(FunctionOptions options);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  void call(std::span<const Tensor> leaves, std::span<const uint64_t> statics, Body body, Results& results);
  Lowered lower(std::span<const Spec> specs, std::span<const uint64_t> statics, Body body);
  int64_t trace_count() const;
  std::string explain_retraces() const;
  std::string explain() const;
  void expect_no_retrace(bool on);
  void clear();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace function_detail

/// A function that is recorded when it is called with new kinds of arguments, and runs as a graph from then on, with
/// the bits of the function itself. Copies share traces. Arguments are tensors, numbers, enums, strings and containers
/// of them; a number is part of the kind. Concrete tensors that `f` captures become inputs by their identity: a handle
/// that is assigned afterwards is not seen, a Variable is. Thread-safe, if `f` is; calls that assign variables run one
/// after the other. Under a tape or another trace, and with run_functions_eagerly, `f` itself is called.
template <class F>
class Function {
 public:
  Function(F f, FunctionOptions options)
      : f_(std::make_shared<F>(std::move(f))), core_(std::make_shared<function_detail::Core>(std::move(options))) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    function_detail::Leaves leaves;
    function_detail::Statics statics;
    (function_detail::flatten(args, leaves, statics), ...);
    using Result = decltype((*f_)(rebuilt(args)...));
    function_detail::Results results;
    core_->call({leaves.data(), leaves.size()}, {statics.data(), statics.size()}, body<Result>(args...), results);
    if constexpr (!std::is_void_v<Result>) {
      size_t at = 0, size_at = 0;
      return function_detail::build_result<std::remove_cvref_t<Result>>(
          {results.tensors.data(), results.tensors.size()}, {results.structure.data(), results.structure.size()}, at,
          size_at);
    }
  }

  /// The graph for these arguments: Specs for tensors (symbols allowed), values for others. Nothing runs; counts as a
  /// trace where there is none yet.
  template <class... Args>
  Lowered lower(const Args&... args) const {
    std::vector<Spec> specs;
    function_detail::Statics statics;
    (add_spec(args, specs, statics), ...);
    using Result = decltype((*f_)(rebuilt(stand_in(args))...));
    return core_->lower(specs, {statics.data(), statics.size()}, body<Result>(stand_in(args)...));
  }

  /// Recordings so far; those that are only made to find host side effects do not count.
  int64_t trace_count() const { return core_->trace_count(); }
  /// For each recording after the first, which argument differed from the nearest one before, and how.
  std::string explain_retraces() const { return core_->explain_retraces(); }
  /// What the function costs: calls, nodes, time of recording, time of a call; says so where its body is cheaper than
  /// its call.
  std::string explain() const { return core_->explain(); }
  /// From now on a new recording is Error kFailedPrecondition, with its reason.
  void expect_no_retrace(bool on = true) const { core_->expect_no_retrace(on); }
  /// Forgets all recordings.
  void clear() const { core_->clear(); }

 private:
  static Tensor stand_in(const Spec&) { return {}; }
  template <class T>
    requires(!std::is_same_v<T, Spec>)
  static T stand_in(const T& value) {
    return value;
  }
  template <class T>
  static void add_spec(const T& value, std::vector<Spec>& specs, function_detail::Statics& statics) {
    function_detail::Leaves leaves;
    if constexpr (std::is_same_v<T, Spec>)
      specs.push_back(value);
    else
      function_detail::flatten(value, leaves, statics);
    for (const Tensor& leaf : leaves) specs.push_back(leaf.type());
  }
  template <class T>
  static auto rebuilt(const T& value) {
    size_t at = 0;
    return function_detail::rebuild(value, {}, at);
  }

  template <class Result, class... Args>
  auto body(const Args&... args) const {
    return [f = f_.get(), &args...](std::span<const Tensor> leaves, std::vector<Tensor>& results,
                                    function_detail::Statics& structure) {
      size_t at = 0;
      std::tuple inputs{function_detail::rebuild(args, leaves, at)...};
      if constexpr (std::is_void_v<Result>) {
        std::apply(*f, std::move(inputs));
      } else {
        auto result = std::apply(*f, std::move(inputs));
        function_detail::flatten_result(result, results, structure);
      }
    };
  }

  std::shared_ptr<F> f_;
  std::shared_ptr<function_detail::Core> core_;
};

/// Makes a Function of `f`.
template <class F>
Function<F> function(F f, FunctionOptions options = {}) {
  return Function<F>(std::move(f), std::move(options));
}

}  // namespace hone
