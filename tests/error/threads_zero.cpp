// error: invalid number of threads
//   expected 1 to 1024, got 0
//   fix: hone::cpu_budget() suits most
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_threads_zero(__FILE__, [](const std::string&) { set_threads(0); });
}  // namespace hone::test
