#include "hone/function/signature.h"

#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/base/hash.h"
#include "hone/base/settings.h"

namespace hone {
namespace {

constexpr uint64_t kUndefined = ~uint64_t{0};

std::string text_of(const Signature::Leaf& leaf) { return leaf.defined ? to_string(leaf.type) : "nothing"; }

}  // namespace

int64_t Bindings::value(std::string_view name) const {
  for (const auto& [known, value] : values_) {
    if (known == name) return value;
  }
  throw Error(Code::kInternal, fmt::format("the symbol '{}' has no value", name));
}

bool Bindings::bind(std::string_view name, int64_t value) {
  for (const auto& [known, bound] : values_) {
    if (known == name) return bound == value;
  }
  values_.emplace_back(name, value);
  return true;
}

Signature::Key Signature::key_of(std::span<const Tensor> leaves, std::span<const uint64_t> statics) {
  Key key;
  key.words_.append(statics.begin(), statics.end());
  key.words_.push_back(statics.size());
  // What is compiled has its kernels chosen.
  key.words_.push_back(settings.reproducible == Reproducible::Portable);
  for (const Tensor& leaf : leaves) {
    if (!leaf.defined()) {
      key.words_.push_back(kUndefined);
      continue;
    }
    const TensorType& type = leaf.type();
    key.words_.push_back(static_cast<uint64_t>(type.dtype) << 8 | static_cast<uint64_t>(type.shape.rank()));
    for (Dim d : type.shape) key.words_.push_back(static_cast<uint64_t>(d.key()));
  }
  key.hash_ = hash_of(std::span<const uint64_t>(key.words_.data(), key.words_.size()));
  return key;
}

Signature::Signature(std::span<const Tensor> leaves, std::span<const uint64_t> statics)
    : statics_(statics.begin(), statics.end()) {
  for (const Tensor& leaf : leaves) leaves_.push_back(leaf.defined() ? Leaf{leaf.type(), true} : Leaf{{}, false});
}

Signature::Signature(std::span<const TensorType> types, std::span<const uint64_t> statics)
    : statics_(statics.begin(), statics.end()) {
  for (const TensorType& type : types) leaves_.push_back({type, true});
}

bool Signature::is_symbolic() const {
  return std::ranges::any_of(leaves_, [](const Leaf& leaf) { return !leaf.type.shape.is_static(); });
}

bool Signature::match(const Signature& given, Bindings& bindings) const {
  if (statics_ != given.statics_ || leaves_.size() != given.leaves_.size()) return false;
  const auto fits = [&](size_t i) {
    return leaves_[i].defined == given.leaves_[i].defined && leaves_[i].type.dtype == given.leaves_[i].type.dtype &&
           leaves_[i].type.shape.rank() == given.leaves_[i].type.shape.rank();
  };
  // Symbols get their numbers first, then expressions over them are compared.
  for (const bool expressions : {false, true}) {
    for (size_t i = 0; i < leaves_.size(); ++i) {
      if (!fits(i)) return false;
      const Shape &own = leaves_[i].type.shape, &other = given.leaves_[i].type.shape;
      for (int axis = 0; axis < own.rank(); ++axis) {
        const Dim dim = own[axis];
        const int64_t number = other[axis].number();
        if (dim.is_number()) {
          if (dim.number() != number) return false;
          continue;
        }
        if (number < dim.min() || number > dim.max()) return false;
        const std::string name = to_string(dim);
        const bool symbol = dim.is_symbol();
        if (symbol && !expressions && !bindings.bind(name, number)) return false;
        if (!symbol && expressions &&
            dim.evaluate([&](std::string_view each) { return bindings.value(each); }) != number)
          return false;
      }
    }
  }
  return true;
}

std::optional<Signature> Signature::generalise(const Signature& other) const {
  if (statics_ != other.statics_ || leaves_.size() != other.leaves_.size()) return std::nullopt;
  Signature general = *this;
  std::vector<std::pair<std::pair<int64_t, int64_t>, Dim>> symbols;  // (key before, number now) -> symbol
  size_t count = 0;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const Leaf &now = leaves_[i], &before = other.leaves_[i];
    if (now.defined != before.defined || now.type.dtype != before.type.dtype ||
        now.type.shape.rank() != before.type.shape.rank())
      return std::nullopt;
    for (int axis = 0; axis < now.type.shape.rank(); ++axis) {
      const Dim old = before.type.shape[axis];
      const int64_t number = now.type.shape[axis].number();
      if (old.is_number() && old.number() == number) continue;
      if (number < 2 || (old.is_number() && old.number() < 2)) return std::nullopt;
      const std::pair key{old.key(), number};
      const auto found = std::ranges::find(symbols, key, &decltype(symbols)::value_type::first);
      if (found != symbols.end()) {
        general.leaves_[i].type.shape[axis] = found->second;
        continue;
      }
      const Dim symbol(fmt::format("_n{}", count++), 2);
      symbols.emplace_back(key, symbol);
      general.leaves_[i].type.shape[axis] = symbol;
    }
  }
  return general;
}

std::string Signature::difference(const Signature& before, std::span<const std::string> names,
                                  size_t& differences) const {
  std::string text;
  const auto add = [&](std::string what, size_t weight) {
    text += (text.empty() ? "" : "; ") + what;
    differences += weight;
  };
  constexpr size_t kStructure = 1000, kType = 100;  // another number of arguments is farther than another extent
  if (leaves_.size() != before.leaves_.size())
    add(fmt::format("{} tensors, before {}", leaves_.size(), before.leaves_.size()), kStructure);
  for (size_t i = 0; i < std::min(leaves_.size(), before.leaves_.size()); ++i) {
    const Leaf &now = leaves_[i], &old = before.leaves_[i];
    if (now == old) continue;
    if (now.defined != old.defined || now.type.dtype != old.type.dtype ||
        now.type.shape.rank() != old.type.shape.rank()) {
      add(fmt::format("{} is {}, before {}", names[i], text_of(now), text_of(old)), kType);
      continue;
    }
    for (int axis = 0; axis < now.type.shape.rank(); ++axis) {
      if (!(now.type.shape[axis] == old.type.shape[axis]))
        add(fmt::format("{}: axis {} is {}, before {}", names[i], axis, to_string(now.type.shape[axis]),
                        to_string(old.type.shape[axis])),
            1);
    }
  }
  return text;
}

std::string Signature::text() const {
  std::string text;
  for (const Leaf& leaf : leaves_) text += (text.empty() ? "" : ", ") + text_of(leaf);
  return text.empty() ? "no tensors" : text;
}

std::string Signature::symbols() const {
  std::vector<std::string> names;
  for (const Leaf& leaf : leaves_) {
    for (Dim dim : leaf.type.shape) {
      if (!dim.is_number() && std::ranges::find(names, to_string(dim)) == names.end()) names.push_back(to_string(dim));
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace hone
