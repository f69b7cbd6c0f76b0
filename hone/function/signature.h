// Signature: what tells the kinds of a function's arguments apart.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hone/base/small_vector.h"
#include "hone/tensor/tensor.h"

namespace hone {

/// Numbers for the symbols of a signature.
class Bindings {
 public:
  bool empty() const { return values_.empty(); }
  void clear() { values_.clear(); }
  /// Error kInternal for an unknown name.
  int64_t value(std::string_view name) const;
  /// False if the name is bound to another number.
  bool bind(std::string_view name, int64_t value);

 private:
  std::vector<std::pair<std::string, int64_t>> values_;
};

/// Types of the tensors among a function's arguments, in flat order, and words that stand for the rest.
class Signature {
 public:
  struct Leaf {
    TensorType type;
    bool defined = true;
    bool operator==(const Leaf&) const = default;
  };

  /// A signature of numbers as words: quick to make and to compare.
  class Key {
   public:
    uint64_t hash() const { return hash_; }
    bool operator==(const Key& other) const { return hash_ == other.hash_ && words_ == other.words_; }

   private:
    friend class Signature;
    SmallVector<uint64_t, 24> words_;
    uint64_t hash_ = 0;
  };
  static Key key_of(std::span<const Tensor> leaves, std::span<const uint64_t> statics);

  Signature(std::span<const Tensor> leaves, std::span<const uint64_t> statics);
  Signature(std::span<const TensorType> types, std::span<const uint64_t> statics);

  size_t leaves() const { return leaves_.size(); }
  const Leaf& leaf(size_t i) const { return leaves_[i]; }
  std::span<const uint64_t> statics() const { return statics_; }
  bool is_symbolic() const;
  bool operator==(const Signature&) const = default;

  /// Whether arguments of `given`, which has numbers only, are of this kind; `bindings` says what the symbols are then.
  bool match(const Signature& given, Bindings& bindings) const;
  /// A kind that covers both: extents that differ become symbols, those that differ alike the same one. None where they
  /// differ in more than extents, or an extent is 0 or 1.
  std::optional<Signature> generalise(const Signature& other) const;
  /// "argument 0: axis 0 is 96, before 128"; counts what differs. `names` are those of the leaves.
  std::string difference(const Signature& before, std::span<const std::string> names, size_t& differences) const;
  /// "f32[128,784], i32[128]"
  std::string text() const;
  /// Names of the symbols.
  std::string symbols() const;

 private:
  std::vector<Leaf> leaves_;
  std::vector<uint64_t> statics_;
};

}  // namespace hone
