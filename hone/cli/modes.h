// Who computes: the modes of `hone run` and `hone bench`.
#pragma once
#include <string>

namespace hone::cli {

inline constexpr const char* kEager = "eager";  ///< op by op
inline constexpr const char* kGraph = "graph";  ///< compiled; machine code comes in the background
inline constexpr const char* kJit = "jit";      ///< compiled, with machine code from the first call on

/// `asked`, or the fastest mode of this build where nothing is asked for. Error kUnsupported for jit without a code
/// generator.
std::string chosen_mode(const std::string& asked);

}  // namespace hone::cli
