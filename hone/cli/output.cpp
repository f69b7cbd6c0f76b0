#include "hone/cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "hone/base/file.h"

namespace hone::cli {

void reading_input(const std::function<void()>& read) {
  try {
    read();
  } catch (const InputError&) {
    throw;
  } catch (const Error& error) {
    if (error.code() == Code::kUnsupported || error.code() == Code::kResourceExhausted) throw;
    throw InputError(error);
  }
}

int report_exception() {
  try {
    throw;
  } catch (const InputError& error) {
    print_error(error.what());
    return kBadInput;
  } catch (const Error& error) {
    print_error(error.what());
    switch (error.code()) {
      case Code::kNotFound:
      case Code::kDataLoss:
      case Code::kOutOfRange:
        return kBadInput;
      case Code::kUnsupported:
        return kUnsupported;
      case Code::kNumerical:
        return kNumerical;
      case Code::kCancelled:
        return kInterrupted;
      default:
        return kFailed;
    }
  } catch (const std::bad_alloc&) {
    print_error(
        "the system has no more memory for this process\n  fix: use a smaller batch or model, or end other programs");
    return kFailed;
  } catch (const std::exception& error) {
    print_error(
        fmt::format("a defect of hone: an unexpected exception\n  got: {}\n  fix: please report it, with the command",
                    error.what()));
    return kFailed;
  }
}

bool colours(int stream) {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value && *value;
  };
  if (set("NO_COLOR")) return false;
  if (const char* force = std::getenv("CLICOLOR_FORCE"); force && *force && std::string_view(force) != "0") return true;
  const char* term = std::getenv("TERM");
  return isatty(stream) != 0 && term && std::string_view(term) != "dumb";
}

namespace {

// A progress bar leaves its line open.
void clear_progress() {
  const char* term = std::getenv("TERM");
  if (isatty(STDERR_FILENO) != 0 && term && std::string_view(term) != "dumb") std::fputs("\r\x1b[K", stderr);
}

}  // namespace

void print_error(std::string_view message) {
  std::fflush(stdout);
  clear_progress();
  const bool red = colours(STDERR_FILENO);
  std::fprintf(stderr, "%serror:%s %.*s\n", red ? "\x1b[1;31m" : "", red ? "\x1b[0m" : "",
               static_cast<int>(message.size()), message.data());
}

void note(std::string_view message) {
  clear_progress();
  std::fprintf(stderr, "%.*s\n", static_cast<int>(message.size()), message.data());
}

void print(std::string_view line) {
  const bool written = std::fwrite(line.data(), 1, line.size(), stdout) == line.size() &&
                       std::fputc('\n', stdout) != EOF && std::fflush(stdout) == 0;
  if (!written) throw_file_error("write", "standard output", errno);
}

void print_json(Config::Table result) {
  result.insert(result.begin(), {"schema_version", 1});
  print(to_json(Config(std::move(result))));
}

std::string table(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& right) {
  std::vector<size_t> widths(right.size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += right[i] ? fmt::format("{:>{}}", row[i], widths[i]) : fmt::format("{:<{}}", row[i], widths[i]);
      if (i + 1 < row.size()) line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) bytes /= 1024, ++unit;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

}  // namespace hone::cli
