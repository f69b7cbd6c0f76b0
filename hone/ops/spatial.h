// Options of ops with a window over spatial axes: sizes and padding as users write them.
#pragma once
#include <concepts>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "hone/tensor/shape.h"

namespace hone {

/// One number for all spatial axes, or one an axis: `2`, `{2, 1}`.
class Sizes {
 public:
  template <std::integral T>
  Sizes(T all) : values_{static_cast<int64_t>(all)} {}  // NOLINT: a number is a size
  Sizes(std::initializer_list<int64_t> each) : values_(each) {}
  Sizes(const Ints& each) : values_(each) {}  // NOLINT
  /// One an axis. Error kInvalidArgument if they are not 1 or `axes`, or below 1; `what` names the option.
  Ints expand(int axes, const char* what) const;

 private:
  Ints values_;
};

/// "valid": none. "same" (TensorFlow's): result = ceil(input / stride), an odd rest goes to the end. Or pairs {before,
/// after}, one an axis.
class Padding {
 public:
  Padding(const char* name) : Padding(std::string_view(name)) {}  // NOLINT: a name is a padding
  Padding(std::string_view name);                                 // NOLINT: Error kInvalidArgument for other names
  Padding(std::initializer_list<std::pair<int64_t, int64_t>> each);
  bool same() const { return kind_ == Kind::Same; }
  /// Amounts before and after each axis, for inputs of these extents and windows of these sizes (dilation counted).
  void resolve(std::span<const Dim> input, const Ints& window, const Ints& strides, Ints& low, Ints& high) const;

 private:
  enum class Kind : uint8_t { Valid, Same, Explicit } kind_;
  Ints low_, high_;
};

}  // namespace hone
