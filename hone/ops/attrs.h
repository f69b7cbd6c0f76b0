// Attributes of the ops, as plain structs. Axes are normalised (>= 0), lists over axes have one entry an axis.
#pragma once
#include "hone/tensor/attrs.h"

namespace hone {

struct DTypeAttrs {
  DType dtype = DType::f32;
  template <class V>
  void visit(V& v) {
    v.field("dtype", dtype);
  }
};

struct TypeAttrs {
  DType dtype = DType::f32;
  Shape shape;
  template <class V>
  void visit(V& v) {
    v.field("dtype", dtype), v.field("shape", shape);
  }
};

/// A splat: every element has these bits.
struct ConstantAttrs {
  DType dtype = DType::f32;
  Shape shape;
  int64_t bits = 0;  ///< the element's bytes, little-endian
  template <class V>
  void visit(V& v) {
    v.field("dtype", dtype), v.field("shape", shape), v.field("bits", bits);
  }
};

struct IotaAttrs {
  DType dtype = DType::i32;
  Shape shape;
  int64_t axis = 0;
  template <class V>
  void visit(V& v) {
    v.field("dtype", dtype), v.field("shape", shape), v.field("axis", axis);
  }
};

struct ShapeAttrs {
  Shape shape;
  template <class V>
  void visit(V& v) {
    v.field("shape", shape);
  }
};

/// Result shape, and the result axis of each operand axis.
struct BroadcastAttrs {
  Shape shape;
  Ints dimensions;
  template <class V>
  void visit(V& v) {
    v.field("shape", shape), v.field("dimensions", dimensions);
  }
};

/// Result axis i is operand axis permutation[i].
struct TransposeAttrs {
  Ints permutation;
  template <class V>
  void visit(V& v) {
    v.field("permutation", permutation);
  }
};

struct AxisAttrs {
  int64_t axis = 0;
  template <class V>
  void visit(V& v) {
    v.field("axis", axis);
  }
};

struct AxesAttrs {
  Ints axes;  ///< ascending
  template <class V>
  void visit(V& v) {
    v.field("axes", axes);
  }
};

/// start <= i < limit in steps of strides >= 1.
struct SliceAttrs {
  Shape start, limit;
  Ints strides;
  template <class V>
  void visit(V& v) {
    v.field("start", start), v.field("limit", limit), v.field("strides", strides);
  }
};

/// Elements added before, after and between; low and high may be negative (they cut).
struct PadAttrs {
  Ints low, high, interior;
  template <class V>
  void visit(V& v) {
    v.field("low", low), v.field("high", high), v.field("interior", interior);
  }
};

/// StableHLO's gather: which axes of the result are offsets into a slice, which operand axes a slice drops, which
/// operand axis each index component addresses.
struct GatherAttrs {
  Ints offset_dims, collapsed_slice_dims, start_index_map;
  int64_t index_vector_dim = 0;
  Shape slice_sizes;
  template <class V>
  void visit(V& v) {
    v.field("offset_dims", offset_dims), v.field("collapsed_slice_dims", collapsed_slice_dims);
    v.field("start_index_map", start_index_map), v.field("index_vector_dim", index_vector_dim),
        v.field("slice_sizes", slice_sizes);
  }
};

/// What reduce_window, cumulative and scatter combine with.
enum class Combine : int64_t { Set, Sum, Prod, Max, Min };

/// StableHLO's scatter with one of the usual update functions.
struct ScatterAttrs {
  Ints update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims;
  int64_t index_vector_dim = 0;
  int64_t combine = static_cast<int64_t>(Combine::Set);
  template <class V>
  void visit(V& v) {
    v.field("update_window_dims", update_window_dims), v.field("inserted_window_dims", inserted_window_dims);
    v.field("scatter_dims_to_operand_dims", scatter_dims_to_operand_dims),
        v.field("index_vector_dim", index_vector_dim);
    v.field("combine", combine);
  }
};

/// A window over all axes of the operand (size 1 where it does not reach).
struct WindowAttrs {
  Ints window, strides, low, high, base_dilation, window_dilation;
  int64_t combine = static_cast<int64_t>(Combine::Sum);
  template <class V>
  void visit(V& v) {
    v.field("window", window), v.field("strides", strides), v.field("low", low), v.field("high", high);
    v.field("base_dilation", base_dilation), v.field("window_dilation", window_dilation), v.field("combine", combine);
  }
};

struct CumulativeAttrs {
  int64_t axis = 0;
  int64_t combine = static_cast<int64_t>(Combine::Sum);
  bool reverse = false;
  template <class V>
  void visit(V& v) {
    v.field("axis", axis), v.field("combine", combine), v.field("reverse", reverse);
  }
};

/// Sorts all operands by the first one (the key), stable; NaN last.
struct SortAttrs {
  int64_t axis = 0;
  bool descending = false;
  template <class V>
  void visit(V& v) {
    v.field("axis", axis), v.field("descending", descending);
  }
};

struct TopKAttrs {
  int64_t k = 1;
  template <class V>
  void visit(V& v) {
    v.field("k", k);
  }
};

/// Result axes: batch, free axes of lhs, free axes of rhs.
struct DotAttrs {
  Ints lhs_batch, rhs_batch, lhs_contract, rhs_contract;
  template <class V>
  void visit(V& v) {
    v.field("lhs_batch", lhs_batch), v.field("rhs_batch", rhs_batch);
    v.field("lhs_contract", lhs_contract), v.field("rhs_contract", rhs_contract);
  }
};

/// Lists over the spatial axes (1 to 3). Input [n, spatial..., c], kernel [spatial..., c / groups, out], result [n,
/// spatial..., out].
struct ConvAttrs {
  Ints strides, low, high, base_dilation, window_dilation;
  int64_t groups = 1;
  Shape shape;  ///< convolution_input_grad: the input's shape; convolution_kernel_grad: the kernel's; else empty
  template <class V>
  void visit(V& v) {
    v.field("strides", strides), v.field("low", low), v.field("high", high), v.field("base_dilation", base_dilation);
    v.field("window_dilation", window_dilation), v.field("groups", groups), v.field("shape", shape);
  }
};

/// Lists over the spatial axes of [n, spatial..., c].
struct PoolAttrs {
  Ints window, strides, low, high;
  bool count_padding = false;  ///< avg_pool: divide by the window's size even where it reaches into padding
  Shape shape;                 ///< avg_pool_grad: the input's shape; else empty
  template <class V>
  void visit(V& v) {
    v.field("window", window), v.field("strides", strides), v.field("low", low), v.field("high", high);
    v.field("count_padding", count_padding), v.field("shape", shape);
  }
};

/// Normalises over the axes from `axis` to the last.
struct NormAttrs {
  int64_t axis = 0;
  double epsilon = 1e-3;
  template <class V>
  void visit(V& v) {
    v.field("axis", axis), v.field("epsilon", epsilon);
  }
};

/// Up to two numbers of an elementwise functor (leaky_relu: alpha; reduce_precision: exponent and mantissa bits).
struct ParamAttrs {
  double a = 0, b = 0;
  template <class V>
  void visit(V& v) {
    v.field("a", a), v.field("b", b);
  }
};

struct DropoutAttrs {
  double rate = 0.5;
  template <class V>
  void visit(V& v) {
    v.field("rate", rate);
  }
};

struct SdpaAttrs {
  double scale = 1;
  bool causal = false;
  template <class V>
  void visit(V& v) {
    v.field("scale", scale), v.field("causal", causal);
  }
};

struct SgdAttrs {
  double momentum = 0, weight_decay = 0;
  bool nesterov = false;
  template <class V>
  void visit(V& v) {
    v.field("momentum", momentum), v.field("weight_decay", weight_decay), v.field("nesterov", nesterov);
  }
};

struct AdamAttrs {
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7, weight_decay = 0;
  template <class V>
  void visit(V& v) {
    v.field("beta_1", beta_1), v.field("beta_2", beta_2), v.field("epsilon", epsilon),
        v.field("weight_decay", weight_decay);
  }
};

/// A program in place of a call: one region, whose inputs are the operands.
struct FusionAttrs {
  Regions body;
  template <class V>
  void visit(V& v) {
    v.field("body", body);
  }
};

/// Programs over the operands behind the selector, with results of the same types.
struct BranchAttrs {
  Regions branches;
  template <class V>
  void visit(V& v) {
    v.field("branches", branches);
  }
};

/// A condition and a body, programs over the carried values.
struct LoopAttrs {
  Regions regions;
  template <class V>
  void visit(V& v) {
    v.field("regions", regions);
  }
};

/// What a frozen op applies to its sum; hone/ops/frozen.h says which op each is.
enum class Activation : int64_t { None, Relu, Relu6, LeakyRelu, Gelu, GeluTanh, Silu, Hardswish, Logistic, Tanh };

/// `alpha`: LeakyRelu's slope.
struct FrozenAttrs {
  int64_t activation = static_cast<int64_t>(Activation::None);
  double alpha = 0;
  template <class V>
  void visit(V& v) {
    v.field("activation", activation), v.field("alpha", alpha);
  }
};

struct FrozenConvAttrs {
  ConvAttrs conv;
  FrozenAttrs after;
  template <class V>
  void visit(V& v) {
    conv.visit(v), after.visit(v);
  }
};

/// A body from (carries, a row of each of xs, constants) to (carries, a row of each of ys), run once for each row, or
/// from the last to the first. `length`: one extent. `recompute`: its gradient computes each step again from the
/// carries before it, instead of keeping what it reads.
struct ScanAttrs {
  Regions body;
  Shape length;
  int64_t carries = 0, xs = 0;
  bool reverse = false, recompute = false;
  template <class V>
  void visit(V& v) {
    v.field("body", body);
    v.field("length", length);
    v.field("carries", carries);
    v.field("xs", xs);
    v.field("reverse", reverse);
    v.field("recompute", recompute);
  }
};

/// A host function known by the index under which it was registered; `effect`: it must run, in program order.
struct CustomCallAttrs {
  std::string target;
  std::string text;
  int64_t function = -1;
  bool effect = true;
  template <class V>
  void visit(V& v) {
    v.field("target", target), v.field("text", text), v.field("function", function), v.field("effect", effect);
  }
};

}  // namespace hone
