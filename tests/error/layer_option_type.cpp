// error: model.layers[3].units must be an integer
//   got: a string ("ten")
#include <hone/nn/layer.h>

#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_layer_option_type(__FILE__, [](const std::string&) {
  nn::layer_from_config(Config::Table{{"type", "Dense"}, {"units", "ten"}}, "model.layers[3]");
});
}  // namespace hone::test
