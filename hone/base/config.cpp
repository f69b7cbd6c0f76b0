#include "hone/base/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "hone/base/error.h"

namespace hone {
namespace {

const char* kind(const Config& value) {
  if (value.is_null()) return "nothing";
  if (value.is_bool()) return "a bool";
  if (value.is_integer()) return "an integer";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "a string";
  return value.is_array() ? "an array" : "a table";
}

[[noreturn]] void fail(std::string_view where, const char* wanted, const Config& got) {
  throw Error(Code::kInvalidArgument, {.what = fmt::format("{} must be {}", where, wanted),
                                       .details = {fmt::format("got: {} ({})", kind(got), to_json(got))}});
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      out += c;
  }
  return out + '"';
}

}  // namespace

bool Config::as_bool(std::string_view where) const {
  if (!is_bool()) fail(where, "true or false", *this);
  return std::get<bool>(value_);
}
int64_t Config::as_integer(std::string_view where) const {
  if (!is_integer()) fail(where, "an integer", *this);
  return std::get<int64_t>(value_);
}
double Config::as_number(std::string_view where) const {
  if (is_integer()) return static_cast<double>(std::get<int64_t>(value_));
  if (!is_number()) fail(where, "a number", *this);
  return std::get<double>(value_);
}
const std::string& Config::as_string(std::string_view where) const {
  if (!is_string()) fail(where, "a string", *this);
  return std::get<std::string>(value_);
}
const Config::Array& Config::as_array(std::string_view where) const {
  if (!is_array()) fail(where, "an array", *this);
  return std::get<Array>(value_);
}
const Config::Table& Config::as_table(std::string_view where) const {
  if (!is_table()) fail(where, "a table", *this);
  return std::get<Table>(value_);
}

const Config* Config::find(std::string_view key) const {
  if (!is_table()) return nullptr;
  for (const auto& [name, value] : std::get<Table>(value_)) {
    if (name == key) return &value;
  }
  return nullptr;
}

void Config::set(std::string key, Config value) {
  if (is_null()) value_ = Table();
  Table& table = std::get<Table>(value_);
  for (auto& [name, old] : table) {
    if (name == key) {
      old = std::move(value);
      return;
    }
  }
  table.emplace_back(std::move(key), std::move(value));
}

std::string to_json(const Config& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return value.as_bool() ? "true" : "false";
  if (value.is_integer()) return std::to_string(value.as_integer());
  if (value.is_number()) {
    const double number = value.as_number();
    if (number != number || number - number != 0) return "null";  // JSON has neither NaN nor infinity
    std::string text = fmt::format("{}", number);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  if (value.is_string()) return quoted(value.as_string());
  std::string text;
  if (value.is_array()) {
    for (const Config& item : value.as_array()) text += (text.empty() ? "" : ", ") + to_json(item);
    return "[" + text + "]";
  }
  for (const auto& [key, item] : value.as_table())
    text += (text.empty() ? "" : ", ") + quoted(key) + ": " + to_json(item);
  return "{" + text + "}";
}

std::string nearest(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  size_t best_distance = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    std::vector<size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= name.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= candidate.size(); ++j) {
        const size_t up = row[j];
        const bool same = std::tolower(name[i - 1]) == std::tolower(candidate[j - 1]);
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (same ? 0 : 1)});
        diagonal = up;
      }
    }
    if (row.back() < best_distance) best_distance = row.back(), best = candidate;
  }
  return std::string(best);
}

}  // namespace hone
