// Contractions whose order is part of their definition, in any type: terms ascending, one accumulator an element, fma
// for floats, bias last. For the types that no blocked product serves, and for small products.
#pragma once
#include "hone/math/direct_convolution.h"
#include "hone/math/packed_contraction.h"

namespace hone::math {

inline constexpr int64_t kPlainRows = 12;  ///< of a block of an outer product: what the widest panel takes at once

/// Items of a small product: panels of columns; with a single term, which is nothing but writing, blocks of rows.
inline int64_t small_product_items(const ProductParams& p, int64_t item) {
  const int64_t width = kPanelBytes / item;
  return p.k == 1 ? (p.m + kPlainRows - 1) / kPlainRows : (p.n + width - 1) / width;
}
/// Bytes of scratch: a panel where one is packed.
inline int64_t small_product_scratch(const ProductParams& p, int64_t item) {
  return p.b_column != 1 || p.n % (kPanelBytes / item) != 0 ? p.k * kPanelBytes : 0;
}

namespace HONE_LEVEL {

namespace plain_detail {

/// Rows of one panel of b with its columns side by side, zeros beyond the last column.
template <class T>
void pack(T* to, const T* b, const ProductParams& p, int64_t columns) {
  constexpr int64_t kWidth = kPanelBytes / static_cast<int64_t>(sizeof(T));
  for (int64_t k = 0; k < p.k; ++k, to += kWidth) {
    for (int64_t j = 0; j < columns; ++j) to[j] = b[k * p.b_k + j * p.b_column];
    for (int64_t j = columns; j < kWidth; ++j) to[j] = T(0);
  }
}

template <class T>
T multiply_add_one(T a, T b, T c) {
  if constexpr (kIsFloat<T>)
    return fma(Scalar<T>(a), Scalar<T>(b), Scalar<T>(c)).value;
  else
    return (Scalar<T>(a) * Scalar<T>(b) + Scalar<T>(c)).value;
}

/// The source element that a position meets with a tap, or -1.
inline int64_t source_of(const WindowAxis& a, int64_t position, int64_t tap) {
  const int64_t at = position * a.step + tap * a.tap_step + a.origin;
  return at < 0 || at % a.divide != 0 || at / a.divide >= a.source ? -1 : at / a.divide;
}
/// f(tap, place among the sources of a sample) for all taps of a position that meet an element.
template <class F>
void each_tap(const ConvParams& p, int64_t position, F f) {
  const WindowAxis *const a = p.axes, *const b = a + 1, *const c = a + 2;
  const int64_t z = position % c->positions, y = position / c->positions % b->positions,
                x = position / c->positions / b->positions;
  int64_t tap = 0;
  for (int64_t i = 0; i < a->taps; ++i) {
    for (int64_t j = 0; j < b->taps; ++j) {
      for (int64_t k = 0; k < c->taps; ++k, ++tap) {
        const int64_t at = source_of(*a, x, i), bt = source_of(*b, y, j), ct = source_of(*c, z, k);
        if (at >= 0 && bt >= 0 && ct >= 0) f(tap, (at * b->source + bt) * c->source + ct);
      }
    }
  }
}
inline int64_t sources(const ConvParams& p) { return p.axes[0].source * p.axes[1].source * p.axes[2].source; }

/// to[i] += x from[i * step]
template <class T>
void add_multiple(T* to, T x, const T* from, int64_t step, int64_t n) {
  if (step == 1) {
    for (int64_t i = 0; i < n; ++i) to[i] = multiply_add_one(x, from[i], to[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = multiply_add_one(x, from[i * step], to[i]);
  }
}

}  // namespace plain_detail

/// Items are small_product_items of each product. Memory: a, b, c and the bias if there is one.
template <class T>
void small_product(const WorkArgs& args, int64_t begin, int64_t end) {
  constexpr int64_t kWidth = kPanelBytes / static_cast<int64_t>(sizeof(T));
  const auto& p = *static_cast<const ProductParams*>(args.params);
  const int64_t across = (p.n + kWidth - 1) / kWidth, items = small_product_items(p, sizeof(T));
  T* const packed = static_cast<T*>(static_cast<void*>(args.scratch));
  const auto run = [&](int64_t product, int64_t row, int64_t rows, int64_t index, int64_t count) {
    const int64_t column = index * kWidth, left = p.n - column, columns = left < count * kWidth ? left : count * kWidth;
    int64_t at_a = row * p.a_row, at_b = column * p.b_column, at_c = row * p.c_row + column;
    for (int i = p.loop_count; i-- > 0; product /= p.loops[i].extent) {
      const int64_t at = product % p.loops[i].extent;
      at_a += at * p.loops[i].a, at_b += at * p.loops[i].b, at_c += at * p.loops[i].c;
    }
    PanelArgs panel_args{.a = work_in<T>(args, 0) + at_a,
                         .a_row = p.a_row,
                         .a_k = p.a_k,
                         .b = work_in<T>(args, 1) + at_b,
                         .b_k = p.b_k,
                         .c = work_out<T>(args, 2) + at_c,
                         .c_row = p.c_row,
                         .rows = rows,
                         .columns = columns,
                         .k = p.k,
                         .bias = p.bias ? work_in<T>(args, 3) + column : nullptr};
    if (p.b_column != 1 || columns < kWidth) {
      plain_detail::pack(packed, work_in<T>(args, 1) + at_b, p, columns);
      panel_args.b = packed, panel_args.b_k = kWidth;
    }
    panel<T>(panel_args);
  };
  for (int64_t i = begin; i < end;) {
    if (p.k == 1) {
      const int64_t row = i % items * kPlainRows, rows = p.m - row < kPlainRows ? p.m - row : kPlainRows;
      for (int64_t j = 0; j < across; ++j) run(i / items, row, rows, j, 1);
      ++i;
    } else {  // one row runs through whole panels
      const int64_t index = i % items, whole = p.n / kWidth - index, most = end - i < whole ? end - i : whole;
      const int64_t count = p.m == 1 && p.b_column == 1 && most > 1 ? most : 1;
      run(i / items, 0, p.m, index, count);
      i += count;
    }
  }
}

/// Items are positions of the results of all samples. Memory: source, w, the bias if there is one, result. The
/// gradient by input is one too, with the windows the other way round. What lies in the padding is no term.
template <class T>
void plain_convolution(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const ConvParams*>(args.params);
  const int64_t width = p.groups * p.columns, places = p.places(), sources = plain_detail::sources(p);
  for (int64_t i = begin; i < end; ++i) {
    T* const to = work_out<T>(args, p.bias ? 3 : 2) + i * width;
    for (int64_t j = 0; j < width; ++j) to[j] = T(0);
    plain_detail::each_tap(p, i % places, [&](int64_t tap, int64_t source) {
      const T* const x = work_in<T>(args, 0) + (i / places * sources + source) * p.groups * p.channels;
      for (int64_t g = 0; g < p.groups; ++g) {
        const T* const w = work_in<T>(args, 1) + tap * p.w_tap + g * p.w_group;
        for (int64_t c = 0; c < p.channels; ++c)
          plain_detail::add_multiple(to + g * p.columns, x[g * p.channels + c], w + c * p.w_channel, p.w_column,
                                     p.columns);
      }
    });
    if (!p.bias) continue;
    for (int64_t j = 0; j < width; ++j) to[j] = (Scalar<T>(to[j]) + Scalar<T>(work_in<T>(args, 2)[j])).value;
  }
}

/// Items are taps and channels of the kernel. Memory: source, the result's cotangent, the kernel's gradient.
template <class T>
void plain_kernel_gradient(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const ConvParams*>(args.params);
  const int64_t width = p.groups * p.columns, places = p.places(), sources = plain_detail::sources(p);
  for (int64_t i = begin; i < end; ++i) {
    T* const to = work_out<T>(args, 2) + i * width;
    for (int64_t j = 0; j < width; ++j) to[j] = T(0);
    const int64_t tap = i / p.channels, channel = i % p.channels, taps = p.axes[2].taps;
    const int64_t t2 = tap % taps, t1 = tap / taps % p.axes[1].taps, t0 = tap / taps / p.axes[1].taps;
    for (int64_t at = 0; at < p.batch * places; ++at) {
      const int64_t place = at % places, z = place % p.axes[2].positions, y = place / p.axes[2].positions;
      const int64_t a = plain_detail::source_of(p.axes[0], y / p.axes[1].positions, t0),
                    b = plain_detail::source_of(p.axes[1], y % p.axes[1].positions, t1),
                    c = plain_detail::source_of(p.axes[2], z, t2);
      if (a < 0 || b < 0 || c < 0) continue;
      const int64_t source = at / places * sources + (a * p.axes[1].source + b) * p.axes[2].source + c;
      const T* const x = work_in<T>(args, 0) + source * p.groups * p.channels + channel;
      for (int64_t g = 0; g < p.groups; ++g)
        plain_detail::add_multiple(to + g * p.columns, x[g * p.channels],
                                   work_in<T>(args, 1) + at * width + g * p.columns, 1, p.columns);
    }
  }
}

}  // namespace HONE_LEVEL
}  // namespace hone::math
