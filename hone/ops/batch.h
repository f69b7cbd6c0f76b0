// Batching rules (vmap) that many ops share: a definition names one, `.batch = batch::leading<AxisAttrs>`.
#pragma once
#include <type_traits>

#include "hone/ops/attrs.h"
#include "hone/ops/table.h"

namespace hone::batch {

/// x with axis `from` moved to place `to`; both in [0, rank).
Tensor moved(const Tensor& x, int from, int to);

/// Calls the op on physical operands; its results have the examples along axis 0.
void call(BatchContext& c, AttrRef attrs, std::span<Tensor> inputs);

/// Ops that do along each further axis 0 what they did: operands whose bit is in `takes` get the axis, the others are
/// passed as they are (false if one of those is mapped).
bool leading(BatchContext& c, AttrRef attrs, uint32_t takes);

/// Ops whose operands and results have a batch axis of their own, axis 0: the examples become part of it.
bool folded(BatchContext& c, AttrRef attrs);

/// The parts of it: operand i with the examples in its batch axis, and the call, whose results come apart again.
Tensor folded_operand(const BatchContext& c, int i);
void call_folded(BatchContext& c, AttrRef attrs, std::span<Tensor> inputs);

/// One example after the other: what serves every op.
bool each(BatchContext& c);

// What attributes become when all axes move up by one and the new axis 0 has extent n.

inline void lead(Ints& axes) {
  for (int64_t& axis : axes) ++axis;
}
inline AxisAttrs lead(AxisAttrs a, Dim) { return {a.axis + 1}; }
inline AxesAttrs lead(AxesAttrs a, Dim) { return lead(a.axes), a; }
inline ShapeAttrs lead(ShapeAttrs a, Dim n) { return a.shape.insert(0, n), a; }
inline BroadcastAttrs lead(BroadcastAttrs a, Dim n) {
  lead(a.dimensions);
  a.dimensions.insert(0, 0);
  a.shape.insert(0, n);
  return a;
}
inline TransposeAttrs lead(TransposeAttrs a, Dim) {
  lead(a.permutation);
  a.permutation.insert(0, 0);
  return a;
}
inline SliceAttrs lead(SliceAttrs a, Dim n) {
  a.start.insert(0, 0);
  a.limit.insert(0, n);
  a.strides.insert(0, 1);
  return a;
}
inline PadAttrs lead(PadAttrs a, Dim) {
  for (Ints* list : {&a.low, &a.high, &a.interior}) list->insert(0, 0);
  return a;
}
inline WindowAttrs lead(WindowAttrs a, Dim) {
  for (Ints* list : {&a.low, &a.high}) list->insert(0, 0);
  for (Ints* list : {&a.window, &a.strides, &a.base_dilation, &a.window_dilation}) list->insert(0, 1);
  return a;
}
inline CumulativeAttrs lead(CumulativeAttrs a, Dim) { return ++a.axis, a; }
inline SortAttrs lead(SortAttrs a, Dim) { return ++a.axis, a; }
inline NormAttrs lead(NormAttrs a, Dim) { return ++a.axis, a; }

/// What attributes become when axis 0 of operands and results is n times as long.
inline PoolAttrs fold(PoolAttrs a, Dim n) {
  if (!a.shape.empty()) a.shape[0] = a.shape[0] * n;
  return a;
}
inline ConvAttrs fold(ConvAttrs a, Dim n) {
  if (!a.shape.empty()) a.shape[0] = a.shape[0] * n;
  return a;
}

/// The rules as functions of the column; without attributes of this kind (void) the call's own serve as they are.
template <class A = void, uint32_t kTakes = ~0U>
bool leading(BatchContext& c) {
  if constexpr (std::is_void_v<A>)
    return leading(c, c.call().attrs, kTakes);
  else
    return leading(c, lead(c.attrs_as<A>(), c.size()), kTakes);
}
template <class A = void>
bool folded(BatchContext& c) {
  if constexpr (std::is_void_v<A>)
    return folded(c, c.call().attrs);
  else
    return folded(c, fold(c.attrs_as<A>(), c.size()));
}

// Rules of single ops that do not stand beside their definition (batch_gather.cpp, batch_convolution.cpp).
bool gather(BatchContext& c);
bool scatter(BatchContext& c);
bool dynamic_slice(BatchContext& c);
bool dynamic_update_slice(BatchContext& c);
bool convolution(BatchContext& c);
bool convolution_input_grad(BatchContext& c);
bool convolution_kernel_grad(BatchContext& c);

}  // namespace hone::batch
