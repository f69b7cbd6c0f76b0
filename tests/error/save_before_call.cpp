// error: the model was never called: there are no weights to save
//   at tests/error/save_before_call.cpp:LINE   model.save(folder + "/model.hone");
//   fix: train it, or call set_input_type and the model once
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_save_before_call(__FILE__, [](const std::string& folder) {
  const nn::Sequential model{nn::Dense(10)};
  model.save(folder + "/model.hone");
});
}  // namespace hone::test
