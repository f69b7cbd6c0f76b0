// Small contractions and the rows of attention, for one instruction-set level.
#pragma once
#include "hone/math/exp_log.h"
#include "hone/math/kernels.h"
#include "hone/math/vec.h"

namespace hone::math {

/// c[i, j] = sum over k of a[i, k] b[k, j] for one panel of at most kPanelBytes of columns: k ascending from +0 (or
/// from c if `accumulate`), by fma for floats, wrapping for integers; then + bias[j] if there is one. The same bits at
/// any level.
struct PanelArgs {
  const void* a = nullptr;
  int64_t a_row = 0, a_k = 0;  ///< strides in elements
  const void* b;  ///< rows of one full panel (what lies beyond `columns` is read, not used), or of several if rows = 1
  int64_t b_k;
  void* c;
  int64_t c_row;
  int64_t rows, columns, k;
  const void* bias = nullptr;
  bool accumulate = false;
};
inline constexpr int kPanelBytes = 64;

/// One row of attention scores s[0, n), readable and writable up to the next multiple of 16 (what is there is lost):
/// online softmax over blocks of keys. mask (true = attend) may be null.
struct AttentionRow {
  float* s;
  int64_t n;
  const bool* mask;
  float scale;
};

namespace HONE_LEVEL {

template <class T>
Vec<T> multiply_add(Vec<T> a, Vec<T> b, Vec<T> c) {
  if constexpr (kIsFloat<T>)
    return fma(a, b, c);
  else
    return a * b + c;
}

template <class T>
inline constexpr int kPanelVectors = kPanelBytes / kVectorBytes;

/// Where a panel's a lies: runs of terms in which rows lie alike.
template <class T>
struct StridedRows {
  const PanelArgs& p;
  template <int kRows>
  struct Run {
    const T* rows[kRows];
    int64_t step, terms;
    const T& at(int row, int64_t term) const { return rows[row][term * step]; }
  };
  int64_t runs() const { return 1; }
  template <int kRows>
  Run<kRows> run(int64_t, int64_t row) const {
    Run<kRows> run{{}, p.a_k, p.k};
    for (int i = 0; i < kRows; ++i) run.rows[i] = static_cast<const T*>(p.a) + (row + i) * p.a_row;
    return run;
  }
};

/// kRows rows of the panel; the accumulators stay in registers.
template <class T, int kRows, class A>
void panel_rows(const PanelArgs& p, const A& a, int64_t row) {
  constexpr int kVectors = kPanelVectors<T>, kLanes = Vec<T>::kLanes;
  const T* b = static_cast<const T*>(p.b);
  T* c = static_cast<T*>(p.c) + row * p.c_row;
  Vec<T> sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const int64_t left = p.columns - v * kLanes;
      const T* from = c + i * p.c_row + v * kLanes;
      if (!p.accumulate || left <= 0)
        sum[i][v] = Vec<T>(T(0));
      else
        sum[i][v] = left >= kLanes ? Vec<T>::load(from) : Vec<T>::load_partial(from, left, T(0));
    }
  }
  for (int64_t r = 0; r < a.runs(); ++r) {
    const auto run = a.template run<kRows>(r, row);
    for (int64_t k = 0; k < run.terms; ++k, b += p.b_k) {
      Vec<T> column[kVectors];
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) column[v] = Vec<T>::load(b + v * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const Vec<T> x(run.at(i, k));
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) sum[i][v] = multiply_add(x, column[v], sum[i][v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    const int64_t left = p.columns - v * kLanes;
    if (left <= 0) break;
    const int64_t n = left < kLanes ? left : kLanes;
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      Vec<T> y = sum[i][v];
      if (p.bias) y = y + Vec<T>::load_partial(static_cast<const T*>(p.bias) + v * kLanes, n, T(0));
      if (n == kLanes)
        y.store(c + i * p.c_row + v * kLanes);
      else
        y.store_partial(c + i * p.c_row + v * kLanes, n);
    }
  }
}

/// One row and kVectors vectors of columns: as many chains of sums at once as hide their latency.
template <class T, int kVectors>
void row_vectors(const PanelArgs& p, int64_t column) {
  constexpr int kLanes = Vec<T>::kLanes;
  const T *a = static_cast<const T*>(p.a), *b = static_cast<const T*>(p.b) + column;
  T* c = static_cast<T*>(p.c) + column;
  Vec<T> sum[kVectors];
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) sum[v] = p.accumulate ? Vec<T>::load(c + v * kLanes) : Vec<T>(T(0));
  for (int64_t k = 0; k < p.k; ++k, a += p.a_k, b += p.b_k) {
    const Vec<T> x(*a);
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sum[v] = multiply_add(x, Vec<T>::load(b + v * kLanes), sum[v]);
  }
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    Vec<T> y = sum[v];
    if (p.bias) y = y + Vec<T>::load(static_cast<const T*>(p.bias) + column + v * kLanes);
    y.store(c + v * kLanes);
  }
}

/// kTerms rows of b added to the row of results, from its first column to its last.
template <class T, int kTerms>
void add_terms(const T* a, int64_t a_k, const T* b, int64_t b_k, T* c, int64_t columns, bool accumulate) {
  constexpr int kLanes = Vec<T>::kLanes;
  Vec<T> x[kTerms];
#pragma GCC unroll 16
  for (int k = 0; k < kTerms; ++k) x[k] = Vec<T>(a[k * a_k]);
  for (int64_t j = 0; j < columns; j += kLanes) {
    Vec<T> sum = accumulate ? Vec<T>::load(c + j) : Vec<T>(T(0));
#pragma GCC unroll 16
    for (int k = 0; k < kTerms; ++k) sum = multiply_add(x[k], Vec<T>::load(b + k * b_k + j), sum);
    sum.store(c + j);
  }
}

/// One row and whole panels of a matrix that lies beyond the first cache: it is read in the order of its memory, and
/// results stay in the cache instead of registers.
template <class T>
void row_stream(const PanelArgs& p) {
  constexpr int kTerms = 8;
  const T *a = static_cast<const T*>(p.a), *b = static_cast<const T*>(p.b), *bias = static_cast<const T*>(p.bias);
  T* c = static_cast<T*>(p.c);
  int64_t k = 0;
  for (; k + kTerms <= p.k; k += kTerms)
    add_terms<T, kTerms>(a + k * p.a_k, p.a_k, b + k * p.b_k, p.b_k, c, p.columns, k > 0 || p.accumulate);
  for (; k < p.k; ++k) add_terms<T, 1>(a + k * p.a_k, p.a_k, b + k * p.b_k, p.b_k, c, p.columns, k > 0 || p.accumulate);
  for (int64_t j = 0; bias && j < p.columns; j += Vec<T>::kLanes)
    (Vec<T>::load(c + j) + Vec<T>::load(bias + j)).store(c + j);
}

/// One row and whole panels.
template <class T>
void row_panels(const PanelArgs& p) {
  constexpr int64_t kFirstCache = 32 << 10;
  if (p.k > 0 && p.k * p.columns * static_cast<int64_t>(sizeof(T)) > kFirstCache) return row_stream<T>(p);
  int64_t column = 0;
  const auto run = [&]<int kVectors>() {
    if constexpr (kVectors >= kPanelVectors<T>) {
      constexpr int64_t kStep = kVectors * Vec<T>::kLanes;
      for (; column + kStep <= p.columns; column += kStep) row_vectors<T, kVectors>(p, column);
    }
  };
  run.template operator()<8>();
  run.template operator()<4>();
  run.template operator()<2>();
  run.template operator()<1>();
}

template <class T, class A>
void panel_of(const PanelArgs& p, const A& a) {
  constexpr int kRows = kVectorBytes == 16 ? 2 : kVectorBytes == 32 ? 6 : 12;  // what the registers hold
  int64_t row = 0;
  const auto some = [&]<int kSome>() {
    panel_rows<T, kSome>(p, a, row);
    row += kSome;
  };
  for (int64_t left = p.rows; left > 0; left = p.rows - row) {
    if constexpr (kRows == 12) {  // 16 rows are 8 and 8: 4 would wait for each other
      if (left >= 8 && (left < 12 || left == 16)) {
        some.template operator()<8>();
        continue;
      }
    }
    if (left >= kRows) {
      some.template operator()<kRows>();
    } else if (kRows > 4 && left >= 4) {
      some.template operator()<4>();
    } else {
      some.template operator()<1>();
    }
  }
}

template <class T>
void panel(const PanelArgs& p) {
  if (p.rows == 1 && p.columns % (kPanelBytes / static_cast<int64_t>(sizeof(T))) == 0) return row_panels<T>(p);
  panel_of<T>(p, StridedRows<T>{p});
}

/// A result that does not depend on the level: as many lanes as the widest one, folded in halves.
struct PartialFloats {
  static constexpr int kVectors = 64 / kVectorBytes, kLanes = Vec<float>::kLanes;
  Vec<float> part[kVectors];
  explicit PartialFloats(float start) {
    for (auto& v : part) v = Vec<float>(start);
  }
  template <class F>
  float fold(F f) const {
    float lanes[16];
    for (int v = 0; v < kVectors; ++v) part[v].store(lanes + v * kLanes);
    for (int width = 8; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) lanes[i] = f(lanes[i], lanes[i + width]);
    }
    return lanes[0];
  }
};

/// Scores as softmax sees them: scaled, -Inf where masked and beyond the row.
inline Vec<float> masked_scores(const AttentionRow& r, int64_t i) {
  constexpr int kLanes = Vec<float>::kLanes;
  constexpr float kMinusInf = -__builtin_inff();
  const Vec<float> s = Vec<float>::load(r.s + i) * Vec<float>(r.scale);
  const int64_t left = r.n - i;
  if (!r.mask && left >= kLanes) return s;
  int attend[kLanes];
  for (int j = 0; j < kLanes; ++j) attend[j] = j < left && (!r.mask || r.mask[i + j]);
  return select(Vec<int>::load(attend) != Vec<int>(0), s, Vec<float>(kMinusInf));
}
template <class F>
void each_vector(int64_t length, F f) {
  constexpr int kLanes = Vec<float>::kLanes;
  for (int64_t i = 0; i < length; i += 16) {
    for (int v = 0; v < PartialFloats::kVectors; ++v) {
      const int64_t at = i + v * kLanes, left = length - at;
      if (left > 0) f(at, left < kLanes ? left : kLanes, v);
    }
  }
}

/// s becomes exp(scale s - new maximum), 0 where masked; updates maximum (from -Inf) and sum; returns the factor for
/// what was accumulated before.
inline float softmax_row(const AttentionRow& r, float& maximum, float& sum) {
  PartialFloats largest(-__builtin_inff()), total(0);
  each_vector(r.n, [&](int64_t i, int64_t, int v) {
    const Vec<float> s = masked_scores(r, i);
    s.store(r.s + i);
    largest.part[v] = max(largest.part[v], s);
  });
  const float block = largest.fold([](float a, float b) { return a > b || a != a ? a : b; });
  const float next = maximum > block || maximum != maximum ? maximum : block;
  if (next == -__builtin_inff()) {  // nothing to attend to so far
    for (int64_t i = 0; i < r.n; ++i) r.s[i] = 0;
    return 1;
  }
  each_vector(r.n, [&](int64_t i, int64_t, int v) {
    const Vec<float> p = exp(Vec<float>::load(r.s + i) - Vec<float>(next));
    total.part[v] = total.part[v] + p;
    p.store(r.s + i);
  });
  const float factor = maximum == next ? 1.0F : exp(Scalar<float>(maximum - next)).value;
  sum = sum * factor + total.fold([](float a, float b) { return a + b; });
  maximum = next;
  return factor;
}

/// s becomes the probability exp(scale s - lse), 0 where masked.
inline void probability_row(const AttentionRow& r, float lse) {
  if (lse == -__builtin_inff()) {
    for (int64_t i = 0; i < r.n; ++i) r.s[i] = 0;
    return;
  }
  each_vector(r.n, [&](int64_t i, int64_t, int) { exp(masked_scores(r, i) - Vec<float>(lse)).store(r.s + i); });
}

/// ds[i] = p[i] (dp[i] - delta) scale, over dp; both padded as AttentionRow's s.
inline void score_gradient_row(const float* p, float* dp, int64_t length, float delta, float scale) {
  each_vector(length, [&](int64_t i, int64_t, int) {
    const Vec<float> ds = Vec<float>::load(p + i) * (Vec<float>::load(dp + i) - Vec<float>(delta)) * Vec<float>(scale);
    ds.store(dp + i);
  });
}

/// In kPanelBytes / 4 partial sums, folded in halves.
inline float dot_row(const float* a, const float* b, int64_t length) {
  PartialFloats total(0);
  each_vector(length, [&](int64_t i, int64_t n, int v) {
    const bool whole = n == Vec<float>::kLanes;
    const Vec<float> x = whole ? Vec<float>::load(a + i) : Vec<float>::load_partial(a + i, n, 0.0F);
    const Vec<float> y = whole ? Vec<float>::load(b + i) : Vec<float>::load_partial(b + i, n, 0.0F);
    total.part[v] = fma(x, y, total.part[v]);
  });
  return total.fold([](float x, float y) { return x + y; });
}

inline void scale_row(float* x, int64_t n, float factor) {
  for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

}  // namespace HONE_LEVEL
}  // namespace hone::math
