// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011): a counter-based
// generator. The numbers depend on key and counter alone, so that any thread can compute any of them in any order.
#pragma once
#include <array>
#include <cstdint>

namespace hone {

class Philox {
 public:
  using Block = std::array<uint32_t, 4>;

  constexpr explicit Philox(std::array<uint32_t, 2> key) : key_(key) {}
  /// Low word first.
  constexpr explicit Philox(uint64_t key) : key_{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)} {}

  /// Four independent uniform words for a 128-bit counter, its low word first.
  constexpr Block at(Block counter) const {
    std::array<uint32_t, 2> key = key_;
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t first = uint64_t{kMultiplier0} * counter[0], second = uint64_t{kMultiplier1} * counter[2];
      counter = {static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
                 static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
      key[0] += kWeyl0;
      key[1] += kWeyl1;
    }
    return counter;
  }
  constexpr Block at(uint64_t low, uint64_t high = 0) const {
    return at(Block{static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32), static_cast<uint32_t>(high),
                    static_cast<uint32_t>(high >> 32)});
  }

  static constexpr int kRounds = 10;
  static constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  static constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;  // golden ratio, sqrt(3) - 1

 private:
  std::array<uint32_t, 2> key_;
};

}  // namespace hone
