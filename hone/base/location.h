// Where in the user's program an op was called.
#pragma once
#include <cstdint>
#include <string>

namespace hone {

/// A place in source code. `Location::current()` as a default argument captures the caller's line.
/// File and function point to static storage.
struct Location {
  const char* file = "";
  const char* function = "";
  uint32_t line = 0;

  static constexpr Location current(const char* file = __builtin_FILE(), const char* function = __builtin_FUNCTION(),
                                    uint32_t line = __builtin_LINE()) {
    return {file, function, line};
  }
  bool known() const { return line != 0; }
};

/// "file.cpp:31", followed by the source line where the file can be read.
std::string to_string(const Location& location);

}  // namespace hone
