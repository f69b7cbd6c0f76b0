#include "hone/cli/frozen.h"

#include "hone/cli/output.h"

namespace hone::cli {

std::optional<nn::FrozenModel> frozen(const nn::Model& model, const Tensor& sample, bool verbose) {
  try {
    const nn::FrozenModel frozen = nn::freeze(model, {.sample = sample});
    if (std::string report = frozen.report(); verbose) {
      report.pop_back();
      note(report);
    }
    return frozen;
  } catch (const Error& error) {
    note("warning: the model runs as it was trained: " + error.parts().what);
    for (const std::string& detail : error.parts().details) {
      if (verbose) note("  " + detail);
    }
    return {};
  }
}

Config frozen_json(const nn::FrozenModel& model) {
  const nn::FreezeSummary& s = model.summary();
  return Config::Table{{"calls_before", s.calls_before},
                       {"calls_after", s.calls_after},
                       {"convolutions", s.convolutions},
                       {"dense", s.dense},
                       {"folded_scales", s.scales},
                       {"fused_activations", s.activations},
                       {"fused_residuals", s.residuals},
                       {"folded_weights", s.weights},
                       {"largest_difference", s.largest_difference},
                       {"relative_difference", s.relative_difference},
                       {"argmax_agreement", s.argmax_agreement},
                       {"seconds", s.seconds}};
}

}  // namespace hone::cli
