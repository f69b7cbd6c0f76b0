// How each call of a cluster is emitted: the rows of ops.def and the conversions, over Emitted.
#pragma once
#include "hone/backend/jit/builder.h"
#include "hone/compiler/codegen.h"

namespace hone::jit {

/// Values hold what memory holds: bool bytes of 0 or 1, 16-bit floats the bits.
using EmitFn = Node (*)(const double* params, const Node* in);

/// A row of ops.def's ELEMENTWISE over an element type in DType's order; null where the functor does not take it.
EmitFn row_emitter(int row, int type);
EmitFn conversion_emitter(int from, int to);

/// A call with a result of element type `result`, by the row's functor or by its tile; null where the functor does not
/// take its type.
Node emit_step(Builder& builder, const codegen::MapStep& step, int result, const Node* in);

/// How rows are reduced, over vectors of any number of lanes.
struct ReduceRow {
  Kind accumulator;
  Node (*identity)();     ///< of the current builder's lanes
  Node (*widen)(Node x);  ///< elements as accumulators
  Node (*apply)(Node a, Node b);
  Node (*round)(Node accumulators);  ///< back to elements
  int accumulators;                  ///< partial results of a block
};
/// A math::ReduceKind over an element type; null where it is not taken.
const ReduceRow* reduce_row(int kind, int type);

/// Lanes in memory of an element type.
Kind kind_of(int type);

}  // namespace hone::jit
