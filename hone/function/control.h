// Control flow on values of tensors: branches and loops. Where the values are there (eagerly), these are C++'s own,
// step by step, and tapes record what runs. In a traced function and under vmap the branches and bodies are recorded
// once each; what they read from outside, Variables included, becomes an operand, and Variables that they assign are
// assigned when the branch or loop is over.
//
// Arguments, carries, xs and results are tensors, or pairs, tuples, arrays and vectors of them. A carry keeps its
// dtypes and shapes: Error kInvalidArgument otherwise, as for branches that return different types. A recorded branch
// or loop that is differentiated keeps what its gradient reads; what it prints is printed once. Its gradient has the
// bits of the one that a tape takes eagerly, but where carries share a value.
#pragma once
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "hone/function/structure.h"

namespace hone {

struct ScanOptions {
  bool reverse = false;             ///< from the last row to the first; ys lie at the rows of their xs
  std::optional<int64_t> length{};  ///< rows, where xs holds no tensor: scan(f, init, std::tuple<>(), {.length = 10})
  int64_t unroll = 1;               ///< steps in a recorded body: the same bits, fewer and larger bodies
  /// Of a recorded scan that is differentiated: keep the carries before each k-th step only and compute the steps
  /// between again, one group of k at a time. 0: keep what the gradient of each step reads, as for a body with effects.
  int64_t checkpoint = 0;
};

/// Where a loop begins or ends: a number of the host, or a scalar integer tensor.
struct Bound {
  template <class T>
    requires std::is_integral_v<T>
  Bound(T value) : number(static_cast<int64_t>(value)) {}  // NOLINT: numbers are bounds
  Bound(const Tensor& value) : tensor(value) {}            // NOLINT: tensors are bounds
  int64_t number = 0;
  Tensor tensor{};
};

namespace control_detail {

using function_detail::Body;
using function_detail::Leaves;
using function_detail::Statics;

struct Results {
  std::vector<Tensor> tensors;
  Statics structure;
};
/// A body that returns carries first: `carried` is how many tensors those were in its last call.
struct Step {
  Body body;
  const size_t& carried;
};

Results choose(const char* name, const Tensor& selector, std::span<const Body> branches,
               std::span<const Tensor> operands, Location location);
std::vector<Tensor> loop(Body condition, Step step, std::span<const Tensor> carry, Location location);
/// Leaves of the body: the counter, then the carry.
std::vector<Tensor> count(const Bound& begin, const Bound& end, Step step, std::span<const Tensor> carry,
                          Location location);
Results scan(const char* name, Step step, std::span<const Tensor> carry, std::span<const Tensor> xs,
             const ScanOptions& options, Location location);
/// The selector as a bool, or clamped to [0, branches).
Tensor condition_of(const Tensor& condition, Location location);
Tensor index_of(const Tensor& index, size_t branches, Location location);

template <class T>
std::vector<Tensor> leaves_of(const T& value, Statics& statics) {
  Leaves leaves;
  function_detail::flatten(value, leaves, statics);
  return {leaves.begin(), leaves.end()};
}
template <class T>
std::vector<Tensor> leaves_of(const T& value) {
  Statics statics;
  return leaves_of(value, statics);
}
template <class T>
auto like(const T& value, std::span<const Tensor> leaves, size_t& at) {
  return function_detail::rebuild(value, leaves, at);
}
template <class T>
using Rebuilt = decltype(function_detail::rebuild(std::declval<const T&>(), {}, std::declval<size_t&>()));

template <class Result>
Result built(std::vector<Tensor>& tensors, std::span<const uint64_t> structure) {
  size_t at = 0, size_at = 0;
  return function_detail::build_result<Result>(tensors, structure, at, size_at);
}
/// The value with other tensors: those of the list, in order.
template <class T>
Rebuilt<T> rebuilt(const T& value, std::span<const Tensor> leaves) {
  size_t at = 0;
  return like(value, leaves, at);
}

template <class F, class... Args>
auto branch(F& f, const Args&... args) {
  return [&f, &args...]([[maybe_unused]] std::span<const Tensor> leaves, std::vector<Tensor>& results,
                        Statics& structure) {
    [[maybe_unused]] size_t at = 0;
    std::tuple<Rebuilt<Args>...> inputs{like(args, leaves, at)...};
    if constexpr (std::is_void_v<decltype(std::apply(f, std::move(inputs)))>) {
      std::apply(f, std::move(inputs));
    } else {
      auto result = std::apply(f, std::move(inputs));
      function_detail::flatten_result(result, results, structure);
    }
  };
}

template <class Result>
Result finished(Results results) {
  if constexpr (!std::is_void_v<Result>)
    return built<std::remove_cvref_t<Result>>(results.tensors, {results.structure.data(), results.structure.size()});
}

template <class... Args>
std::vector<Tensor> operands_of(const Args&... args) {
  std::vector<Tensor> operands;
  [[maybe_unused]] const auto add = [&](const auto& arg) {
    for (Tensor& leaf : leaves_of(arg)) operands.push_back(std::move(leaf));
  };
  (add(args), ...);
  return operands;
}

}  // namespace control_detail

/// A bool scalar (or a number: true unless 0) that keeps the caller's line.
struct Condition {
  Condition(const Tensor& value, Location l = Location::current()) : tensor(value), location(l) {}  // NOLINT: implicit
  Condition(bool value, Location l = Location::current()) : tensor(value), location(l) {}           // NOLINT: implicit
  Tensor tensor;
  Location location;
};

/// f(args...) where the condition is true, else g(args...). Both return the same C++ type.
template <class F, class G, class... Args>
auto cond(const Condition& condition, F f, G g, const Args&... args) {
  using Result = std::invoke_result_t<F&, control_detail::Rebuilt<Args>...>;
  static_assert(std::is_same_v<std::remove_cvref_t<Result>,
                               std::remove_cvref_t<std::invoke_result_t<G&, control_detail::Rebuilt<Args>...>>>,
                "the branches of cond return the same C++ type");
  auto on_true = control_detail::branch(f, args...);
  auto on_false = control_detail::branch(g, args...);
  const control_detail::Body branches[] = {on_true, on_false};
  return control_detail::finished<Result>(
      control_detail::choose("cond", control_detail::condition_of(condition.tensor, condition.location), branches,
                             control_detail::operands_of(args...), condition.location));
}

/// An integer scalar that keeps the caller's line.
struct BranchIndex {
  BranchIndex(const Tensor& value, Location l = Location::current())
      : tensor(value), location(l) {}  // NOLINT: implicit
  template <class T>
    requires std::is_integral_v<T>
  BranchIndex(T value, Location l = Location::current())  // NOLINT: implicit
      : tensor(static_cast<int32_t>(value)), location(l) {}
  Tensor tensor;
  Location location;
};

/// branches[index](args...); an index below 0 is the first, one beyond the last the last. What is returned is named
/// where it is not a Tensor: switch_case<std::pair<Tensor, Tensor>>(index, {f, g}, x).
template <class Result = Tensor, class... Args>
Result switch_case(
    const BranchIndex& index,
    const std::vector<std::type_identity_t<std::function<Result(control_detail::Rebuilt<Args>...)>>>& branches,
    const Args&... args) {
  std::vector<decltype(control_detail::branch(branches[0], args...))> bodies;
  for (const auto& each : branches) bodies.push_back(control_detail::branch(each, args...));
  std::vector<control_detail::Body> all;
  for (auto& body : bodies) all.push_back(body);
  return control_detail::finished<Result>(
      control_detail::choose("switch_case", control_detail::index_of(index.tensor, all.size(), index.location), all,
                             control_detail::operands_of(args...), index.location));
}

/// carry = init; while (condition(carry)) carry = body(carry). Recorded loops have no gradient: see scan, fori_loop.
/// Several carries, of any dtypes, are a pair, tuple, array or vector; the functions take it whole:
///   auto [value, count] = while_loop([](const auto& c) { return c.first < 1000.0F; },
///                                    [](const auto& c) { return std::pair{c.first * 1.5F, c.second + 1}; },
///                                    std::pair{Tensor(1.0F), Tensor(int64_t{0})});
template <class C, class F, class Carry>
auto while_loop(C condition, F body, const Carry& init, Location location = Location::current()) {
  const std::vector<Tensor> carry = control_detail::leaves_of(init);
  size_t carried = 0;
  auto decide = control_detail::branch(condition, init);
  auto once = control_detail::branch(body, init);
  auto step = [&](std::span<const Tensor> leaves, std::vector<Tensor>& results, function_detail::Statics& structure) {
    once(leaves, results, structure);
    carried = results.size();
  };
  return control_detail::rebuilt(init, control_detail::loop(decide, {step, carried}, carry, location));
}

/// carry = init; for i in [begin, end): carry = body(i, carry). i is an i32 scalar. With bounds that are numbers of the
/// host, or tensors whose values are there, the loop has a gradient.
template <class F, class Carry>
auto fori_loop(const Bound& begin, const Bound& end, F body, const Carry& init,
               Location location = Location::current()) {
  const std::vector<Tensor> carry = control_detail::leaves_of(init);
  size_t carried = 0;
  auto step = [&](std::span<const Tensor> leaves, std::vector<Tensor>& results, function_detail::Statics& structure) {
    auto next = body(Tensor(leaves[0]), control_detail::rebuilt(init, leaves.subspan(1)));
    function_detail::flatten_result(next, results, structure);
    carried = results.size();
  };
  return control_detail::rebuilt(init, control_detail::count(begin, end, {step, carried}, carry, location));
}

/// {carry, y} = f(carry, x) for each row x of xs along axis 0 (of all tensors in xs): gives {last carry, ys stacked
/// along a new axis 0}. No rows give init and empty ys.
template <class F, class Carry, class Xs>
auto scan(F f, const Carry& init, const Xs& xs, const ScanOptions& options = {},
          Location location = Location::current()) {
  using Kept = control_detail::Rebuilt<Carry>;
  using Row = control_detail::Rebuilt<Xs>;
  using Pair = std::remove_cvref_t<std::invoke_result_t<F&, Kept, Row>>;
  static_assert(requires(Pair& p) { p.first, p.second; }, "the body of scan returns std::pair{carry, y}");
  using Y = std::remove_cvref_t<decltype(std::declval<Pair&>().second)>;
  const std::vector<Tensor> carry = control_detail::leaves_of(init);
  size_t carried = 0;
  auto step = [&](std::span<const Tensor> leaves, std::vector<Tensor>& results, function_detail::Statics& structure) {
    size_t at = 0;
    Kept kept = control_detail::like(init, leaves, at);
    Row row = control_detail::like(xs, leaves, at);
    Pair result = f(std::move(kept), std::move(row));
    function_detail::Statics of_carry;
    function_detail::flatten_result(result.first, results, of_carry);
    carried = results.size();
    function_detail::flatten_result(result.second, results, structure);
  };
  control_detail::Results results =
      control_detail::scan("scan", {step, carried}, carry, control_detail::leaves_of(xs), options, location);
  Kept last = control_detail::rebuilt(init, results.tensors);
  results.tensors.erase(results.tensors.begin(), results.tensors.begin() + static_cast<ptrdiff_t>(carry.size()));
  return std::pair<Kept, Y>(std::move(last), control_detail::finished<Y>(std::move(results)));
}

/// f of each row of xs along axis 0, stacked: one after the other (vmap computes all at once).
template <class F, class Xs>
auto map(F f, const Xs& xs, const ScanOptions& options = {}, Location location = Location::current()) {
  using Y = std::remove_cvref_t<std::invoke_result_t<F&, control_detail::Rebuilt<Xs>>>;
  const size_t carried = 0;
  auto step = control_detail::branch(f, xs);
  return control_detail::finished<Y>(
      control_detail::scan("map", {step, carried}, {}, control_detail::leaves_of(xs), options, location));
}

}  // namespace hone
