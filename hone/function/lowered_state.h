// What Lowered shows. Internal.
#pragma once
#include <memory>
#include <optional>

#include "hone/compiler/pipeline.h"
#include "hone/function/lowered.h"
#include "hone/function/trace.h"

namespace hone {

struct Lowered::State {
  std::shared_ptr<const Trace> trace;
  std::optional<compiler::Compiled> compiled;  ///< none for symbolic shapes
};

}  // namespace hone
