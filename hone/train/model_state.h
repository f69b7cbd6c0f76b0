// What a model holds beside its layers. For hone/train/ only.
#pragma once
#include "hone/train/model.h"

namespace hone::nn {

struct Model::State {
  CompileOptions compile;
  bool compiled = false;
  TensorType input_type;
  Preprocessing preprocessing;
  std::vector<std::string> class_names;
};

}  // namespace hone::nn
