#include "hone/base/error.h"

#include <array>
#include <fstream>

namespace hone {
namespace {

std::string source_line(const Location& location) {
  std::ifstream file(location.file);
  std::string line;
  for (uint32_t i = 0; i < location.line; ++i) {
    if (!std::getline(file, line)) return {};
  }
  const auto begin = line.find_first_not_of(" \t");
  return begin == std::string::npos ? std::string() : line.substr(begin);
}

std::string compose(const ErrorParts& parts) {
  std::string text = parts.what;
  if (parts.location.known()) text += "\n  at " + to_string(parts.location);
  for (const std::string& detail : parts.details) text += "\n  " + detail;
  if (!parts.fix.empty()) text += "\n  fix: " + parts.fix;
  return text;
}

}  // namespace

std::string to_string(const Location& location) {
  std::string text = std::string(location.file) + ":" + std::to_string(location.line);
  if (std::string line = source_line(location); !line.empty()) text += "   " + line;
  return text;
}

std::string_view name(Code code) {
  constexpr std::array<std::string_view, 10> kNames = {
      "invalid argument",   "out of range",        "not found", "data loss", "unsupported",
      "resource exhausted", "failed precondition", "numerical", "cancelled", "internal"};
  return kNames[static_cast<size_t>(code)];
}

Error::Error(Code code, ErrorParts parts) : std::runtime_error(compose(parts)), code_(code), parts_(std::move(parts)) {}

}  // namespace hone
