// error: weights do not fit the model
//   file: FOLDER/model.hone
//   dense/kernel: the file has f32[3,2], the model f32[3,3]
//   dense/bias: the file has f32[2], the model f32[3]
//   fix: load them into the architecture that saved them
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_weights_of_another_model(__FILE__, [](const std::string& folder) {
  nn::Sequential small{nn::Dense(2)}, large{nn::Dense(3)};
  small.set_input_type({f32, {1, 3}});
  small(zeros({1, 3}));
  small.save(folder + "/model.hone");
  large(zeros({1, 3}));
  large.load_weights(folder + "/model.hone");
});
}  // namespace hone::test
