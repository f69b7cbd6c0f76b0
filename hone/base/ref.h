// Intrusive reference counting: the object carries its count, a Ref is one pointer.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace hone {

/// Base of objects held by Ref<T>. T supplies `static void destroy(T*)`, called when the last Ref goes.
template <class T>
class RefCounted {
 public:
  void retain() const { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (count_.load(std::memory_order_acquire) == 1 || count_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      T::destroy(const_cast<T*>(static_cast<const T*>(this)));
  }
  bool unique() const { return count_.load(std::memory_order_acquire) == 1; }

 private:
  mutable std::atomic<int32_t> count_{0};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* object) : object_(object) {
    if (object_) object_->retain();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->release();
  }
  T* get() const { return object_; }
  /// For an object that another thread may be putting in meanwhile with publish(): what it wrote before is visible.
  T* acquire() const { return std::atomic_ref<T*>(const_cast<T*&>(object_)).load(std::memory_order_acquire); }
  void publish(Ref other) {
    std::atomic_ref<T*>(object_).store(std::exchange(other.object_, nullptr), std::memory_order_release);
  }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const Ref& other) const = default;

 private:
  T* object_ = nullptr;
};

}  // namespace hone
