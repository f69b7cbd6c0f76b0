// Training curves as an SVG picture.
#pragma once
#include <string>

#include "hone/train/callback.h"

namespace hone::nn {

/// One panel for each value that the history logs (loss first), with its validation curve, axes, and a legend: a
/// complete SVG file without scripts or fonts of its own. Values that are not finite leave a gap. Error
/// kInvalidArgument for an empty history.
std::string history_svg(const History& history, const std::string& title = "Training");
/// Writes it atomically.
void write_history_svg(const std::string& path, const History& history, const std::string& title = "Training");

}  // namespace hone::nn
