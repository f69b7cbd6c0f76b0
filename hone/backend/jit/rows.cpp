// The functors of math/ over Emitted: ops.def once more. Compiled for the baseline; what it emits is for any level.
#include "hone/backend/jit/rows.h"

#include <array>
#include <cstddef>

#include "hone/backend/jit/values.h"
#include "hone/math/tile.h"

namespace hone::jit {
namespace {

/// The row of a functor, as the tiles have it (math/tile.h).
template <class F, int kArity, class T>
Node emit(const double* params, const Node* in) {
  using L = level::TileLane<F, T>;
  return [&]<int... kIndex>(level::Operands<kIndex...>) {
    if constexpr (std::is_same_v<F, level::Select>)
      return store<L>(F::apply(mask_value(in[0]), Emitted<L>::of(in[1]), Emitted<L>::of(in[2])));
    else
      return store<T>(level::apply<F>(params, load<L>(in[kIndex])...));
  }(typename level::OperandsOf<kArity>::Type{});
}

using Row = std::array<EmitFn, math::kElementTypes>;

template <class F, int kArity>
constexpr Row row() {
  return []<class... T>(math::TypeList<T...>) {
    return Row{[] {
      if constexpr ((F::kTakes & level::kKindOf<T>) != 0)
        return &emit<F, kArity, T>;
      else
        return EmitFn{nullptr};
    }()...};
  }(math::ElementTypeList{});
}

constexpr Row kRows[] = {
#define ELEMENTWISE(name, arity, functor) row<level::functor, arity>(),
#include "hone/ops/ops.def"
};

}  // namespace

EmitFn row_emitter(int row, int type) { return kRows[row][static_cast<size_t>(type)]; }

Node emit_step(Builder& builder, const codegen::MapStep& step, int result, const Node* in) {
  const bool converts = step.row == codegen::MapStep::kConvert;
  const EmitFn emit = converts ? conversion_emitter(step.type, result) : row_emitter(step.row, step.type);
  if (!emit) return nullptr;
  return builder.step(codegen::tile_name(step, result), step.params, {in, static_cast<size_t>(step.operands)},
                      kind_of(result), [&] { return emit(step.params, in); });
}

}  // namespace hone::jit
