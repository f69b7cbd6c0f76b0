// Transposes of matrices in tiles that fit the vector registers of x86-64-v2 (and any other machine with 16-byte
// vectors).
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include "hone/math/level.h"

namespace hone::math::HONE_LEVEL {

namespace transpose_detail {

template <class T>
struct Lanes {
  static constexpr int kCount = 16 / sizeof(T);
  using Vector __attribute__((vector_size(16))) = T;
};

// The first (kHalf = 0) or second halves of two vectors, interleaved.
template <class T, int kHalf, int... i>
typename Lanes<T>::Vector interleave(typename Lanes<T>::Vector a, typename Lanes<T>::Vector b,
                                     std::integer_sequence<int, i...>) {
  constexpr int n = Lanes<T>::kCount;
  return __builtin_shufflevector(a, b, (i % 2 * n + i / 2 + kHalf * n / 2)...);
}

// A square of kCount x kCount elements: log2(kCount) perfect shuffles of its rows.
template <class T>
void transpose_square(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step) {
  constexpr int n = Lanes<T>::kCount;
  using Vector = typename Lanes<T>::Vector;
  constexpr auto lanes = std::make_integer_sequence<int, n>{};
  Vector rows[n], shuffled[n];
  for (int i = 0; i < n; ++i) __builtin_memcpy(&rows[i], from + i * from_step, 16);
  for (int step = 1; step < n; step *= 2) {
    for (int i = 0; i < n / 2; ++i) {
      shuffled[2 * i] = interleave<T, 0>(rows[i], rows[i + n / 2], lanes);
      shuffled[2 * i + 1] = interleave<T, 1>(rows[i], rows[i + n / 2], lanes);
    }
    for (int i = 0; i < n; ++i) rows[i] = shuffled[i];
  }
  for (int i = 0; i < n; ++i) __builtin_memcpy(to + i * to_step, &rows[i], 16);
}

}  // namespace transpose_detail

/// to[r, c] = from[c, r]: rows of the target are `to_step` bytes apart, those of the source `from_step`; elements of a
/// row follow each other.
template <class T>
void transpose_tiles(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step, int64_t rows,
                     int64_t columns) {
  constexpr int64_t item = sizeof(T), n = 16 / item;
  constexpr int64_t kBlock = n > 64 / item ? n : 64 / item;  // a cache line of the source
  const int64_t whole_rows = rows / n * n, whole_columns = columns / n * n;
  for (int64_t r0 = 0; r0 < whole_rows; r0 += kBlock) {
    const int64_t r1 = whole_rows < r0 + kBlock ? whole_rows : r0 + kBlock;
    for (int64_t c = 0; c < whole_columns; c += n) {
      for (int64_t r = r0; r < r1; r += n) {
        transpose_detail::transpose_square<T>(to + r * to_step + c * item, to_step, from + c * from_step + r * item,
                                              from_step);
      }
    }
  }
  const auto rest = [&](int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
    constexpr int64_t kColumns = 256;  // source lines that stay in L1 while few rows pass over them
    for (int64_t c = c0; c < c1; c += kColumns) {
      const int64_t stop = c1 < c + kColumns ? c1 : c + kColumns;
      for (int64_t r = r0; r < r1; ++r) {
        for (int64_t i = c; i < stop; ++i)
          __builtin_memcpy(to + r * to_step + i * item, from + i * from_step + r * item, item);
      }
    }
  };
  rest(whole_rows, rows, 0, columns);
  rest(0, whole_rows, whole_columns, columns);
}

}  // namespace hone::math::HONE_LEVEL
