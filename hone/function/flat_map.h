// Open-addressing map from non-zero 64-bit keys to 32-bit indices; clear() keeps the memory.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace hone {

class FlatMap {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t find(uint64_t key) const {
    if (used_ == 0) return kNone;
    for (size_t at = home(key);; at = (at + 1) & mask()) {
      if (entries_[at].key == key) return entries_[at].value;
      if (entries_[at].key == 0) return kNone;
    }
  }
  void set(uint64_t key, uint32_t value) {
    if ((used_ + 1) * 2 > entries_.size()) grow();
    size_t at = home(key);
    while (entries_[at].key != 0 && entries_[at].key != key) at = (at + 1) & mask();
    if (entries_[at].key == 0) {
      ++used_;
      touched_.push_back(static_cast<uint32_t>(at));
    }
    entries_[at] = {key, value};
  }
  void clear() {
    for (uint32_t at : touched_) entries_[at].key = 0;
    touched_.clear();
    used_ = 0;
  }

 private:
  struct Entry {
    uint64_t key = 0;
    uint32_t value = 0;
  };
  size_t mask() const { return entries_.size() - 1; }
  size_t home(uint64_t key) const { return (key * 0x9E3779B97F4A7C15ULL >> 20) & mask(); }
  void grow() {
    std::vector<Entry> old(std::max<size_t>(64, entries_.size() * 2));
    old.swap(entries_);
    used_ = 0;
    touched_.clear();
    for (const Entry& entry : old) {
      if (entry.key != 0) set(entry.key, entry.value);
    }
  }
  std::vector<Entry> entries_;
  std::vector<uint32_t> touched_;
  size_t used_ = 0;
};

}  // namespace hone
