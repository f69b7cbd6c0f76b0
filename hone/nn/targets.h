// How labels, predictions and weights are brought to one shape, for losses and metrics alike (Keras' rules).
#pragma once
#include "hone/tensor/tensor.h"

namespace hone::nn {

/// Makes the ranks of a and b equal where they differ by one axis of extent 1 at the end: [n, 1] with [n] becomes [n,
/// 1] twice, [n, t, 1] with [n, t] becomes [n, t] twice.
void match_ranks(Tensor& a, Tensor& b);
/// After match_ranks the shapes must be equal. Error kInvalidArgument naming `what`.
void check_same_shape(const Tensor& y_true, const Tensor& y_pred, const char* what, Location location);
/// Integer labels [...] for predictions [..., classes]; y_true may have a last axis of extent 1. Other types become i64
/// (NaN: -1). Error kInvalidArgument naming `what` where they do not fit.
Tensor sparse_labels(const Tensor& y_true, const Tensor& y_pred, const char* what, Location location);
/// Weights of the values' dtype and shape: leading axes are given, the others broadcast. Error kInvalidArgument where
/// they do not fit.
Tensor match_weights(const Tensor& values, Tensor weights, Location location);
/// f64 stays, everything else becomes f32.
Tensor in_float(const Tensor& x);

}  // namespace hone::nn
