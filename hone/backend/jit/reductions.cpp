// The reductions of math/reduce.h over Emitted.
#include <array>

#include "hone/backend/jit/rows.h"
#include "hone/backend/jit/values.h"
#include "hone/math/reduce.h"

namespace hone::jit {
namespace {

template <class Op, class T, class A>
constexpr ReduceRow kRow{
    kKind<A>,
    [] { return Emitted<A>(Op::template kIdentity<A>).node; },
    [](Node x) { return load<T>(x).node; },
    [](Node a, Node b) { return Op::apply(Emitted<A>::of(a), Emitted<A>::of(b)).node; },
    [](Node a) { return store<T>(Emitted<A>::of(a)); },
    level::kAccumulators<A>,
};

// The accumulators that math/reduce.h has for elements of T.
template <class Op, class T>
constexpr const ReduceRow* row() {
  constexpr bool kBits = std::is_same_v<Op, level::AndOf> || std::is_same_v<Op, level::OrOf>;
  if constexpr (level::kIsHalf<T>) {
    if constexpr (!kBits) return &kRow<Op, T, float>;
  } else if constexpr (std::is_same_v<T, bool>) {
    if constexpr (kBits) return &kRow<Op, unsigned char, unsigned char>;
  } else if constexpr (level::kIsFloat<T>) {
    if constexpr (!kBits) return &kRow<Op, T, T>;
  } else {
    using A = std::conditional_t<(T(-1) < T(0)), level::IntOf<T>, level::UintOf<T>>;
    return &kRow<Op, A, A>;
  }
  return nullptr;
}

using Rows = std::array<const ReduceRow*, math::kElementTypes>;
template <class Op>
constexpr Rows rows() {
  return []<class... T>(math::TypeList<T...>) { return Rows{row<Op, T>()...}; }(math::ElementTypeList{});
}
constexpr Rows kRows[] = {rows<level::SumOf>(), rows<level::ProdOf>(), rows<level::MaxOf>(),
                          rows<level::MinOf>(), rows<level::AndOf>(),  rows<level::OrOf>()};
static_assert(std::size(kRows) == math::kReduceKinds);

}  // namespace

const ReduceRow* reduce_row(int kind, int type) { return kRows[kind][static_cast<size_t>(type)]; }

}  // namespace hone::jit
