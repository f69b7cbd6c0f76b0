// vmap: a function of one example, for many at once.
#pragma once
#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "hone/tensor/tensor.h"

namespace hone {

/// The same value for all examples.
inline constexpr std::nullopt_t kUnmapped = std::nullopt;

/// The axis along which the examples lie: one for all arguments (or results), or a list with an entry for each.
/// Negative axes count from the end.
class VmapAxes {
 public:
  VmapAxes(int axis = 0) : axes_{axis}, list_(false) {}            // NOLINT: an axis is axes
  VmapAxes(std::nullopt_t) : axes_{std::nullopt}, list_(false) {}  // NOLINT
  VmapAxes(std::initializer_list<std::optional<int>> axes) : axes_(axes), list_(true) {}
  VmapAxes(std::vector<std::optional<int>> axes) : axes_(std::move(axes)), list_(true) {}  // NOLINT
  bool is_list() const { return list_; }
  size_t size() const { return axes_.size(); }
  std::optional<int> operator[](size_t i) const { return list_ ? axes_[i] : axes_[0]; }

 private:
  std::vector<std::optional<int>> axes_;
  bool list_;
};

struct VmapOptions {
  VmapAxes in_axes = 0;
  VmapAxes out_axes = 0;
  std::optional<int64_t> axis_size{};  ///< the number of examples; needed only where no argument is mapped
};

namespace vmap_detail {

class Mapping;

/// One call of f under vmap: makes the tensors that f sees, and what the caller gets of those that f returns. vmap is
/// on top of the thread's interpreters from construction to leave().
class Trace {
 public:
  Trace(std::span<const Tensor> arguments, const VmapOptions& options, Location location);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  const Tensor& input(size_t i) const { return inputs_[i]; }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  void leave();
  /// Result `i` of `count`, with the examples along its out axis.
  Tensor output(const Tensor& result, size_t i, size_t count) const;

 private:
  std::shared_ptr<Mapping> mapping_;
  std::vector<Tensor> inputs_;
  VmapAxes out_axes_;
  Location location_;
};

template <class R, class Visit>
void visit_results(R& result, Visit& visit) {
  if constexpr (std::is_same_v<R, Tensor>) {
    visit(result);
  } else if constexpr (requires { std::tuple_size<R>::value; }) {  // pair, tuple, array
    std::apply([&](auto&... each) { (visit_results(each, visit), ...); }, result);
  } else {
    static_assert(
        requires { result.begin() != result.end(); },
        "a function under vmap returns a Tensor, or a pair, tuple, array or vector of Tensors");
    for (auto& each : result) visit_results(each, visit);
  }
}

/// What vmap gives: takes the tensors that f takes, or the vector that it takes.
template <class F>
class Mapped {
 public:
  Mapped(F f, VmapOptions options, Location location)
      : f_(std::move(f)), options_(std::move(options)), location_(location) {}

  template <class... Args>
  auto operator()(const Args&... args) const {
    const std::array<Tensor, sizeof...(args)> given{Tensor(args)...};
    return run(given, [&](const Trace& trace) {
      return [&]<size_t... kAt>(std::index_sequence<kAt...>) {
        return f_(Tensor(trace.input(kAt))...);
      }(std::index_sequence_for<Args...>());
    });
  }
  auto operator()(const std::vector<Tensor>& args) const {
    return run(args, [&](const Trace& trace) { return f_(trace.inputs()); });
  }

 private:
  template <class Call>
  auto run(std::span<const Tensor> given, Call call) const {
    Trace trace(given, options_, location_);
    auto result = call(trace);
    trace.leave();
    size_t count = 0, at = 0;
    auto count_each = [&](Tensor&) { ++count; };
    auto finish = [&](Tensor& each) { each = trace.output(each, at++, count); };
    visit_results(result, count_each);
    visit_results(result, finish);
    return result;
  }

  mutable F f_;  // may have a state of its own, as what grad gives
  VmapOptions options_;
  Location location_;
};

}  // namespace vmap_detail

/// f over examples that lie along an axis of its arguments: f is called once and sees tensors without that axis; the
/// results are those of a loop over the examples, put together along `out_axes`. Matrix products and convolutions may
/// differ from the loop in the last bits, as they may with any batch size; all else is equal bit for bit where an op
/// has a batching rule of its own. Captured tensors and variables are the same for all examples; so are random numbers
/// drawn from a state that is not mapped. Values inside f cannot be read on the host (Error kFailedPrecondition), nor
/// assigned to a variable if they differ between examples. f returns a Tensor, or a pair, tuple, array or vector of
/// Tensors. Composes with itself and with grad in either order:
///
///     auto per_example = vmap(grad(loss), {.in_axes = {kUnmapped, 0, 0}})(weights, x, y);
///
/// Error kInvalidArgument where arguments do not fit in_axes or one another.
template <class F>
auto vmap(F f, VmapOptions options = {}, Location location = Location::current()) {
  return vmap_detail::Mapped<F>(std::move(f), std::move(options), location);
}

}  // namespace hone
