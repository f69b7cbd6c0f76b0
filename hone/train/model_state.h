// What a model holds beside its layers. For hone/train/ only.
#pragma once
#include "hone/formats/named_tensors.h"
#include "hone/train/model.h"
#include "hone/train/steps.h"

namespace hone::nn {

struct Model::State {
  CompileOptions compile;
  bool compiled = false;
  std::shared_ptr<Steps> steps;  ///< made at the first use after compile()
  TensorType input_type;
  Preprocessing preprocessing;
  std::vector<std::string> class_names;
};

/// Of all that a bundle says, so that no altered bit passes for a weight or an option.
std::string bundle_checksum(const std::string& description, const formats::NamedTensors& tensors);

}  // namespace hone::nn
