// Verbs that infer use frozen models.
#pragma once
#include <optional>

#include "hone/base/config.h"
#include "hone/train/freeze.h"

namespace hone::cli {

/// The model, frozen and held against itself on `sample`. Nothing, and a line on stderr, where it is beyond the bound
/// or cannot be frozen: then the model itself serves. With `verbose` the report goes to stderr.
std::optional<nn::FrozenModel> frozen(const nn::Model& model, const Tensor& sample, bool verbose);

/// For --json: what freezing did and the bound that was checked.
Config frozen_json(const nn::FrozenModel& model);

}  // namespace hone::cli
