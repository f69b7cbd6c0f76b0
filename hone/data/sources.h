// Where datasets come from.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>

#include "hone/data/dataset.h"

namespace hone::data {

namespace detail {
NodePtr make_slices(std::vector<Tensor> tensors, Location location);
NodePtr make_range(int64_t start, int64_t stop, int64_t step);

template <class>
using TensorFor = Tensor;
template <class R>
struct Optional {
  static constexpr bool kIs = false;
  using Type = int64_t;
};
template <class T>
struct Optional<std::optional<T>> {
  static constexpr bool kIs = true;
  using Type = T;
};
template <bool Ok, class F>
struct Generated : Optional<void> {};
template <class F>
struct Generated<true, F> : Optional<std::remove_cvref_t<std::invoke_result_t<F&>>> {};

/// An argument that remembers the caller's line.
struct SlicesArgument {
  Tensor tensor;
  Location location;
  template <class T>
    requires std::is_convertible_v<const T&, Tensor>
  SlicesArgument(const T& value, Location l = Location::current()) : tensor(value), location(l) {}  // NOLINT
};
}  // namespace detail

/// Rows of the tensors side by side: element i is (tensors[i], ...), views without copy. Error kInvalidArgument for
/// scalars and for different numbers of rows.
inline Dataset<Tensor> from_tensor_slices(const detail::SlicesArgument& a) {
  return Dataset<Tensor>(detail::Handle{.node = detail::make_slices({a.tensor}, a.location), .class_names = {}});
}
template <class... Tensors>
auto from_tensor_slices(const detail::SlicesArgument& a, const Tensors&... more) {
  static_assert((std::is_convertible_v<const Tensors&, Tensor> && ...),
                "data::from_tensor_slices: all arguments must be Tensors");
  return Dataset<Tensor, detail::TensorFor<Tensors>...>(
      detail::Handle{.node = detail::make_slices({a.tensor, Tensor(more)...}, a.location), .class_names = {}});
}

/// start, start + step, ... before stop. Error kInvalidArgument for step 0.
inline Dataset<int64_t> range(int64_t start, int64_t stop, int64_t step = 1) {
  return Dataset<int64_t>(detail::Handle{.node = detail::make_range(start, stop, step), .class_names = {}});
}
inline Dataset<int64_t> range(int64_t stop) { return range(0, stop); }

/// Elements that `function` returns, as std::optional of a value or a tuple, until one is empty. Each pass begins with
/// a copy of `function` as it was given, so a counter that it captures by value starts anew; what it captures by
/// reference does not.
template <class F>
auto generator(F function) {
  constexpr bool kTakes = std::is_invocable_v<F&> && std::is_copy_constructible_v<F>;
  using Result = detail::Generated<kTakes, F>;
  static_assert(kTakes && Result::kIs,
                "data::generator: the function must be copyable, take no arguments and return std::optional<T>; an "
                "empty one ends the data");
  std::function<std::function<bool(Element&)>()> start;
  if constexpr (kTakes && Result::kIs) {
    start = [function = std::move(function)]() -> std::function<bool(Element&)> {
      return [copy = function](Element& element) mutable {
        auto result = std::invoke(copy);
        if (!result) return false;
        element.clear();
        detail::put(element, std::move(*result));
        return true;
      };
    };
  }
  return typename detail::DatasetOf<typename Result::Type>::Type(
      detail::Handle{.node = detail::make_generator(std::move(start)), .class_names = {}});
}

/// The arrays of two IDX files (hone/formats/idx.h) side by side, loaded at once; images of rank 3 get a channel axis:
/// elements u8[height, width, 1] and u8[]. Errors name the files: kNotFound, kDataLoss, kInvalidArgument for different
/// numbers.
Dataset<Tensor, Tensor> idx(const std::string& images, const std::string& labels);

struct Splits {
  Dataset<Tensor, Tensor> train, test;
};
/// Fashion-MNIST (Xiao, Rasul, Vollgraf 2017) from the files of Debian's package dataset-fashion-mnist: 60000 and 10000
/// elements of u8[28,28,1] and a label u8[], with the names of the ten classes. Error kNotFound says how to get them.
Splits fashion_mnist(const std::string& folder = "/usr/share/datasets/fashion-mnist");
/// The names of its ten classes in the order of their labels.
std::vector<std::string> fashion_mnist_classes();

}  // namespace hone::data
