// Convolutions and their gradients as blocked products with a fixed order (packed_contraction.h): what a result sums
// over ascends by kernel position, then channel; padding counts as zeros. The kernel's gradient sums over samples and
// positions, in pieces that depend on sizes alone and are added in a fixed tree.
#pragma once
#include "hone/math/packed_contraction.h"

namespace hone::math {

/// Where windows lie along one axis: position p meets source element (p * step + tap * tap_step + origin) / divide for
/// each tap, if that is whole and within [0, source); zero otherwise.
struct WindowAxis {
  int64_t positions = 1, taps = 1, source = 1;
  int64_t step = 1, tap_step = 1, origin = 0, divide = 1;
};

/// result[n, p, g, j] = sum over taps t and channels c of a group of source[n, window(p, t), g, c] w[t, g, c, j]
/// (+ bias[g, j]); for the kernel's gradient w is the result and result the operand.
struct ConvParams {
  FloatKind kind = FloatKind::F32;
  int32_t bias = 0;
  WindowAxis axes[3] = {};
  int64_t batch = 1, groups = 1;
  int64_t channels = 1, columns = 1;                            ///< c and j of a group
  int64_t w_tap = 1, w_channel = 1, w_column = 1, w_group = 1;  ///< strides of w
  int32_t pieces = 1;  ///< of the samples, for the kernel's gradient: floats [piece, w...]
  ProductBlocks blocks{};

  constexpr int64_t taps() const { return axes[0].taps * axes[1].taps * axes[2].taps; }
  constexpr int64_t places() const { return axes[0].positions * axes[1].positions * axes[2].positions; }
  /// Positions along an axis fall into so many classes, each of which meets taps of its own.
  constexpr int64_t phases() const { return axes[0].divide * axes[1].divide * axes[2].divide; }
  constexpr int64_t most_places() const {
    int64_t n = 1;
    for (const WindowAxis& axis : axes) n *= (axis.positions + axis.divide - 1) / axis.divide;
    return n;
  }
};

namespace HONE_LEVEL {

/// The positions and taps of one phase: position first + i * stride meets source base + i * step + t * tap_step with
/// tap first_tap + t * tap_stride (all whole).
struct PhaseAxis {
  int64_t positions, first, stride, taps, first_tap, tap_stride;
  int64_t source, base, step, tap_step;
  int64_t divide = 1;  ///< other than 1 only where all positions and taps are looked at

  /// All positions with all taps.
  explicit PhaseAxis(const WindowAxis& a)
      : positions(a.positions),
        first(0),
        stride(1),
        taps(a.taps),
        first_tap(0),
        tap_stride(1),
        source(a.source),
        base(a.origin),
        step(a.step),
        tap_step(a.tap_step),
        divide(a.divide) {}

  PhaseAxis(const WindowAxis& a, int64_t phase)
      : positions(phase < a.positions ? (a.positions - phase + a.divide - 1) / a.divide : 0),
        first(phase),
        stride(a.divide),
        taps(0),
        first_tap(0),
        tap_stride(1),
        source(a.source),
        base(0),
        step(a.step),
        tap_step(a.tap_step) {
    const auto at = [&](int64_t tap) { return phase * a.step + a.origin + tap * a.tap_step; };
    while (first_tap < a.taps && at(first_tap) % a.divide != 0) ++first_tap;
    if (first_tap == a.taps) return;
    while (tap_stride * a.tap_step % a.divide != 0) ++tap_stride;
    taps = (a.taps - first_tap + tap_stride - 1) / tap_stride;
    base = at(first_tap) / a.divide;
    tap_step = tap_stride * a.tap_step / a.divide;
  }
};

/// The matrix of all windows of a phase: a row for each sample and position, a column for each tap and channel.
struct Windows {
  PhaseAxis axes[3];
  int64_t channels, stride, batch;  ///< of a group, elements of one position, samples

  Windows(const ConvParams& p, int64_t phase)
      : axes{PhaseAxis(p.axes[0], phase / p.axes[2].divide / p.axes[1].divide),
             PhaseAxis(p.axes[1], phase / p.axes[2].divide % p.axes[1].divide),
             PhaseAxis(p.axes[2], phase % p.axes[2].divide)},
        channels(p.channels),
        stride(p.channels * p.groups),
        batch(p.batch) {}

  /// Of all phases; taps that meet no element read zeros.
  explicit Windows(const ConvParams& p)
      : axes{PhaseAxis(p.axes[0]), PhaseAxis(p.axes[1]), PhaseAxis(p.axes[2])},
        channels(p.channels),
        stride(p.channels * p.groups),
        batch(p.batch) {}

  int64_t rows() const { return batch * axes[0].positions * axes[1].positions * axes[2].positions; }
  int64_t columns() const { return axes[0].taps * axes[1].taps * axes[2].taps * channels; }
  /// A position in result order, from which rows go on.
  struct Place {
    int64_t n, at[3];
  };
  Place place(int64_t row) const {
    Place p;
    for (int i = 2; i >= 0; --i) {
      p.at[i] = row % axes[i].positions;
      row /= axes[i].positions;
    }
    p.n = row;
    return p;
  }
  void next(Place& p) const {
    for (int i = 2; i >= 0; --i) {
      if (++p.at[i] < axes[i].positions) return;
      p.at[i] = 0;
    }
    ++p.n;
  }
  int64_t source(int axis, int64_t position, int64_t tap) const {
    const PhaseAxis& a = axes[axis];
    const int64_t at = a.base + position * a.step + tap * a.tap_step;
    if (a.divide == 1) return at;
    return at % a.divide != 0 ? -1 : at / a.divide;
  }
  bool inside(int axis, int64_t at) const { return at >= 0 && at < axes[axis].source; }
  /// Where a line of the source begins, or -1 in the padding.
  int64_t line(const Place& p, int64_t tap0, int64_t tap1) const {
    const int64_t a = source(0, p.at[0], tap0), b = source(1, p.at[1], tap1);
    if (!inside(0, a) || !inside(1, b)) return -1;
    return ((p.n * axes[0].source + a) * axes[1].source + b) * axes[2].source * stride;
  }

  /// Whether addresses serve: taps meet whole positions, and pointers are fewer than the floats they stand for.
  bool addressable() const {
    constexpr int64_t kFewest = 8;
    return channels >= kFewest && axes[0].divide == 1 && axes[1].divide == 1 && axes[2].divide == 1;
  }
  /// Where a tap's elements lie for rows from `row` on, `zeros` for those in the padding.
  void addresses(const float* x, int64_t row, int64_t rows, int64_t tap, const float* zeros, const float** to) const {
    const int64_t tap2 = tap % axes[2].taps, tap1 = tap / axes[2].taps % axes[1].taps,
                  tap0 = tap / axes[2].taps / axes[1].taps;
    const PhaseAxis& across = axes[2];
    for (Place p = place(row); rows > 0; next(p)) {
      const int64_t left = across.positions - p.at[2], n = rows < left ? rows : left;
      const int64_t from = line(p, tap0, tap1);
      const int64_t first = source(2, p.at[2], tap2);
      for (int64_t i = 0; i < n; ++i) {
        const int64_t at = first + i * across.step;
        to[i] = from >= 0 && inside(2, at) ? x + from + at * stride : zeros;
      }
      to += n, rows -= n;
      p.at[2] += n - 1;
    }
  }

  /// Columns [begin, end) of the row of a place, as floats.
  template <class S>
  void copy_row(const S* x, const Place& p, int64_t begin, int64_t end, float* to) const {
    const int64_t line_columns = axes[2].taps * channels;
    const int64_t at = source(2, p.at[2], 0);
    const bool runs_on = axes[2].tap_step == 1 && axes[2].divide == 1 && channels == stride;
    while (begin < end) {
      const int64_t group = begin / line_columns, first = begin - group * line_columns;
      const int64_t last = line_columns < first + end - begin ? line_columns : first + end - begin;
      begin += last - first;
      const int64_t from = line(p, group / axes[1].taps, group % axes[1].taps);
      if (from < 0) {
        zero_floats(to, last - first);
        to += last - first;
      } else if (runs_on) {  // the taps of a line follow each other: padding, elements, padding
        const auto bound = [&](int64_t c) { return c < first ? first : c > last ? last : c; };
        const int64_t low = bound(-at * channels), high = bound((axes[2].source - at) * channels);
        zero_floats(to, low - first);
        if (high > low) to_floats(x + from + at * channels + low, to + low - first, high - low);
        const int64_t written = high > low ? high : low;
        zero_floats(to + written - first, last - written);
        to += last - first;
      } else {
        for (int64_t c = first; c < last;) {
          const int64_t tap = c / channels, channel = c - tap * channels;
          const int64_t n = channels - channel < last - c ? channels - channel : last - c;
          const int64_t position = source(2, p.at[2], tap);
          if (inside(2, position))
            to_floats(x + from + position * stride + channel, to, n);
          else
            zero_floats(to, n);
          to += n, c += n;
        }
      }
    }
  }
  /// Rows x columns from (row, column) on, `step` floats from row to row.
  template <class S>
  void copy(const S* x, int64_t row, int64_t rows, int64_t column, int64_t columns, float* to, int64_t step) const {
    Place p = place(row);
    for (int64_t i = 0; i < rows; ++i, next(p)) copy_row(x, p, column, column + columns, to + i * step);
  }
};

alignas(64) inline constexpr float kZeroFloats[ProductBlocks::kTerms] = {};  // read for padding

template <class S>
void convolve_item(const ConvParams& p, const WorkArgs& args, int64_t index) {
  const int64_t across = p.blocks.column_blocks(p.columns), down = p.blocks.row_blocks(p.batch * p.most_places());
  const int64_t column = index % across * p.blocks.columns, row = index / across % down * p.blocks.rows;
  const int64_t group = index / across / down % p.groups;
  const Windows windows(p, index / across / down / p.groups);
  if (row >= windows.rows()) return;
  const int64_t rows = windows.rows() - row < p.blocks.rows ? windows.rows() - row : p.blocks.rows;
  const int64_t columns = p.columns - column < p.blocks.columns ? p.columns - column : p.blocks.columns;
  const S *x = work_in<S>(args, 0) + group * p.channels, *w = work_in<S>(args, 1) + group * p.w_group;
  const int64_t c_row = p.groups * p.columns;
  S* c = work_out<S>(args, 2) + group * p.columns + column;

  const ProductScratch scratch(args.scratch);
  const bool direct = sizeof(S) == 4 && p.phases() == 1;
  ProductResult result{scratch.c, ProductBlocks::kMaxColumns, rows, columns, windows.columns(), nullptr};
  if constexpr (sizeof(S) == 4) {
    if (direct) result.data = c + row * c_row, result.row = c_row;
  }
  if (p.bias) {
    to_floats(work_in<S>(args, 3) + group * p.columns + column, scratch.bias, columns);
    result.bias = scratch.bias;
  }
  const auto pack_a = [&](int64_t k, int64_t terms) -> StridedFloats {
    constexpr int64_t kStep = ProductBlocks::kTerms + 16;
    windows.copy(x, row, rows, k, terms, scratch.a, kStep);
    return {scratch.a, kStep, 1};
  };
  int64_t run_terms[ProductBlocks::kTerms];
  const auto address_a = [&](int64_t k, int64_t terms) -> FloatRows {
    const float** const pointers = static_cast<const float**>(static_cast<void*>(scratch.a));
    int64_t runs = 0;
    for (const int64_t end = k + terms; k < end; k += run_terms[runs++]) {
      const int64_t tap = k / p.channels, channel = k % p.channels, left = p.channels - channel;
      run_terms[runs] = left < end - k ? left : end - k;
      windows.addresses(reinterpret_cast<const float*>(x) + channel, row, rows, tap, kZeroFloats,
                        pointers + runs * ProductBlocks::kMaxRows);
    }
    return {pointers, ProductBlocks::kMaxRows, run_terms, runs};
  };
  const auto tap_of = [&](int64_t k) {
    const int64_t t = k / p.channels, t2 = t % windows.axes[2].taps,
                  t1 = t / windows.axes[2].taps % windows.axes[1].taps,
                  t0 = t / windows.axes[2].taps / windows.axes[1].taps;
    const auto at = [&](int axis, int64_t i) {
      return windows.axes[axis].first_tap + i * windows.axes[axis].tap_stride;
    };
    return (at(0, t0) * p.axes[1].taps + at(1, t1)) * p.axes[2].taps + at(2, t2);
  };
  const auto pack_b = [&](int64_t k, int64_t terms, int64_t j, int64_t width) -> StridedFloats {
    for (int64_t done = 0; done < terms;) {
      const int64_t channel = (k + done) % p.channels;
      const int64_t n = p.channels - channel < terms - done ? p.channels - channel : terms - done;
      pack_panel(scratch.b + done * 16,
                 w + tap_of(k + done) * p.w_tap + channel * p.w_channel + (column + j) * p.w_column, p.w_channel,
                 p.w_column, n, width);
      done += n;
    }
    return {scratch.b, 16, 1};
  };
  if (sizeof(S) == 4 && windows.addressable())
    product_block(result, address_a, pack_b);
  else
    product_block(result, pack_a, pack_b);
  if (direct) return;
  Windows::Place place = windows.place(row);
  for (int64_t i = 0; i < rows; ++i, windows.next(place)) {
    int64_t to = place.n;
    for (int axis = 0; axis < 3; ++axis) {
      const PhaseAxis& a = windows.axes[axis];
      to = to * p.axes[axis].positions + a.first + place.at[axis] * a.stride;
    }
    from_floats(result.data + i * result.row, c + to * c_row, columns);
  }
}

/// Work: memory is the source, w, the result and the bias if there is one; params ConvParams; items are blocks of
/// results of each phase and group. The gradient by input is one too, with the windows the other way round.
inline void convolve(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const ConvParams*>(args.params);
  with_floats(p.kind, [&]<class S>(S) {
    for (int64_t i = begin; i < end; ++i) convolve_item<S>(p, args, i);
  });
}

/// Terms [begin, end) of a piece of `units`.
inline int64_t piece_begin(int64_t units, int64_t piece, int64_t pieces) { return units * piece / pieces; }

template <class S>
void kernel_gradient_item(const ConvParams& p, const WorkArgs& args, int64_t index) {
  const int64_t height = p.taps() * p.channels;
  const int64_t across = p.blocks.column_blocks(p.columns), down = p.blocks.row_blocks(height);
  const int64_t column = index % across * p.blocks.columns, row = index / across % down * p.blocks.rows;
  const int64_t group = index / across / down % p.groups, piece = index / across / down / p.groups;
  const Windows windows(p);
  const int64_t first = piece_begin(p.batch, piece, p.pieces) * p.places();
  const int64_t terms = piece_begin(p.batch, piece + 1, p.pieces) * p.places() - first;
  const int64_t rows = height - row < p.blocks.rows ? height - row : p.blocks.rows;
  const int64_t columns = p.columns - column < p.blocks.columns ? p.columns - column : p.blocks.columns;
  const S *x = work_in<S>(args, 0) + group * p.channels, *ct = work_in<S>(args, 1) + group * p.columns + column;
  const int64_t ct_row = p.groups * p.columns;
  float* c = work_out<float>(args, 2) + piece * height * ct_row + row * ct_row + group * p.columns + column;
  const ProductScratch scratch(args.scratch);
  const auto pack_a = [&](int64_t k, int64_t n) -> StridedFloats {
    constexpr int64_t kStep = ProductBlocks::kMaxRows + 16;
    windows.copy(x, first + k, n, row, rows, scratch.a, kStep);
    return {scratch.a, 1, kStep};
  };
  const auto pack_b = [&](int64_t k, int64_t n, int64_t j, int64_t width) {
    return pack_panel(scratch.b, ct + (first + k) * ct_row + j, ct_row, 1, n, width);
  };
  if (sizeof(S) != 4 || !windows.addressable()) {
    product_block({c, ct_row, rows, columns, terms, nullptr}, pack_a, pack_b);
    return;
  }
  const float** const pointers = static_cast<const float**>(static_cast<void*>(scratch.a));
  for (int64_t done = 0; done < rows;) {  // tap by tap
    const int64_t tap = (row + done) / p.channels, channel = (row + done) % p.channels;
    const int64_t left = p.channels - channel, some = left < rows - done ? left : rows - done;
    const auto address_a = [&](int64_t k, int64_t n) -> FloatTerms {
      windows.addresses(reinterpret_cast<const float*>(x) + channel, first + k, n, tap, kZeroFloats, pointers);
      return {pointers, n};
    };
    product_block({c + done * ct_row, ct_row, some, columns, terms, nullptr}, address_a, pack_b);
    done += some;
  }
}

/// Work: memory is the source, the result's cotangent and floats [piece, taps, channels, groups * columns]; items are
/// blocks of each piece and group.
inline void kernel_gradient(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const ConvParams*>(args.params);
  with_floats(p.kind, [&]<class S>(S) {
    for (int64_t i = begin; i < end; ++i) kernel_gradient_item<S>(p, args, i);
  });
}

// --- depthwise: one channel a group, vectors over channels ---

/// Channels [c, c + 4 vectors) of positions of a line share each weight they load.
template <class S, int kPositions>
void depthwise_positions(const ConvParams& p, const Windows& w, const Windows::Place& place, const S* x,
                         const S* kernel, const S* bias, S* to, int64_t to_step, int64_t c, int64_t lanes) {
  using V = Vec<float>;
  const auto read = [&](const S* from) -> V {
    if constexpr (sizeof(S) == 4) return lanes == V::kLanes ? V::load(from) : V::load_partial(from, lanes, 0.0F);
    float floats[V::kLanes] = {};
    to_floats(from, floats, lanes);
    return V::load(floats);
  };
  V sum[kPositions];
  for (V& s : sum) s = V(0.0F);
  const PhaseAxis &a0 = w.axes[0], &a1 = w.axes[1], &a2 = w.axes[2];
  for (int64_t t0 = 0; t0 < a0.taps; ++t0) {
    for (int64_t t1 = 0; t1 < a1.taps; ++t1) {
      const int64_t line = w.line(place, t0, t1);
      const int64_t tap_line =
          ((a0.first_tap + t0 * a0.tap_stride) * p.axes[1].taps + a1.first_tap + t1 * a1.tap_stride) * p.axes[2].taps;
      for (int64_t t2 = 0; t2 < a2.taps; ++t2) {
        const V weight = read(kernel + (tap_line + a2.first_tap + t2 * a2.tap_stride) * w.stride + c);
        const int64_t at = w.source(2, place.at[2], t2);
#pragma GCC unroll 8
        for (int i = 0; i < kPositions; ++i) {
          const int64_t position = at + i * a2.step;
          const V value = line >= 0 && w.inside(2, position) ? read(x + line + position * w.stride + c) : V(0.0F);
          sum[i] = fma(value, weight, sum[i]);
        }
      }
    }
  }
  for (int i = 0; i < kPositions; ++i) {
    V y = sum[i];
    if (bias) y = y + read(bias + c);
    if constexpr (sizeof(S) == 4) {
      lanes == V::kLanes ? y.store(to + i * to_step + c) : y.store_partial(to + i * to_step + c, lanes);
    } else {
      float floats[V::kLanes];
      y.store(floats);
      for (int64_t j = 0; j < lanes; ++j) to[i * to_step + c + j] = float_to_half<S>(floats[j]);
    }
  }
}

template <class S>
void depthwise_line(const ConvParams& p, const Windows& w, const WorkArgs& args, int64_t line) {
  constexpr int kPositions = 6, kLanes = Vec<float>::kLanes;
  const PhaseAxis &a0 = w.axes[0], &a1 = w.axes[1], &a2 = w.axes[2];
  Windows::Place place = w.place(line * a2.positions);
  const S* bias = p.bias ? work_in<S>(args, 3) : nullptr;
  const int64_t row = (place.n * p.axes[0].positions + a0.first + place.at[0] * a0.stride) * p.axes[1].positions +
                      a1.first + place.at[1] * a1.stride;
  S* to = work_out<S>(args, 2) + (row * p.axes[2].positions + a2.first) * w.stride;
  const int64_t to_step = a2.stride * w.stride;
  for (int64_t c = 0; c < w.stride; c += kLanes) {
    const int64_t lanes = w.stride - c < kLanes ? w.stride - c : kLanes;
    int64_t i = 0;
    for (; i + kPositions <= a2.positions; i += kPositions) {
      place.at[2] = i;
      depthwise_positions<S, kPositions>(p, w, place, work_in<S>(args, 0), work_in<S>(args, 1), bias, to + i * to_step,
                                         to_step, c, lanes);
    }
    for (; i < a2.positions; ++i) {
      place.at[2] = i;
      depthwise_positions<S, 1>(p, w, place, work_in<S>(args, 0), work_in<S>(args, 1), bias, to + i * to_step, to_step,
                                c, lanes);
    }
  }
}

/// Work: as convolve, of one channel and one column a group; items are lines of the result of each phase.
inline void depthwise(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const ConvParams*>(args.params);
  int64_t lines = p.batch;
  for (int i = 0; i < 2; ++i) lines *= (p.axes[i].positions + p.axes[i].divide - 1) / p.axes[i].divide;
  with_floats(p.kind, [&]<class S>(S) {
    for (int64_t i = begin; i < end; ++i) {
      const Windows w(p, i / lines);
      if (i % lines < p.batch * w.axes[0].positions * w.axes[1].positions) depthwise_line<S>(p, w, args, i % lines);
    }
  });
}

/// kTaps taps of up to 16 channels over the positions of one line, added to sum[tap][16].
template <class S, int kTaps>
void depthwise_gradient_line(const Windows& w, const S* x, const S* ct, int64_t line, int64_t tap, int64_t columns,
                             float* sum) {
  constexpr int kWidth = 16, kLanes = Vec<float>::kLanes, kVectors = kWidth / kLanes;
  const float zeros[kWidth] = {};
  float copy[kWidth] = {};
  const auto read = [&](const S* from) -> const float* {
    if constexpr (sizeof(S) == 4) {
      if (columns == kWidth) return from;
    }
    to_floats(from, copy, columns);
    return copy;
  };
  Vec<float> part[kTaps][kVectors];
  for (int t = 0; t < kTaps; ++t) {
    for (int v = 0; v < kVectors; ++v) part[t][v] = Vec<float>::load(sum + t * kWidth + v * kLanes);
  }
  for (int64_t i = 0; i < w.axes[2].positions; ++i) {
    Vec<float> gradient[kVectors];
    const float* from = read(ct + i * w.stride);
    for (int v = 0; v < kVectors; ++v) gradient[v] = Vec<float>::load(from + v * kLanes);
#pragma GCC unroll 4
    for (int t = 0; t < kTaps; ++t) {
      const int64_t position = w.source(2, i, tap + t);
      const float* value = line >= 0 && w.inside(2, position) ? read(x + line + position * w.stride) : zeros;
      for (int v = 0; v < kVectors; ++v)
        part[t][v] = fma(Vec<float>::load(value + v * kLanes), gradient[v], part[t][v]);
    }
  }
  for (int t = 0; t < kTaps; ++t) {
    for (int v = 0; v < kVectors; ++v) part[t][v].store(sum + t * kWidth + v * kLanes);
  }
}

/// All taps of 16 channels over a piece.
template <class S>
void depthwise_gradient_item(const ConvParams& p, const Windows& w, const WorkArgs& args, int64_t piece, int64_t c) {
  constexpr int64_t kWidth = 16;
  const int64_t columns = w.stride - c < kWidth ? w.stride - c : kWidth, taps = p.taps();
  const S *x = work_in<S>(args, 0) + c, *ct = work_in<S>(args, 1) + c;
  auto* sums = static_cast<float*>(static_cast<void*>(args.scratch));
  zero_floats(sums, taps * kWidth);
  const int64_t first = piece_begin(p.batch, piece, p.pieces), last = piece_begin(p.batch, piece + 1, p.pieces);
  for (int64_t row = first * p.places(); row < last * p.places(); row += w.axes[2].positions) {
    const Windows::Place place = w.place(row);
    float* sum = sums;
    for (int64_t t = 0; t < w.axes[0].taps * w.axes[1].taps; ++t) {
      const int64_t line = w.line(place, t / w.axes[1].taps, t % w.axes[1].taps);
      int64_t tap = 0;
      for (; tap + 3 <= w.axes[2].taps; tap += 3, sum += 3 * kWidth)
        depthwise_gradient_line<S, 3>(w, x, ct + row * w.stride, line, tap, columns, sum);
      for (; tap < w.axes[2].taps; ++tap, sum += kWidth)
        depthwise_gradient_line<S, 1>(w, x, ct + row * w.stride, line, tap, columns, sum);
    }
  }
  float* to = work_out<float>(args, 2) + piece * taps * w.stride + c;
  for (int64_t t = 0; t < taps; ++t) to_floats(sums + t * kWidth, to + t * w.stride, columns);
}

/// Work: as kernel_gradient, of one channel and one column a group; items are 16 channels of a piece; scratch has 16
/// floats a tap.
inline void depthwise_gradient(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const ConvParams*>(args.params);
  const Windows w(p);
  const int64_t blocks = (w.stride + 15) / 16;
  with_floats(p.kind, [&]<class S>(S) {
    for (int64_t i = begin; i < end; ++i) depthwise_gradient_item<S>(p, w, args, i / blocks, i % blocks * 16);
  });
}

}  // namespace HONE_LEVEL

/// Pieces of floats [piece, size] become one array, added in a fixed tree: neighbours, then neighbours of those.
struct FoldParams {
  FloatKind kind = FloatKind::F32;
  int32_t pieces = 1;
  int64_t size = 0;
};

namespace HONE_LEVEL {

/// Work: memory is the pieces, which are lost, and the result; items are its elements.
inline void fold_pieces(const WorkArgs& args, int64_t begin, int64_t end) {
  const auto& p = *static_cast<const FoldParams*>(args.params);
  auto* pieces = work_out<float>(args, 0);
  for (int64_t step = 1; step < p.pieces; step *= 2) {
    for (int64_t i = 0; i + step < p.pieces; i += 2 * step) {
      float *to = pieces + i * p.size, *from = to + step * p.size;
      for (int64_t j = begin; j < end; ++j) to[j] += from[j];
    }
  }
  with_floats(p.kind, [&]<class S>(S) { from_floats(pieces + begin, work_out<S>(args, 1) + begin, end - begin); });
}

}  // namespace HONE_LEVEL
}  // namespace hone::math
