// 64-bit hashes (XXH3): the same on every machine and in every run of one version; not for adversaries.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace hone {

uint64_t hash_bytes(const void* data, size_t size, uint64_t seed = 0);

inline uint64_t hash_of(std::string_view text, uint64_t seed = 0) { return hash_bytes(text.data(), text.size(), seed); }

/// Hash of values without padding (integers, enums, structs of these; not floats, whose 0 and -0 are equal but differ).
template <class T>
  requires std::has_unique_object_representations_v<T>
uint64_t hash_of(std::span<const T> values, uint64_t seed = 0) {
  return hash_bytes(values.data(), values.size_bytes(), seed);
}

/// A bijection of 64-bit words in which each bit of the input changes half of the output (the finaliser of SplitMix64).
constexpr uint64_t hash_word(uint64_t word) {
  uint64_t x = word + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Mixes one more word into a hash; order matters.
constexpr uint64_t hash_combine(uint64_t hash, uint64_t word) { return hash_word(hash_word(hash) ^ word); }

}  // namespace hone
