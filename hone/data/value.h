// What elements of a dataset consist of: values of any copyable type, erased.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hone/base/small_vector.h"
#include "hone/tensor/tensor.h"

namespace hone::data {

/// What one component of the elements is: a Tensor or a number (rank 0) with its type, or another C++ type by name.
struct ComponentSpec {
  std::string kind;   ///< "Tensor", "number", "string", "value"
  TensorType tensor;  ///< of a Tensor or number
};
using ElementSpec = std::vector<ComponentSpec>;
/// "(u8[28,28,1], u8[])"; numbers appear as their dtype alone.
std::string to_string(const ElementSpec& spec);

class Value;
using Element = SmallVector<Value, 2>;

/// What a batch of T is: numbers and Tensors give a Tensor with one more axis in front, everything else a vector.
template <class T>
using Batched = std::conditional_t<std::is_arithmetic_v<T> || std::is_same_v<T, Tensor>, Tensor, std::vector<T>>;

/// How often values of this type have been batched already; each batch of a batch is one more type to compile, so twice
/// is the most for types that become vectors.
template <class T>
inline constexpr int kBatchDepth = 0;
template <class T>
inline constexpr int kBatchDepth<std::vector<T>> = kBatchDepth<T> + 1;
inline constexpr int kMaxBatchDepth = 2;

/// What the engine does with a value whose type it does not know; one constant for each type.
struct ValueType {
  void (*destroy)(void* value);
  void (*copy)(void* to, const void* from);
  void (*move)(void* to, void* from);  ///< and destroys `from`
  ComponentSpec (*spec)(const void* value);
  size_t (*bytes)(const void* value);
  /// One value for component `component` of all rows, which may be consumed.
  Value (*collate)(std::span<Element> rows, size_t component);
};
template <class T>
const ValueType& value_type();

/// A value of any copyable type; the user of get() knows the type. Small ones lie inside.
class Value {
 public:
  Value() = default;
  template <class T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, Value>)
  explicit Value(T&& value) {
    using U = std::remove_cvref_t<T>;
    if constexpr (kInside<U>)
      new (storage_) U(std::forward<T>(value));
    else
      new (storage_) U*(new U(std::forward<T>(value)));
    type_ = &value_type<U>();
  }
  Value(const Value& other) {
    if (other.type_) other.type_->copy(storage_, other.storage_);
    type_ = other.type_;
  }
  Value(Value&& other) noexcept { take(other); }
  Value& operator=(Value other) noexcept {
    reset();
    take(other);
    return *this;
  }
  ~Value() { reset(); }

  template <class T>
  T& get() {
    return at<T>(storage_);
  }
  template <class T>
  const T& get() const {
    return at<T>(const_cast<std::byte*>(storage_));
  }
  const ValueType& type() const { return *type_; }
  ComponentSpec spec() const { return type_->spec(storage_); }
  size_t bytes() const { return type_->bytes(storage_); }

  template <class T>
  static constexpr bool kInside =
      sizeof(T) <= 32 && alignof(T) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<T>;
  template <class T>
  static T& at(void* storage) {
    if constexpr (kInside<T>)
      return *std::launder(static_cast<T*>(storage));
    else
      return **std::launder(static_cast<T**>(storage));
  }

 private:
  void reset() {
    if (type_) type_->destroy(storage_);
    type_ = nullptr;
  }
  void take(Value& other) noexcept {
    if (other.type_) other.type_->move(storage_, other.storage_);
    type_ = std::exchange(other.type_, nullptr);
  }
  alignas(std::max_align_t) std::byte storage_[32];
  const ValueType* type_ = nullptr;
};

/// The Tensors of a component stacked along a new axis 0. Error kInvalidArgument names the first element that differs.
Tensor stack_rows(std::span<Element> rows, size_t component);
/// Spec and bytes of a Tensor. Error kInvalidArgument for one that was never set.
ComponentSpec tensor_spec(const Tensor& tensor);
size_t tensor_bytes(const Tensor& tensor);

template <class T>
ComponentSpec spec_of(const T& value) {
  if constexpr (std::is_same_v<T, Tensor>)
    return tensor_spec(value);
  else if constexpr (std::is_arithmetic_v<T>)
    return {"number", {dtype_of<T>(), {}}};
  else if constexpr (std::is_same_v<T, std::string>)
    return {"string", {}};
  else
    return {"value", {}};
}

template <class T>
size_t bytes_of(const T& value) {
  if constexpr (std::is_same_v<T, Tensor>)
    return tensor_bytes(value);
  else if constexpr (std::is_same_v<T, std::string>)
    return value.size();
  else
    return sizeof(T);
}

template <class T>
Value collate_rows(std::span<Element> rows, size_t component) {
  if constexpr (std::is_same_v<T, Tensor>) {
    return Value(stack_rows(rows, component));
  } else if constexpr (std::is_arithmetic_v<T>) {
    Tensor out = Tensor::empty({dtype_of<T>(), {static_cast<int64_t>(rows.size())}});
    T* const to = reinterpret_cast<T*>(out.mutable_bytes());
    for (size_t i = 0; i < rows.size(); ++i) to[i] = rows[i][component].get<T>();
    return Value(std::move(out));
  } else {
    std::vector<T> out;
    out.reserve(rows.size());
    for (Element& row : rows) out.push_back(std::move(row[component].get<T>()));
    return Value(std::move(out));
  }
}

template <class T>
const ValueType& value_type() {
  static constexpr ValueType kType = {
      [](void* value) {
        if constexpr (Value::kInside<T>)
          Value::at<T>(value).~T();
        else
          delete &Value::at<T>(value);
      },
      [](void* to, const void* from) {
        const T& value = Value::at<T>(const_cast<void*>(from));
        if constexpr (Value::kInside<T>)
          new (to) T(value);
        else
          new (to) T*(new T(value));
      },
      [](void* to, void* from) {
        if constexpr (Value::kInside<T>) {
          T& value = Value::at<T>(from);
          new (to) T(std::move(value));
          value.~T();  // NOLINT(bugprone-use-after-move)
        } else {
          new (to) T*(&Value::at<T>(from));
        }
      },
      [](const void* value) { return spec_of(Value::at<T>(const_cast<void*>(value))); },
      [](const void* value) { return bytes_of(Value::at<T>(const_cast<void*>(value))); },
      [](std::span<Element> rows, size_t component) -> Value {
        if constexpr (kBatchDepth<T> < kMaxBatchDepth)
          return collate_rows<T>(rows, component);
        else
          return {};  // Dataset::batch does not compile here
      },
  };
  return kType;
}

/// All components of the rows, each collated.
Element collate(std::span<Element> rows);

}  // namespace hone::data
