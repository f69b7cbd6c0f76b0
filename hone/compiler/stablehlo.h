// Hone's text form: StableHLO.
#pragma once
#include <string>
#include <string_view>

#include "hone/ir/graph.h"
#include "hone/ir/text_writer.h"

namespace hone::compiler {

/// A program as StableHLO, which parse_text reads back to the same graph, and StableHLO's own parser to one that means
/// the same if all shapes are static. What StableHLO lacks is stablehlo.composite "hone.x" with its decomposition or
/// stablehlo.custom_call @hone.x; symbolic dimensions are `?`, named by attributes hone.shape and hone.symbols.
std::string to_text(const ir::Graph& graph, ir::TextOptions options = {});

/// The program @main of a StableHLO text: what to_text writes and what JAX prints. Private functions become part of it;
/// reductions, sorts and scatters are known by what their regions compute; nodes that nothing reads are dropped.
/// `file` is for messages. Errors: kInvalidArgument (file:line:column), kUnsupported (all that is not supported, by
/// line).
ir::Graph parse_text(std::string_view text, std::string_view file);

}  // namespace hone::compiler
