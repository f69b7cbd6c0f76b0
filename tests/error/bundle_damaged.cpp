// error: damaged safetensors file
//   file: FOLDER/model.hone
//   at byte 8: 'dense/bias': F32[2] does not fit data_offsets [24, 32] of 27 bytes of data
//   fix: the file is incomplete or altered: copy, download or write it again
#include <hone/base/file.h>

#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_bundle_damaged(__FILE__, [](const std::string& folder) {
  nn::Sequential model{nn::Dense(2)};
  model.set_input_type({f32, {1, 3}});
  model(zeros({1, 3}));
  model.save(folder + "/model.hone");
  const std::string whole = read_file(folder + "/model.hone");
  write_file_atomic(folder + "/model.hone", std::string_view(whole).substr(0, whole.size() - 5));
  nn::Model::load(folder + "/model.hone");
});
}  // namespace hone::test
