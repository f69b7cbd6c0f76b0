// error: the model has no loss yet
//   at tests/error/fit_before_compile.cpp:LINE   model.fit(zeros({8, 4}), zeros({8, 10}));
//   fix: call compile({.optimizer = ..., .loss = ...}) first
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_fit_before_compile(__FILE__, [](const std::string&) {
  nn::Sequential model{nn::Dense(10)};
  model.fit(zeros({8, 4}), zeros({8, 10}));
});
}  // namespace hone::test
