// The conversions of math/convert.h over Emitted: the same bits by vector instructions where those exist.
#include <array>

#include "hone/backend/jit/rows.h"
#include "hone/backend/jit/values.h"
#include "hone/math/convert.h"

namespace hone::jit {
namespace {

/// The f32 that rounds to the same 16-bit float as x.
template <class From>
Emitted<float> for_half(Emitted<From> x) {
  if constexpr (std::is_same_v<From, float>)
    return x;
  else if constexpr (sizeof(From) <= 2)
    return to<float>(x);
  else
    return map_lanes<float>([](From v) { return level::float_for_half(v); }, x);
}

template <class From, class To>
Node convert(const double*, const Node* in) {
  if constexpr (std::is_same_v<From, To>) {
    return in[0];
  } else {
    const auto x = load<From>(in[0]);
    using L = typename decltype(x)::Lane;
    if constexpr (level::kIsHalf<To>)
      return store<To>(for_half(x));
    else if constexpr (std::is_same_v<To, bool>)
      return store<To>(x != Emitted<L>(L{0}));
    else
      return to<To>(x).node;
  }
}

using Row = std::array<EmitFn, math::kElementTypes>;
template <class From>
constexpr Row row() {
  return []<class... To>(math::TypeList<To...>) { return Row{&convert<From, To>...}; }(math::ElementTypeList{});
}
constexpr auto kConversions = []<class... From>(math::TypeList<From...>) {
  return std::array{row<From>()...};
}(math::ElementTypeList{});

constexpr auto kKinds = []<class... T>(math::TypeList<T...>) {
  return std::array{kKind<T>...};
}(math::ElementTypeList{});
}  // namespace

EmitFn conversion_emitter(int from, int to) { return kConversions[static_cast<size_t>(from)][static_cast<size_t>(to)]; }
Kind kind_of(int type) { return kKinds[static_cast<size_t>(type)]; }

}  // namespace hone::jit
