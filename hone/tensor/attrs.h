// Attributes of ops: plain structs that list their fields once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "hone/device/device.h"
#include "hone/tensor/shape.h"

namespace hone {

/// A program that an op carries: a branch of `if`, the body of a loop, a cluster. ir::Graph is the one kind.
class Region {
 public:
  Region() = default;
  Region(const Region&) = default;
  Region(Region&&) = default;
  Region& operator=(const Region&) = default;
  Region& operator=(Region&&) = default;
  virtual ~Region() = default;
  /// Of what it computes; where it comes from (lines, names) does not count.
  virtual uint64_t fingerprint() const = 0;
  virtual bool same(const Region& other) const = 0;
};
using Regions = std::vector<std::shared_ptr<const Region>>;

/// One field of an attribute struct, as printers, parsers and hashes see it.
class AttrVisitor {
 public:
  virtual ~AttrVisitor() = default;
  virtual void field(const char* name, int64_t& value) = 0;
  virtual void field(const char* name, double& value) = 0;
  virtual void field(const char* name, bool& value) = 0;
  virtual void field(const char* name, DType& value) = 0;
  virtual void field(const char* name, Shape& value) = 0;
  virtual void field(const char* name, Ints& value) = 0;
  virtual void field(const char* name, std::string& value) = 0;
  virtual void field(const char*, Regions&) {}  ///< for those who look inside
};

/// How to handle an attribute struct whose C++ type is not known. An attribute struct is an aggregate with
/// `template <class V> void visit(V& v)`, which calls v.field("name", member) for each member in order.
struct AttrType {
  size_t size;
  bool trivial;  // copied by memcpy, no destructor
  void (*copy)(void* to, const void* from);
  void (*destroy)(void* attrs);
  void (*visit)(void* attrs, AttrVisitor& visitor);
  void (*make)(void* to);  ///< with the defaults
};

template <class T>
inline constexpr AttrType kAttrType = {sizeof(T),
                                       std::is_trivially_destructible_v<T>,
                                       [](void* to, const void* from) { new (to) T(*static_cast<const T*>(from)); },
                                       [](void* attrs) { static_cast<T*>(attrs)->~T(); },
                                       [](void* attrs, AttrVisitor& v) { static_cast<T*>(attrs)->visit(v); },
                                       [](void* to) { new (to) T(); }};
template <class T>
constexpr const AttrType& attr_type() {
  return kAttrType<T>;
}

/// Attributes of a call, by reference; empty for ops without any.
class AttrRef {
 public:
  AttrRef() = default;
  template <class T>
    requires requires(T& t, AttrVisitor& v) { t.visit(v); }
  AttrRef(const T& attrs) : type_(&attr_type<T>()), data_(&attrs) {}  // NOLINT: implicit by design
  AttrRef(const AttrType* type, const void* data) : type_(type), data_(data) {}
  template <class T>
  const T& as() const {
    return *static_cast<const T*>(data_);
  }
  const AttrType* type() const { return type_; }
  const void* data() const { return data_; }

 private:
  const AttrType* type_ = nullptr;
  const void* data_ = nullptr;
};

/// Owned attributes: up to 48 bytes inline, else a pool block.
class Attrs {
 public:
  Attrs() = default;
  explicit Attrs(AttrRef from) : type_(from.type()) {
    if (type_) type_->copy(type_->size <= kInline ? inline_ : (block_ = pool_allocate(type_->size)), from.data());
  }
  /// With the defaults; `edit` may change the fields before anyone sees them.
  Attrs(const AttrType* type, AttrVisitor& edit) : type_(type) {
    if (!type_) return;
    void* const to = type_->size <= kInline ? inline_ : (block_ = pool_allocate(type_->size));
    type_->make(to);
    type_->visit(to, edit);
  }
  Attrs(const Attrs& other) : Attrs(AttrRef(other)) {}
  Attrs(Attrs&& other) noexcept : type_(std::exchange(other.type_, nullptr)) {
    if (!type_) return;
    if (type_->size > kInline) {
      block_ = other.block_;
    } else {
      type_->copy(inline_, other.inline_);
      type_->destroy(other.inline_);
    }
  }
  Attrs& operator=(Attrs other) noexcept {
    this->~Attrs();
    return *new (this) Attrs(std::move(other));
  }
  ~Attrs() {
    if (!type_) return;
    type_->destroy(data());
    if (type_->size > kInline) pool_free(block_, type_->size);
  }
  operator AttrRef() const { return {type_, const_cast<Attrs*>(this)->data()}; }  // NOLINT: implicit by design

 private:
  static constexpr size_t kInline = 48;
  void* data() { return type_ && type_->size > kInline ? block_ : static_cast<void*>(inline_); }
  const AttrType* type_ = nullptr;
  union {
    alignas(8) std::byte inline_[kInline];
    void* block_;
  };
};

/// The regions that attributes hold; empty for nearly all.
Regions regions_of(AttrRef attrs);
/// "{dimensions = [0, 1], epsilon = 1e-05}"; empty for no attributes.
std::string to_string(AttrRef attrs);
/// Same type and fields.
bool equal(AttrRef a, AttrRef b);
uint64_t hash(AttrRef attrs);

}  // namespace hone
