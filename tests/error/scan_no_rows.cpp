// error: scan has no rows to run over
//   at tests/error/scan_no_rows.cpp:LINE   scan([](const Tensor& c, const std::tuple<>&) { return std::pair{c * 2, c}; }, ones({3}), std::tuple<>());
//   fix: give xs, or {.length = ...}
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_scan_no_rows(__FILE__, [](const std::string&) {
  scan([](const Tensor& c, const std::tuple<>&) { return std::pair{c * 2, c}; }, ones({3}), std::tuple<>());
});
}  // namespace hone::test
