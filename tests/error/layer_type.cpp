// error: layer: no layer type is named 'Conv2d'
//   fix: did you mean 'Conv2D'?
#include <hone/nn/layer.h>

#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_layer_type(__FILE__, [](const std::string&) {
  nn::layer_from_config(Config::Table{{"type", "Conv2d"}, {"filters", 8}, {"kernel_size", 3}});
});
}  // namespace hone::test
