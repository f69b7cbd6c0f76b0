// Structures of tensors: pairs, tuples, arrays and vectors, taken apart into a flat list and put together again.
#pragma once
#include <array>
#include <bit>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "hone/base/function_ref.h"
#include "hone/base/small_vector.h"
#include "hone/tensor/tensor.h"

namespace hone::function_detail {

using Leaves = SmallVector<Tensor, 8>;
/// What tells calls apart beside the types of tensors: values of static arguments, sizes of containers.
using Statics = SmallVector<uint64_t, 8>;
/// Calls the user's function on tensors in place of the leaves; writes its results, flattened, and their structure.
using Body = FunctionRef<void(std::span<const Tensor> leaves, std::vector<Tensor>& results, Statics& structure)>;

void hash_text(Statics& statics, std::string_view text);

/// Where the tensors and the words of an argument end among all.
struct ArgumentEnd {
  uint32_t leaves = 0, statics = 0;
};
/// A call as its messages tell of it: the user's line, and the arguments.
struct CallSite {
  Location location{};
  std::span<const ArgumentEnd> ends;
  FunctionRef<std::vector<std::string>()> arguments;  ///< in words
};

template <class T>
inline constexpr bool kIsTensor = std::is_convertible_v<const T&, Tensor> && !std::is_arithmetic_v<T>;
template <class T>
inline constexpr bool kIsTuple = false;
template <class... T>
inline constexpr bool kIsTuple<std::tuple<T...>> = true;
template <class A, class B>
inline constexpr bool kIsTuple<std::pair<A, B>> = true;
template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;
template <class T, size_t N>
inline constexpr bool kIsList<std::array<T, N>> = true;

std::string text_of(const Tensor& tensor);
std::string text_of(float number);
std::string text_of(double number);
std::string text_of(int64_t number);
std::string text_of(std::string_view string);
std::string text_of(std::vector<std::string> parts);

/// An argument in words: the type of a tensor, the value of a number or string.
template <class T>
std::string argument_text(const T& value) {
  if constexpr (kIsTensor<T>) {
    return text_of(Tensor(value));
  } else if constexpr (std::is_same_v<T, TensorType>) {
    return to_string(value);
  } else if constexpr (kIsTuple<T>) {
    return std::apply([](const auto&... each) { return text_of(std::vector{argument_text(each)...}); }, value);
  } else if constexpr (kIsList<T>) {
    std::vector<std::string> parts;
    for (const auto& each : value) parts.push_back(argument_text(each));
    return text_of(std::move(parts));
  } else if constexpr (std::is_floating_point_v<T>) {
    return text_of(value);
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return text_of(static_cast<int64_t>(value));
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return text_of(std::string_view(value));
  } else {
    return "?";
  }
}

/// Takes an argument apart.
template <class T>
void flatten(const T& value, Leaves& leaves, Statics& statics) {
  if constexpr (kIsTensor<T>) {
    leaves.push_back(Tensor(value));
  } else if constexpr (kIsTuple<T>) {
    std::apply([&](const auto&... each) { (flatten(each, leaves, statics), ...); }, value);
  } else if constexpr (kIsList<T>) {
    statics.push_back(value.size());
    for (const auto& each : value) flatten(each, leaves, statics);
  } else if constexpr (std::is_floating_point_v<T>) {
    statics.push_back(std::bit_cast<uint64_t>(static_cast<double>(value)));
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    statics.push_back(static_cast<uint64_t>(value));
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    hash_text(statics, value);
  } else {
    static_assert(
        kIsTensor<T>,
        "arguments of a function() are tensors, numbers, enums, strings, and pairs, tuples, arrays and vectors "
        "of them; capture anything else");
  }
}

/// The same argument with the next tensors in place of its own.
template <class T>
auto rebuild(const T& value, std::span<const Tensor> leaves, size_t& at) {
  if constexpr (kIsTensor<T>) {
    return leaves[at++];
  } else if constexpr (kIsTuple<T>) {
    return std::apply(
        [&](const auto&... each) {
          // Braces evaluate in order.
          if constexpr (requires { value.first; })
            return std::pair{rebuild(each, leaves, at)...};
          else
            return std::tuple{rebuild(each, leaves, at)...};
        },
        value);
  } else if constexpr (kIsList<T>) {
    T copy = value;
    for (auto& each : copy) each = rebuild(each, leaves, at);
    return copy;
  } else {
    return value;
  }
}

template <class T>
void flatten_result(T& value, std::vector<Tensor>& results, Statics& structure) {
  if constexpr (kIsTensor<T>) {
    results.push_back(Tensor(value));
  } else if constexpr (kIsTuple<T>) {
    std::apply([&](auto&... each) { (flatten_result(each, results, structure), ...); }, value);
  } else if constexpr (kIsList<T>) {
    structure.push_back(value.size());
    for (auto& each : value) flatten_result(each, results, structure);
  } else {
    static_assert(kIsTensor<T>,
                  "a function() returns tensors, and pairs, tuples, arrays and vectors of them: a number would be that "
                  "of the recording");
  }
}

template <class T>
T build_result(std::span<Tensor> results, std::span<const uint64_t> structure, size_t& at, size_t& size_at) {
  if constexpr (kIsTensor<T>) {
    return std::move(results[at++]);
  } else if constexpr (kIsTuple<T>) {
    return [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
      return T{build_result<std::tuple_element_t<kIndex, T>>(results, structure, at, size_at)...};
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (requires(T list) { list.resize(size_t{1}); }) {
    T list;
    const size_t n = structure[size_at++];
    for (size_t i = 0; i < n; ++i)
      list.push_back(build_result<typename T::value_type>(results, structure, at, size_at));
    return list;
  } else {
    ++size_at;
    T list;
    for (auto& each : list) each = build_result<typename T::value_type>(results, structure, at, size_at);
    return list;
  }
}

}  // namespace hone::function_detail
