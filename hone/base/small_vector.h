// A vector whose first N elements need no heap. Same meaning as std::vector, except that a move of inline elements
// moves each, and invalidates pointers to them.
#pragma once
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace hone {

/// Elements may be move-only; their moves must not throw. Converts to std::span.
template <class T, size_t N>
class SmallVector {
  static_assert(N > 0 && std::is_nothrow_move_constructible_v<T>);

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() = default;
  /// `count` value-initialised elements, or copies of `value`.
  explicit SmallVector(size_t count) : SmallVector() { resize(count); }
  SmallVector(size_t count, const T& value) : SmallVector() {
    reserve(count);
    while (size_ < count) emplace_back(value);
  }
  SmallVector(std::initializer_list<T> values) : SmallVector(values.begin(), values.end()) {}
  explicit SmallVector(std::span<const T> values) : SmallVector(values.begin(), values.end()) {}
  template <std::input_iterator It>
  SmallVector(It first, It last) : SmallVector() {
    append(first, last);
  }
  SmallVector(const SmallVector& other) : SmallVector(other.begin(), other.end()) {}
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      SmallVector copy(other);
      *this = std::move(copy);
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      drop();
      take(other);
    }
    return *this;
  }
  ~SmallVector() { drop(); }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t capacity() const { return capacity_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) {
    assert(i < size_);
    return data_[i];
  }
  const T& operator[](size_t i) const {
    assert(i < size_);
    return data_[i];
  }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) return emplace_grown(std::forward<Args>(args)...);
    T* const slot = std::construct_at(data_ + size_, std::forward<Args>(args)...);
    ++size_;
    return *slot;
  }
  void push_back(const T& value) { emplace_back(value); }
  void push_back(T&& value) { emplace_back(std::move(value)); }
  template <std::input_iterator It>
  void append(It first, It last) {
    if constexpr (std::forward_iterator<It>) reserve(size_ + static_cast<size_t>(std::distance(first, last)));
    for (; first != last; ++first) emplace_back(*first);
  }
  void pop_back() { std::destroy_at(data_ + --size_); }
  void clear() { truncate(0); }
  void reserve(size_t count) {
    if (count > capacity_) adopt(allocate(count), count);
  }
  void resize(size_t count) {
    if (count < size_) return truncate(count);
    reserve(count);
    while (size_ < count) emplace_back();
  }
  /// Inserts before `position`; returns the new element.
  T* insert(const T* position, T value) {
    const size_t index = static_cast<size_t>(position - data_);
    emplace_back(std::move(value));
    std::rotate(data_ + index, data_ + size_ - 1, data_ + size_);
    return data_ + index;
  }
  /// Removes [first, last); returns the element that follows.
  T* erase(const T* first, const T* last) {
    T* const target = data_ + (first - data_);
    truncate(static_cast<size_t>(std::move(data_ + (last - data_), end(), target) - data_));
    return target;
  }
  T* erase(const T* position) { return erase(position, position + 1); }

  bool operator==(const SmallVector& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  T* inline_data() { return std::launder(reinterpret_cast<T*>(storage_)); }
  bool is_inline() const { return capacity_ == N; }  // a heap block is always larger

  static T* allocate(size_t count) {
    if (count > std::numeric_limits<size_t>::max() / 2 / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(alignof(T))));
  }
  void free_block() {
    if (!is_inline()) ::operator delete(data_, std::align_val_t(alignof(T)));
  }
  /// Moves the elements to a larger block.
  void adopt(T* block, size_t capacity) {
    std::uninitialized_move(begin(), end(), block);
    std::destroy(begin(), end());
    free_block();
    data_ = block;
    capacity_ = capacity;
  }
  template <class... Args>
  T& emplace_grown(Args&&... args) {
    const size_t capacity = 2 * capacity_;
    T* const block = allocate(capacity);
    try {
      std::construct_at(block + size_,
                        std::forward<Args>(args)...);  // first: an argument may be an element of this vector
    } catch (...) {
      ::operator delete(block, std::align_val_t(alignof(T)));
      throw;
    }
    adopt(block, capacity);
    return data_[size_++];
  }
  void truncate(size_t count) {
    std::destroy(data_ + count, end());
    size_ = count;
  }
  void drop() {
    truncate(0);
    free_block();
    data_ = inline_data();
    capacity_ = N;
  }
  /// Takes the content of `other`, which becomes empty; this is empty and inline.
  void take(SmallVector& other) {
    if (other.is_inline()) {
      std::uninitialized_move(other.begin(), other.end(), data_);
      size_ = other.size_;
      other.truncate(0);
    } else {
      data_ = std::exchange(other.data_, other.inline_data());
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, N);
    }
  }

  T* data_ = inline_data();
  size_t size_ = 0;
  size_t capacity_ = N;
  alignas(T) unsigned char storage_[N * sizeof(T)];
};

}  // namespace hone
