// Fused loops over rows of channels [..., c]: batch normalisation and pooling, vectorised over channels.
#pragma once
#include "hone/math/nn_access.h"

namespace hone::math::HONE_LEVEL {

/// A vector at p of which `left` lanes matter; lanes beyond are read where the array still goes on.
inline F32 load_channels(const float* p, int64_t left, const float* end) {
  return left >= F32::kLanes || p + F32::kLanes <= end ? F32::load(p) : F32::load_partial(p, left, 0.0F);
}
/// Lanes beyond `left` may be spoilt up to `limit`: their rows are written later.
inline void store_channels(F32 v, float* p, int64_t left, float* limit) {
  if (left >= F32::kLanes || p + F32::kLanes <= limit)
    v.store(p);
  else
    v.store_partial(p, left);
}

/// acc[j] = acc[j] + f(row, j) for rows in order, by four: f gives the vector at channel j of a row.
template <class F>
void sum_rows(int64_t rows, int64_t c, float* acc, F f) {
  for (int64_t j = 0; j < c; j += F32::kLanes) F32(-0.0F).store(acc + j);
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    for (int64_t j = 0; j < c; j += F32::kLanes) {
      const F32 v = F32::load(acc + j) + f(r, j);
      (v + f(r + 1, j) + f(r + 2, j) + f(r + 3, j)).store(acc + j);
    }
  }
  for (; r < rows; ++r) {
    for (int64_t j = 0; j < c; j += F32::kLanes) (F32::load(acc + j) + f(r, j)).store(acc + j);
  }
}

inline void channel_stats(const ChannelRows& x, float* mean, float* m2) {
  const auto at = [&](int64_t r, int64_t j) { return load_channels(x.x + r * x.c + j, x.c - j, x.end); };
  sum_rows(x.rows, x.c, mean, at);
  const F32 count = static_cast<float>(x.rows);
  for (int64_t j = 0; j < x.c; j += F32::kLanes) (F32::load(mean + j) / count).store(mean + j);
  sum_rows(x.rows, x.c, m2, [&](int64_t r, int64_t j) {
    const F32 d = at(r, j) - F32::load(mean + j);
    return d * d;
  });
}

inline void join_stats(float* mean, float* m2, double rows, const float* other_mean, const float* other_m2,
                       double other_rows, int64_t c) {
  const F32 weight = static_cast<float>(other_rows / (rows + other_rows)),
            spread = static_cast<float>(rows * (other_rows / (rows + other_rows)));
  walk_vectors(c, [&](int64_t j, auto access) {
    const F32 here = access.load(mean + j), distance = access.load(other_mean + j) - here;
    access.store(here + distance * weight, mean + j);
    access.store(access.load(m2 + j) + access.load(other_m2 + j) + distance * distance * spread, m2 + j);
  });
}

inline void channel_affine(const ChannelRows& x, const float* shift, const float* factor, const float* offset, float* y,
                           float* limit) {
  const float* from = x.x;
  for (int64_t r = 0; r < x.rows; ++r, from += x.c, y += x.c) {
    for (int64_t j = 0; j < x.c; j += F32::kLanes) {
      const F32 v = (load_channels(from + j, x.c - j, x.end) - F32::load(shift + j)) * F32::load(factor + j) +
                    F32::load(offset + j);
      store_channels(v, y + j, x.c - j, limit);
    }
  }
}

inline void channel_grad_sums(const ChannelRows& x, const float* ct, const float* ct_end, const float* mean,
                              const float* rstd, float* dscale, float* doffset) {
  sum_rows(x.rows, x.c, dscale, [&](int64_t r, int64_t j) {
    const F32 normal = (load_channels(x.x + r * x.c + j, x.c - j, x.end) - F32::load(mean + j)) * F32::load(rstd + j);
    return load_channels(ct + r * x.c + j, x.c - j, ct_end) * normal;
  });
  sum_rows(x.rows, x.c, doffset,
           [&](int64_t r, int64_t j) { return load_channels(ct + r * x.c + j, x.c - j, ct_end); });
}

inline void channel_grad(const ChannelRows& x, const float* ct, const float* ct_end, const float* mean,
                         const float* rstd, const float* a, const float* b, const float* factor, float* dx,
                         float* limit) {
  const float* from = x.x;
  for (int64_t r = 0; r < x.rows; ++r, from += x.c, ct += x.c, dx += x.c) {
    for (int64_t j = 0; j < x.c; j += F32::kLanes) {
      const F32 normal = (load_channels(from + j, x.c - j, x.end) - F32::load(mean + j)) * F32::load(rstd + j);
      const F32 slope = load_channels(ct + j, x.c - j, ct_end) - F32::load(a + j) - normal * F32::load(b + j);
      store_channels(slope * F32::load(factor + j), dx + j, x.c - j, limit);
    }
  }
}

/// Window positions along one axis that lie inside the input.
struct Span {
  int64_t begin, end;
};
inline Span clip(int64_t from, int64_t window, int64_t extent) {
  return {from < 0 ? 0 : from, from + window < extent ? from + window : extent};
}

struct MaxWindow {
  static constexpr bool kAnyOrder = true;
  static constexpr float kStart = -__builtin_inff();
  static F32 join(F32 a, F32 b) { return max(a, b); }
  static F32 finish(F32 v, float) { return v; }
};
struct MeanWindow {
  static constexpr bool kAnyOrder = false;
  static constexpr float kStart = -0.0F;
  static F32 join(F32 a, F32 b) { return a + b; }
  static F32 finish(F32 v, float count) { return v / F32(count); }
};

/// f(pixel, place) for the pixels of a window in order; p is channel j of the image's first pixel.
template <class F>
[[gnu::always_inline]] inline void walk_window(const PoolShape& s, Span rows, Span columns, const float* p, F f) {
  int place = 0;
  for (int64_t h = rows.begin; h < rows.end; ++h) {
    const float* pixel = p + (h * s.w + columns.begin) * s.c;
    for (int64_t w = columns.begin; w < columns.end; ++w, pixel += s.c) f(pixel, place++);
  }
}
/// Whether whole vectors can be read at every pixel of a window: `left` channels matter, memory ends at `end`.
inline bool reads_whole(const PoolShape& s, Span rows, Span columns, const float* p, int64_t left, const float* end) {
  return left >= F32::kLanes || p + ((rows.end - 1) * s.w + columns.end - 1) * s.c + F32::kLanes <= end;
}

/// Windows [begin, end) of one row where pixels are narrower than a vector: first down the rows, which are whole
/// vectors over pixels, then across. For windows whose elements may be joined in any order.
template <class Window>
void pool_narrow(const PoolShape& s, Span rows, const float* image, const float* x_end, float* to, float* limit) {
  constexpr int64_t kRoom = 1024;
  float joined[kRoom + F32::kLanes];
  for (int64_t i = 0; i < s.ow;) {
    const int64_t first = clip(i * s.sw - s.left, s.kw, s.w).begin;
    int64_t last = i + 1;  // windows whose pixels fit
    while (last < s.ow && (clip(last * s.sw - s.left, s.kw, s.w).end - first) * s.c <= kRoom) ++last;
    const int64_t n = (clip((last - 1) * s.sw - s.left, s.kw, s.w).end - first) * s.c;
    for (int64_t k = 0; k < n; k += F32::kLanes) {
      F32 v = Window::kStart;
      for (int64_t h = rows.begin; h < rows.end; ++h)
        v = Window::join(v, load_channels(image + (h * s.w + first) * s.c + k, n - k, x_end));
      v.store(joined + k);
    }
    for (; i < last; ++i) {
      const Span columns = clip(i * s.sw - s.left, s.kw, s.w);
      F32 v = Window::kStart;
      for (int64_t w = columns.begin; w < columns.end; ++w) v = Window::join(v, F32::load(joined + (w - first) * s.c));
      store_channels(v, to + i * s.c, s.c, limit);
    }
  }
}

template <class Window>
void pool_rows(const PoolShape& s, const float* x, const float* x_end, float* y, float* limit, int64_t begin,
               int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const float* image = x + row / s.oh * (s.h * s.w * s.c);
    const Span rows = clip(row % s.oh * s.sh - s.top, s.kh, s.h);
    if (Window::kAnyOrder && s.c < F32::kLanes && s.kw * s.c <= 512) {
      pool_narrow<Window>(s, rows, image, x_end, y + row * s.ow * s.c, limit);
      continue;
    }
    for (int64_t i = 0; i < s.ow; ++i) {
      const Span columns = clip(i * s.sw - s.left, s.kw, s.w);
      const auto count =
          static_cast<float>(s.count_padding ? s.kh * s.kw : (rows.end - rows.begin) * (columns.end - columns.begin));
      float* to = y + (row * s.ow + i) * s.c;
      for (int64_t j = 0; j < s.c; j += F32::kLanes) {
        const int64_t left = s.c - j;
        F32 v = Window::kStart;
        if (reads_whole(s, rows, columns, image + j, left, x_end)) {
          walk_window(s, rows, columns, image + j, [&](const float* p, int) { v = Window::join(v, F32::load(p)); });
        } else {
          walk_window(s, rows, columns, image + j,
                      [&](const float* p, int) { v = Window::join(v, load_channels(p, left, x_end)); });
        }
        store_channels(Window::finish(v, count), to + j, left, limit);
      }
    }
  }
}

/// The first NaN of a window, else its first largest element, by place.
struct LargestPlace {
  F32 best = -__builtin_inff();
  Vec<int> chosen = 0;
  void see(F32 v, int place) {
    const auto better = (v > best) | ((v != v) & (best == best));
    best = select(better, v, best);
    chosen = select(better, Vec<int>(place), chosen);
  }
};
inline Vec<int> largest_place(const PoolShape& s, Span rows, Span columns, const float* p, int64_t left,
                              const float* end) {
  LargestPlace largest;
  if (reads_whole(s, rows, columns, p, left, end)) {
    walk_window(s, rows, columns, p, [&](const float* at, int place) { largest.see(F32::load(at), place); });
  } else {
    walk_window(s, rows, columns, p,
                [&](const float* at, int place) { largest.see(load_channels(at, left, end), place); });
  }
  return largest.chosen;
}

inline void max_pool_grad_rows(const PoolShape& s, const float* x, const float* ct, float* dx, int64_t begin,
                               int64_t end) {
  const float* x_end = x + s.h * s.w * s.c;
  for (int64_t row = begin; row < end; ++row) {
    const Span rows = clip(row * s.sh - s.top, s.kh, s.h);
    for (int64_t i = 0; i < s.ow; ++i) {
      const Span columns = clip(i * s.sw - s.left, s.kw, s.w);
      const float* slope = ct + (row * s.ow + i) * s.c;
      for (int64_t j = 0; j < s.c; j += F32::kLanes) {
        const int64_t left = s.c - j;
        const Vec<int> chosen = largest_place(s, rows, columns, x + j, left, x_end);
        int place = 0;
        const F32 add = left >= F32::kLanes ? F32::load(slope + j) : F32::load_partial(slope + j, left, 0.0F);
        for (int64_t h = rows.begin; h < rows.end; ++h) {
          for (int64_t w = columns.begin; w < columns.end; ++w, ++place) {
            float* to = dx + (h * s.w + w) * s.c + j;
            const auto here = chosen == Vec<int>(place);
            if (left >= F32::kLanes) {
              const F32 v = F32::load(to);
              select(here, v + add, v).store(to);
            } else {
              const F32 v = F32::load_partial(to, left, 0.0F);
              select(here, v + add, v).store_partial(to, left);
            }
          }
        }
      }
    }
  }
}

/// Elements along one axis that window i alone may touch where windows lie apart: up to the next window's first.
inline Span territory(int64_t i, int64_t windows, int64_t stride, int64_t low, int64_t extent) {
  const auto first = [&](int64_t at) {
    const int64_t from = at * stride - low;
    return at <= 0 || from < 0 ? 0 : from < extent ? from : extent;
  };
  return {first(i), i + 1 == windows ? extent : first(i + 1)};
}

/// Writes every element of its territory once, after the window was read: dx may be x.
inline void max_pool_grad_apart_rows(const PoolShape& s, const float* x, const float* ct, float* dx, int64_t begin,
                                     int64_t end) {
  const float* x_end = x + s.h * s.w * s.c;
  for (int64_t row = begin; row < end; ++row) {
    const Span rows = clip(row * s.sh - s.top, s.kh, s.h), all_rows = territory(row, s.oh, s.sh, s.top, s.h);
    for (int64_t h = all_rows.begin; h < all_rows.end; ++h) {
      if (h >= rows.begin && h < rows.end) continue;
      for (int64_t k = 0; k < s.w * s.c; ++k) dx[h * s.w * s.c + k] = 0;
    }
    for (int64_t i = 0; i < s.ow; ++i) {
      const Span columns = clip(i * s.sw - s.left, s.kw, s.w), all_columns = territory(i, s.ow, s.sw, s.left, s.w);
      const float* slope = ct + (row * s.ow + i) * s.c;
      for (int64_t j = 0; j < s.c; j += F32::kLanes) {
        const int64_t left = s.c - j;
        const Vec<int> chosen = largest_place(s, rows, columns, x + j, left, x_end);
        int place = 0;
        const F32 nothing = 0.0F,
                  add =
                      (left >= F32::kLanes ? F32::load(slope + j) : F32::load_partial(slope + j, left, 0.0F)) + nothing;
        for (int64_t h = rows.begin; h < rows.end; ++h) {
          for (int64_t w = all_columns.begin; w < all_columns.end; ++w) {
            const bool inside = w >= columns.begin && w < columns.end;
            const F32 v = inside ? select(chosen == Vec<int>(place++), add, nothing) : nothing;
            float* to = dx + (h * s.w + w) * s.c + j;
            left >= F32::kLanes ? v.store(to) : v.store_partial(to, left);
          }
        }
      }
    }
  }
}

inline void avg_pool_grad_rows(const PoolShape& s, const float* ct, const float* ct_end, float* dx, float* limit,
                               int64_t begin, int64_t end) {
  const auto first = [](int64_t at, int64_t window, int64_t stride) {
    return at < window ? 0 : (at - window) / stride + 1;
  };
  for (int64_t row = begin; row < end; ++row) {
    const float* image = ct + row / s.h * (s.oh * s.ow * s.c);
    const int64_t h = row % s.h + s.top;
    const int64_t h_begin = first(h, s.kh, s.sh), h_end = h / s.sh + 1 < s.oh ? h / s.sh + 1 : s.oh;
    for (int64_t i = 0; i < s.w; ++i) {
      const int64_t w = i + s.left, w_begin = first(w, s.kw, s.sw), w_end = w / s.sw + 1 < s.ow ? w / s.sw + 1 : s.ow;
      float* to = dx + (row * s.w + i) * s.c;
      for (int64_t j = 0; j < s.c; j += F32::kLanes) {
        F32 v = h_begin < h_end && w_begin < w_end ? -0.0F : 0.0F;
        for (int64_t oh = h_begin; oh < h_end; ++oh) {
          const Span rows = clip(oh * s.sh - s.top, s.kh, s.h);
          for (int64_t ow = w_begin; ow < w_end; ++ow) {
            const Span columns = clip(ow * s.sw - s.left, s.kw, s.w);
            const auto count = static_cast<float>(
                s.count_padding ? s.kh * s.kw : (rows.end - rows.begin) * (columns.end - columns.begin));
            v = v + load_channels(image + (oh * s.ow + ow) * s.c + j, s.c - j, ct_end) / F32(count);
          }
        }
        store_channels(v, to + j, s.c - j, limit);
      }
    }
  }
}

constexpr void fill_nn_channels(NnKernels& k) {
  k.channel_stats = &channel_stats;
  k.join_stats = &join_stats;
  k.channel_affine = &channel_affine;
  k.channel_grad_sums = &channel_grad_sums;
  k.channel_grad = &channel_grad;
  k.max_pool = &pool_rows<MaxWindow>;
  k.avg_pool = &pool_rows<MeanWindow>;
  k.max_pool_grad = &max_pool_grad_rows;
  k.max_pool_grad_apart = &max_pool_grad_apart_rows;
  k.avg_pool_grad = &avg_pool_grad_rows;
}

}  // namespace hone::math::HONE_LEVEL
