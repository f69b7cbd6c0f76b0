// A vector with inline storage and a fixed capacity, for shapes and integer lists.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>

namespace hone {

[[noreturn]] void fail_capacity(size_t capacity);

/// Copies only the elements in use. push_back beyond N throws Error kInvalidArgument.
template <class T, int N>
class FixedVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;
  FixedVector() noexcept {}  // NOLINT: elements stay uninitialised
  FixedVector(std::initializer_list<T> items) { assign(std::span(items.begin(), items.size())); }
  FixedVector(size_t count, T value) {
    for (size_t i = 0; i < count; ++i) push_back(value);
  }
  explicit FixedVector(std::span<const T> items) { assign(items); }
  FixedVector(const FixedVector& other) noexcept : size_(other.size_) { std::copy_n(other.items_, size_, items_); }
  FixedVector& operator=(const FixedVector& other) noexcept {
    size_ = other.size_;
    std::copy_n(other.items_, size_, items_);
    return *this;
  }
  void assign(std::span<const T> items) {
    size_ = 0;
    for (const T& item : items) push_back(item);
  }
  void push_back(T item) {
    if (size_ == N) fail_capacity(N);
    items_[size_++] = item;
  }
  void insert(size_t at, T item) {
    push_back(item);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(size_t at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    --size_;
  }
  void resize(size_t count, T value = T{}) {
    while (size_ > count) --size_;
    while (size_ < count) push_back(value);
  }
  void clear() { size_ = 0; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return items_[i]; }
  const T& operator[](size_t i) const { return items_[i]; }
  T& back() { return items_[size_ - 1]; }
  const T& back() const { return items_[size_ - 1]; }
  T* begin() { return items_; }
  T* end() { return items_ + size_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size_; }
  const T* data() const { return items_; }
  bool contains(T item) const { return std::find(begin(), end(), item) != end(); }
  friend bool operator==(const FixedVector& a, const FixedVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  uint32_t size_ = 0;
  union {
    T items_[N];
  };
};

}  // namespace hone
