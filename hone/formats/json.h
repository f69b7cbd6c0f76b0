// JSON text as a Config.
#pragma once
#include <string>
#include <string_view>

#include "hone/base/config.h"

namespace hone::formats {

/// Error kDataLoss for text that is not JSON, with `source` (a file's name) and the byte where it breaks; numbers
/// beyond 64 bits become doubles.
Config parse_json(std::string_view text, const std::string& source);

}  // namespace hone::formats
