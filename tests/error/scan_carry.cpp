// error: the body of scan changes the type of the carry
//   at tests/error/scan_carry.cpp:LINE   return scan(
//   leaf 0, expected: f32[4]
//   leaf 0, got:      f64[4], made at tests/error/scan_carry.cpp:LINE   const Tensor wider = cast(c, f64) + cast(v, f64);
//   in 'function', called at tests/error/scan_carry.cpp:LINE   sums(ones({3, 4}));
//   fix: a carry keeps its dtypes and shapes: cast or reshape it in the body, or start from another init
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_scan_carry(__FILE__, [](const std::string&) {
  const auto sums = function([](const Tensor& x) {
    return scan(
               [](const Tensor& c, const Tensor& v) {
                 const Tensor wider = cast(c, f64) + cast(v, f64);
                 return std::pair{wider, v};
               },
               zeros({4}), x)
        .first;
  });
  sums(ones({3, 4}));
});
}  // namespace hone::test
