// error: layer has no option 'activaton'
//   fix: did you mean 'activation'?
#include <hone/nn/layer.h>

#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_layer_option(__FILE__, [](const std::string&) {
  nn::layer_from_config(Config::Table{{"type", "Dense"}, {"units", 8}, {"activaton", "relu"}});
});
}  // namespace hone::test
