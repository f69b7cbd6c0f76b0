// What the tool's verbs share: exit codes, results on stdout, messages on stderr.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hone/base/config.h"
#include "hone/base/error.h"

namespace hone::cli {

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;       ///< at run time
inline constexpr int kUsage = 2;        ///< the command line
inline constexpr int kBadInput = 3;     ///< a file that is missing, damaged or wrong
inline constexpr int kUnsupported = 4;  ///< a model or format that this build does not serve
inline constexpr int kNumerical = 7;    ///< NaN or Inf
inline constexpr int kInterrupted = 130;

/// An error that lies in a file the user gave: exit code 3.
struct InputError : Error {
  using Error::Error;
  explicit InputError(const Error& error) : Error(error) {}
};

/// Runs `read`; what goes wrong in it is the file's fault, except for what is unsupported or exhausts memory.
void reading_input(const std::function<void()>& read);

/// Writes "error: message" to stderr, once, and returns the exit code of the exception. Call it in a catch block.
int report_exception();

/// "error: " on stderr, red on a terminal.
void print_error(std::string_view message);
/// A line on stderr for people.
void note(std::string_view message);
/// A line of the result, on stdout. Error kResourceExhausted where stdout cannot be written (a full disk).
void print(std::string_view line);
/// One JSON document on one line, with "schema_version" in front.
void print_json(Config::Table result);

/// May this stream (1 or 2) show colours? Not if it is no terminal, if TERM is dumb or NO_COLOR is set; CLICOLOR_FORCE
/// forces them.
bool colours(int stream);

/// Columns aligned by their widest cell; the first row is the head. Columns with a true in `right` are set flush right.
std::string table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right);

/// "12.3 MiB".
std::string bytes_text(double bytes);

}  // namespace hone::cli
