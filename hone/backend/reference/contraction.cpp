// Contractions as plain loops: sums in double for floats of up to 32 bits (rounded once), in the type itself for
// others.
#include <type_traits>
#include <vector>

#include "hone/backend/reference/install.h"
#include "hone/ops/conv_geometry.h"
#include "hone/ops/dot_axes.h"
#include "hone/ops/kernel.h"
#include "hone/ops/table.h"
#include "hone/tensor/half.h"

namespace hone {
namespace {

template <class T>
constexpr bool kHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
/// Integers sum modulo 2^64, which truncates to the type's own wrapped sum.
template <class T>
using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

template <class T>
Sum<T> load(T value) {
  if constexpr (kHalf<T>)
    return to_float(value);
  else
    return static_cast<Sum<T>>(value);
}
template <class T>
T store(Sum<T> sum) {
  if constexpr (std::is_same_v<T, Float16>)
    return to_float16(static_cast<float>(sum));
  else if constexpr (std::is_same_v<T, BFloat16>)
    return to_bfloat16(static_cast<float>(sum));
  else
    return static_cast<T>(sum);
}

/// Offsets of all positions over `axes` of a dense tensor, row-major.
std::vector<int64_t> offsets(const Shape& shape, const Ints& axes) {
  std::vector<int64_t> list = {0};
  for (int64_t axis : axes) {
    int64_t stride = 1;
    for (int64_t inner = axis + 1; inner < shape.rank(); ++inner) stride *= shape[static_cast<size_t>(inner)].number();
    std::vector<int64_t> next;
    for (int64_t base : list) {
      for (int64_t i = 0; i < shape[static_cast<size_t>(axis)].number(); ++i) next.push_back(base + i * stride);
    }
    list = std::move(next);
  }
  return list;
}

void dot(const KernelCall& call, const DotAttrs& attrs) {
  const Shape &a = call.in_shape(0), &b = call.in_shape(1);
  const auto batch_a = offsets(a, attrs.lhs_batch), batch_b = offsets(b, attrs.rhs_batch);
  const auto rows = offsets(a, free_axes(a.rank(), attrs.lhs_batch, attrs.lhs_contract));
  const auto columns = offsets(b, free_axes(b.rank(), attrs.rhs_batch, attrs.rhs_contract));
  const auto k_a = offsets(a, attrs.lhs_contract), k_b = offsets(b, attrs.rhs_contract);
  visit_dtype(call.dtype(), [&](auto kind) {
    using T = decltype(kind);
    const T *x = call.in<T>(0), *w = call.in<T>(1), *bias = call.inputs.size() == 3 ? call.in<T>(2) : nullptr;
    T* out = call.out<T>();
    for (size_t batch = 0; batch < batch_a.size(); ++batch) {
      for (int64_t row : rows) {
        for (size_t j = 0; j < columns.size(); ++j) {
          Sum<T> sum{};
          for (size_t k = 0; k < k_a.size(); ++k) {
            sum += load(x[batch_a[batch] + row + k_a[k]]) * load(w[batch_b[batch] + columns[j] + k_b[k]]);
          }
          if (bias) sum += load(bias[j]);
          *out++ = store<T>(sum);
        }
      }
    }
  });
}

void run_dot(const KernelCall& call) { dot(call, call.attrs.as<DotAttrs>()); }
void run_dense(const KernelCall& call) { dot(call, dense_as_dot(call.in_shape(0).rank())); }

/// Calls f(input element, kernel element, result element) for each product of the convolution.
template <class F>
void each_product(const ConvGeometry& g, F&& f) {
  const int64_t in = g.in_per_group(), out = g.out_per_group();
  for (int64_t n = 0, result = 0; n < g.batch; ++n) {
    for (int64_t i = 0; i < g.result[0]; ++i) {
      for (int64_t j = 0; j < g.result[1]; ++j) {
        for (int64_t k = 0; k < g.result[2]; ++k, ++result) {
          for (int64_t a = 0, tap = 0; a < g.kernel[0]; ++a) {
            for (int64_t b = 0; b < g.kernel[1]; ++b) {
              for (int64_t c = 0; c < g.kernel[2]; ++c, ++tap) {
                const int64_t x = g.source(0, i, a), y = g.source(1, j, b), z = g.source(2, k, c);
                if (x < 0 || y < 0 || z < 0) continue;
                const int64_t pixel = ((n * g.input[0] + x) * g.input[1] + y) * g.input[2] + z;
                for (int64_t o = 0; o < g.out; ++o) {
                  const int64_t first = o / out * in;
                  for (int64_t ci = 0; ci < in; ++ci)
                    f(pixel * g.in + first + ci, (tap * in + ci) * g.out + o, result * g.out + o);
                }
              }
            }
          }
        }
      }
    }
  }
}

void run_convolution(const KernelCall& call) {
  const ConvGeometry g = ConvGeometry::of(call.op, call.attrs, call.in_shape(0), call.in_shape(1), call.out_shape());
  visit_dtype(call.dtype(), [&](auto kind) {
    using T = decltype(kind);
    const T *first = call.in<T>(0), *second = call.in<T>(1);
    std::vector<Sum<T>> sums(static_cast<size_t>(call.outputs[0].size()));
    const auto at = [](int64_t i) { return static_cast<size_t>(i); };
    if (&call.op == &ops::convolution) {
      each_product(g, [&](int64_t x, int64_t w, int64_t y) { sums[at(y)] += load(first[x]) * load(second[w]); });
      for (size_t i = 0; call.inputs.size() == 3 && i < sums.size(); ++i) sums[i] += load(call.in<T>(2)[i % at(g.out)]);
    } else if (&call.op == &ops::convolution_input_grad) {
      each_product(g, [&](int64_t x, int64_t w, int64_t y) { sums[at(x)] += load(first[y]) * load(second[w]); });
    } else {
      each_product(g, [&](int64_t x, int64_t w, int64_t y) { sums[at(w)] += load(first[x]) * load(second[y]); });
    }
    for (size_t i = 0; i < sums.size(); ++i) call.out<T>()[i] = store<T>(sums[i]);
  });
}

}  // namespace

void install_reference_contraction() {
  add_kernels(ops::dot_general, {{.name = "reference.dot_general", .run = run_dot}});
  add_kernels(ops::dense, {{.name = "reference.dense", .run = run_dense}});
  for (const Op* op : {&ops::convolution, &ops::convolution_input_grad, &ops::convolution_kernel_grad}) {
    add_kernels(*op, {{.name = "reference.convolution", .run = run_convolution}});
  }
}

}  // namespace hone
