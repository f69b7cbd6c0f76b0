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
  bool jit_compile = false;       ///< its first call waits for machine code; without, that is made in the background
  /// Traces for these types only, of all tensor arguments in order; others are an error.
  std::optional<std::vector<Spec>> input_signature{};
  bool reduce_retracing = true;  ///< a second extent of an axis makes it symbolic
  size_t max_traces = 64;        ///< the least recently used goes
  bool run_eagerly = false;      ///< call the function itself each time
  /// Positions of arguments that the call may write results over, as JAX's donate_argnums: each tensor among them
  /// serves a result of its dtype and shape, and its handles must not be used afterwards (an error names the call).
  /// Memory that another tensor sees (a view, borrowed elements) is copied first. Not heeded under a tape or trace.
  std::vector<int> donate_args{};
};

/// All functions run op by op, as written: for a debugger. Also HONE_EAGER=1.
void run_functions_eagerly(bool eagerly);
bool functions_run_eagerly();

namespace function_detail {

/// Traces and executables of one function. Thread-safe.
class Core {
 public:
  explicit Core(FunctionOptions options);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// Adds the results in flat order, and the sizes of containers among them.
  void call(std::span<const Tensor> leaves, std::span<const uint64_t> statics, Body body, const CallSite& site,
            Leaves& results, Statics& structure);
  Lowered lower(std::span<const Spec> specs, std::span<const uint64_t> statics, Body body, const CallSite& site);
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

  // One overload for each number of arguments: messages name the line of the call.
  auto operator()(Location at = Location::current()) const { return call(at); }
  template <class A>
  auto operator()(const A& a, Location at = Location::current()) const {
    return call(at, a);
  }
  template <class A, class B>
  auto operator()(const A& a, const B& b, Location at = Location::current()) const {
    return call(at, a, b);
  }
  template <class A, class B, class C>
  auto operator()(const A& a, const B& b, const C& c, Location at = Location::current()) const {
    return call(at, a, b, c);
  }
  template <class A, class B, class C, class D>
  auto operator()(const A& a, const B& b, const C& c, const D& d, Location at = Location::current()) const {
    return call(at, a, b, c, d);
  }
  template <class A, class B, class C, class D, class E>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, Location at = Location::current()) const {
    return call(at, a, b, c, d, e);
  }
  /// With more arguments, the line of the call is not known.
  template <class... Args>
    requires(sizeof...(Args) > 5)
  auto operator()(const Args&... args) const {
    return call(Location{}, args...);
  }

  /// The graph for these arguments: Specs for tensors (symbols allowed), values for others. Nothing runs; counts as a
  /// trace where there is none yet.
  template <class... Args>
  Lowered lower(const Args&... args) const {
    std::vector<Spec> specs;
    function_detail::Statics statics;
    SmallVector<function_detail::ArgumentEnd, 8> ends;
    const auto add = [&](const auto& arg) {
      add_spec(arg, specs, statics);
      ends.push_back({static_cast<uint32_t>(specs.size()), static_cast<uint32_t>(statics.size())});
    };
    (add(args), ...);
    const auto words = [&] { return std::vector<std::string>{function_detail::argument_text(args)...}; };
    using Result = decltype((*f_)(rebuilt(stand_in(args))...));
    return core_->lower(specs, {statics.data(), statics.size()}, body<Result>(stand_in(args)...),
                        {.ends = {ends.data(), ends.size()}, .arguments = words});
  }

  /// Recordings so far; those that are only made to find host side effects do not count.
  int64_t trace_count() const { return core_->trace_count(); }
  /// For each recording (the last 64), which argument differed from the nearest one before, how, and the line of the
  /// call.
  std::string explain_retraces() const { return core_->explain_retraces(); }
  /// What the function costs: calls, nodes, time of recording, time of a call; says so where its body is cheaper than
  /// its call.
  std::string explain() const { return core_->explain(); }
  /// From now on a new recording is Error kFailedPrecondition, with its reason.
  void expect_no_retrace(bool on = true) const { core_->expect_no_retrace(on); }
  /// Forgets all recordings.
  void clear() const { core_->clear(); }

 private:
  template <class... Args>
  auto call(Location location, const Args&... args) const {
    function_detail::Leaves leaves, results;
    function_detail::Statics statics, structure;
    SmallVector<function_detail::ArgumentEnd, 8> ends;
    const auto add = [&](const auto& arg) {
      function_detail::flatten(arg, leaves, statics);
      ends.push_back({static_cast<uint32_t>(leaves.size()), static_cast<uint32_t>(statics.size())});
    };
    (add(args), ...);
    const auto words = [&] { return std::vector<std::string>{function_detail::argument_text(args)...}; };
    using Result = decltype((*f_)(rebuilt(args)...));
    core_->call({leaves.data(), leaves.size()}, {statics.data(), statics.size()}, body<Result>(args...),
                {location, {ends.data(), ends.size()}, words}, results, structure);
    if constexpr (!std::is_void_v<Result>) {
      size_t at = 0, size_at = 0;
      return function_detail::build_result<std::remove_cvref_t<Result>>(
          {results.data(), results.size()}, {structure.data(), structure.size()}, at, size_at);
    }
  }

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
