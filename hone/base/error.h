// The one exception type of Hone: a code, and a message that says what, where, expected, got and how to fix it.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "hone/base/location.h"

namespace hone {

enum class Code {
  kInvalidArgument,     ///< shapes, dtypes, ranks, values that an op or option cannot take
  kOutOfRange,          ///< an index or size beyond its bounds
  kNotFound,            ///< a missing file, name or key
  kDataLoss,            ///< a damaged file
  kUnsupported,         ///< valid, but not served by this build, version or device
  kResourceExhausted,   ///< memory limit, full disk
  kFailedPrecondition,  ///< the call is out of order (a layer not built, a tape already used)
  kNumerical,           ///< NaN or Inf where none may be
  kCancelled,           ///< stopped on request (Ctrl-C)
  kInternal,            ///< a defect of Hone
};

/// Lower-case words of a code: "invalid argument".
std::string_view name(Code code);

/// What an error message consists of; empty parts are left out of what().
struct ErrorParts {
  std::string what{};                  ///< "shape mismatch in dot_general"
  Location location{};                 ///< the user's call
  std::vector<std::string> details{};  ///< one line each: operands, expected and got, file and byte offset
  std::string fix{};                   ///< how to mend it
};

/// Thrown by every part of Hone. what() is the whole message, without a trailing newline.
class Error : public std::runtime_error {
 public:
  Error(Code code, ErrorParts parts);
  Error(Code code, std::string what, std::string fix = {})
      : Error(code, ErrorParts{std::move(what), {}, {}, std::move(fix)}) {}
  Code code() const { return code_; }
  const ErrorParts& parts() const { return parts_; }

 private:
  Code code_;
  ErrorParts parts_;
};

}  // namespace hone
