// Blocked matrix products with a fixed order: each element is one chain of fma over ascending terms from +0, bias last,
// one rounding to the result's type. How products are cut into blocks never changes bits.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hone/math/contraction.h"
#include "hone/math/half.h"
#include "hone/math/transpose.h"
#include "hone/math/work.h"

namespace hone::math {

/// Floats that contractions read and write; 16-bit ones compute as f32.
enum class FloatKind : int32_t { F32, F16, BF16 };

/// How a product is cut: rows and columns of an item, terms between two visits of a result.
struct ProductBlocks {
  static constexpr int64_t kTerms = 256, kMaxRows = 96, kMaxColumns = 512;
  int64_t rows = kMaxRows, columns = kMaxColumns;

  /// Smaller ones where a product is large enough for several threads.
  static constexpr ProductBlocks of(int64_t products, int64_t m, int64_t n, int64_t k) {
    constexpr int64_t kItems = 16, kFewestRows = 24, kFewestColumns = 128;
    const int64_t worth = m == 1 ? 1 << 16 : 1 << 18;  // one row is bound by reading
    ProductBlocks b;
    const auto up = [](int64_t x, int64_t step) { return (x + step - 1) / step * step; };
    if (m < b.rows) b.rows = up(m > 0 ? m : 1, 1);
    if (n < b.columns) b.columns = up(n > 0 ? n : 1, 16);
    while (products * b.row_blocks(m) * b.column_blocks(n) < kItems && b.rows * b.columns * k >= 2 * worth) {
      if (b.columns >= 2 * kFewestColumns)
        b.columns = up(b.columns / 2, 16);
      else if (b.rows >= 2 * kFewestRows)
        b.rows = up(b.rows / 2, kFewestRows / 2);
      else
        break;
    }
    return b;
  }
  constexpr int64_t row_blocks(int64_t m) const { return (m + rows - 1) / rows; }
  constexpr int64_t column_blocks(int64_t n) const { return (n + columns - 1) / columns; }

  /// Of one thread at work: a block of a, a panel of b, a block of results, their bias.
  static constexpr int64_t kA = (kMaxRows + 16) * (kTerms + 16), kB = kTerms * 16;
  static constexpr int64_t kScratch = (kA + kB + kMaxRows * kMaxColumns + kMaxColumns) * 4;
};

/// A matrix with strides in elements, as panels read it.
struct StridedFloats {
  const float* data;
  int64_t row, column;
};

namespace HONE_LEVEL {

template <class S>
float load_float(S x) {
  if constexpr (sizeof(S) == 4)
    return x;
  else
    return half_to_float(x);
}
template <class S>
void to_floats(const S* from, float* to, int64_t n) {
  if constexpr (sizeof(S) != 4) {
    if (n < Vec<float>::kLanes) {
      for (int64_t i = 0; i < n; ++i) to[i] = half_to_float(from[i]);
    } else {
      halves_to_floats<Vec<float>>(from, to, n);
    }
  } else if (n < 8) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
  } else {
    __builtin_memcpy(to, from, static_cast<size_t>(n) * 4);
  }
}
template <class S>
void from_floats(const float* from, S* to, int64_t n) {
  if constexpr (sizeof(S) == 4)
    __builtin_memcpy(to, from, static_cast<size_t>(n) * 4);
  else
    floats_to_halves<Vec<float>>(from, to, n);
}
inline void zero_floats(float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = 0;
}

/// f(S) for the storage type S of a kind.
template <class F>
void with_floats(FloatKind kind, F&& f) {
  if (kind == FloatKind::F32)
    f(float{});
  else if (kind == FloatKind::F16)
    f(Float16{});
  else
    f(BFloat16{});
}

/// Memory of one item, as ProductBlocks::kScratch says.
struct ProductScratch {
  explicit ProductScratch(std::byte* scratch)
      : a(static_cast<float*>(static_cast<void*>(scratch))),
        b(a + ProductBlocks::kA),
        c(b + ProductBlocks::kB),
        bias(c + ProductBlocks::kMaxRows * ProductBlocks::kMaxColumns) {}
  float *a, *b, *c, *bias;
};

/// Where the results of an item lie as floats; a row's bias may be null.
struct ProductResult {
  float* data;
  int64_t row, rows, columns, terms;
  const float* bias;
};

inline constexpr int64_t kPanelFloats = kPanelBytes / 4;

/// A panel's rows of a that lie anywhere: pointers of each run of terms, rows side by side.
struct FloatRows {
  const float* const* rows;  ///< [run][step]
  int64_t step;
  const int64_t* terms;  ///< [run]
  int64_t count;

  template <int kRows>
  struct Run {
    const float* rows[kRows];
    int64_t terms;
    const float& at(int row, int64_t term) const { return rows[row][term]; }
  };
  int64_t runs() const { return count; }
  template <int kRows>
  Run<kRows> run(int64_t r, int64_t row) const {
    Run<kRows> run{{}, terms[r]};
    for (int i = 0; i < kRows; ++i) run.rows[i] = rows[r * step + row + i];
    return run;
  }
};
/// One whose terms lie anywhere, rows side by side.
struct FloatTerms {
  const float* const* terms;
  int64_t count;

  template <int kRows>
  struct Run {
    const float* const* first;
    int64_t row, terms;
    const float& at(int i, int64_t term) const { return first[term][row + i]; }
  };
  int64_t runs() const { return 1; }
  template <int kRows>
  Run<kRows> run(int64_t, int64_t row) const {
    return {terms, row, count};
  }
};

inline void run_panel(const PanelArgs& p, const StridedFloats& a) {
  PanelArgs args = p;
  args.a = a.data, args.a_row = a.row, args.a_k = a.column;
  panel<float>(args);
}
inline void run_panel(const PanelArgs& p, const FloatRows& a) { panel_of<float>(p, a); }
inline void run_panel(const PanelArgs& p, const FloatTerms& a) { panel_of<float>(p, a); }

/// pack_a(first term, terms) gives rows x terms of a; pack_b(first term, terms, first column, columns) a panel of b
/// whose rows hold 16 readable floats. `width`: columns of a visit, more than a panel's only for one row: it has no
/// other chains of sums to hide latency with.
template <class PackA, class PackB>
void product_block(const ProductResult& c, PackA&& pack_a, PackB&& pack_b, int64_t width = kPanelFloats) {
  int64_t k0 = 0;
  do {
    const int64_t terms = c.terms - k0 < ProductBlocks::kTerms ? c.terms - k0 : ProductBlocks::kTerms;
    const bool last = k0 + terms == c.terms;
    const auto a = pack_a(k0, terms);
    for (int64_t j = 0; j < c.columns; j += width) {
      const int64_t columns = c.columns - j < width ? c.columns - j : width;
      const StridedFloats b = pack_b(k0, terms, j, columns);
      run_panel({.b = b.data,
                 .b_k = b.row,
                 .c = c.data + j,
                 .c_row = c.row,
                 .rows = c.rows,
                 .columns = columns,
                 .k = terms,
                 .bias = last && c.bias ? c.bias + j : nullptr,
                 .accumulate = k0 > 0},
                a);
    }
    k0 += terms;
  } while (k0 < c.terms);
}

/// terms x columns of b (strides in elements) as a panel: side by side, zeros beyond the last column.
template <class S>
StridedFloats pack_panel(float* to, const S* b, int64_t b_k, int64_t b_column, int64_t terms, int64_t columns) {
  if (b_column == 1) {
    for (int64_t k = 0; k < terms; ++k) {
      float* row = to + k * kPanelFloats;
      if (sizeof(S) == 4 && columns == kPanelFloats) {
        __builtin_memcpy(row, b + k * b_k, kPanelBytes);
        continue;
      }
      to_floats(b + k * b_k, row, columns);
      if (columns < kPanelFloats) zero_floats(row + columns, kPanelFloats - columns);
    }
    return {to, kPanelFloats, 1};
  }
  if (sizeof(S) == 4 && b_k == 1) {
    transpose_tiles<float>(static_cast<std::byte*>(static_cast<void*>(to)), kPanelBytes,
                           static_cast<const std::byte*>(static_cast<const void*>(b)), b_column * 4, terms, columns);
  } else {
    for (int64_t k = 0; k < terms; ++k) {
      for (int64_t j = 0; j < columns; ++j) to[k * kPanelFloats + j] = load_float(b[k * b_k + j * b_column]);
    }
  }
  for (int64_t k = 0; k < terms && columns < kPanelFloats; ++k)
    zero_floats(to + k * kPanelFloats + columns, kPanelFloats - columns);
  return {to, kPanelFloats, 1};
}

/// rows x terms of a, with whichever runs on innermost.
template <class S>
StridedFloats pack_rows(float* to, const S* a, int64_t a_row, int64_t a_k, int64_t rows, int64_t terms) {
  if (a_row == 1 && a_k != 1) {
    constexpr int64_t kStep = ProductBlocks::kMaxRows + 16;
    for (int64_t k = 0; k < terms; ++k) to_floats(a + k * a_k, to + k * kStep, rows);
    return {to, 1, kStep};
  }
  constexpr int64_t kStep = ProductBlocks::kTerms + 16;
  for (int64_t i = 0; i < rows; ++i) {
    if (a_k == 1) {
      to_floats(a + i * a_row, to + i * kStep, terms);
    } else {
      for (int64_t k = 0; k < terms; ++k) to[i * kStep + k] = load_float(a[i * a_row + k * a_k]);
    }
  }
  return {to, kStep, 1};
}

}  // namespace HONE_LEVEL

/// c[l, i, j] = sum over t of a[l, i, t] b[l, t, j] (+ bias[j]) for each l of the loops; strides in elements.
struct ProductParams {
  static constexpr int kMaxLoops = 24;
  struct Loop {
    int64_t extent, a, b, c;
  };
  FloatKind kind = FloatKind::F32;
  int32_t loop_count = 0, bias = 0;
  Loop loops[kMaxLoops] = {};
  int64_t m = 1, n = 1, k = 1;
  int64_t a_row = 0, a_k = 0, b_k = 0, b_column = 0, c_row = 0;
  ProductBlocks blocks{};
};

namespace HONE_LEVEL {

template <class S>
void product_item(const ProductParams& p, const WorkArgs& args, int64_t index) {
  const int64_t down = p.blocks.row_blocks(p.m), across = p.blocks.column_blocks(p.n);
  const int64_t row = index % down * p.blocks.rows, column = index / down % across * p.blocks.columns;
  const S *a = work_in<S>(args, 0) + row * p.a_row, *b = work_in<S>(args, 1) + column * p.b_column;
  S* c = work_out<S>(args, 2) + row * p.c_row + column;
  index /= down * across;
  for (int i = p.loop_count - 1; i >= 0; index /= p.loops[i].extent, --i) {
    const int64_t at = index % p.loops[i].extent;
    a += at * p.loops[i].a, b += at * p.loops[i].b, c += at * p.loops[i].c;
  }
  const int64_t rows = p.m - row < p.blocks.rows ? p.m - row : p.blocks.rows;
  const int64_t columns = p.n - column < p.blocks.columns ? p.n - column : p.blocks.columns;
  const ProductScratch scratch(args.scratch);
  ProductResult result{scratch.c, ProductBlocks::kMaxColumns, rows, columns, p.k, nullptr};
  if constexpr (sizeof(S) == 4) result.data = c, result.row = p.c_row;
  if (p.bias) {
    to_floats(work_in<S>(args, 3) + column, scratch.bias, columns);
    result.bias = scratch.bias;
  }
  constexpr int64_t kFew = 16;  // rows and columns that copies would not pay for
  const auto pack_a = [&](int64_t k, int64_t terms) -> StridedFloats {
    const S* from = a + k * p.a_k;
    if constexpr (sizeof(S) == 4) {
      if (columns <= kFew || rows == 1) return {from, p.a_row, p.a_k};
    }
    return pack_rows(scratch.a, from, p.a_row, p.a_k, rows, terms);
  };
  const auto pack_b = [&](int64_t k, int64_t terms, int64_t j, int64_t width) -> StridedFloats {
    const S* from = b + k * p.b_k + j * p.b_column;
    if constexpr (sizeof(S) == 4) {
      if (rows <= kFew && p.b_column == 1 && width % kPanelFloats == 0) return {from, p.b_k, 1};
    }
    return pack_panel(scratch.b, from, p.b_k, p.b_column, terms, width);
  };
  const bool one = sizeof(S) == 4 && rows == 1 && p.b_column == 1 && columns > kPanelFloats;
  product_block(result, pack_a, pack_b, one ? columns / kPanelFloats * kPanelFloats : kPanelFloats);
  if constexpr (sizeof(S) != 4) {
    for (int64_t i = 0; i < rows; ++i) from_floats(result.data + i * result.row, c + i * p.c_row, columns);
  }
}

/// Work: memory is a, b, c and the bias if there is one; params ProductParams; items are blocks of all products.
inline void packed_product(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const ProductParams*>(args.params);
  with_floats(p.kind, [&]<class S>(S) {
    for (int64_t i = begin; i < end; ++i) product_item<S>(p, args, i);
  });
}

}  // namespace HONE_LEVEL
}  // namespace hone::math
