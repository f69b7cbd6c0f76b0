#include "hone/cli/toml_file.h"

#include <fmt/format.h>

#include <toml++/toml.h>

#include <algorithm>
#include <vector>

#include "hone/base/file.h"
#include "hone/cli/output.h"

namespace hone::cli {
namespace {

constexpr size_t kLargestFile = size_t{16} << 20;

class Converter {
 public:
  Converter(const std::string& file, std::map<std::string, uint32_t, std::less<>>& lines)
      : file_(file), lines_(lines) {}

  Config convert(const toml::node& node, const std::string& path) {
    lines_[path] = node.source().begin.line;
    if (const auto* table = node.as_table()) return convert_table(*table, path);
    if (const auto* array = node.as_array()) {
      Config::Array items;
      for (const toml::node& item : *array) items.push_back(convert(item, fmt::format("{}[{}]", path, items.size())));
      return items;
    }
    if (const auto* value = node.as_boolean()) return value->get();
    if (const auto* value = node.as_integer()) return Config(int64_t{value->get()});
    if (const auto* value = node.as_floating_point()) return value->get();
    if (const auto* value = node.as_string()) return value->get();
    throw InputError(Code::kInvalidArgument, {.what = fmt::format("{} is a date or time", path),
                                              .details = {fmt::format("at {}:{}", file_, node.source().begin.line)},
                                              .fix = "no option of Hone is one; write a string or a number"});
  }

  Config convert_table(const toml::table& table, const std::string& path) {
    std::vector<std::pair<uint32_t, Config::Table::value_type>> entries;
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      const std::string inner = path.empty() ? name : path + "." + name;
      Config converted = convert(value, inner);
      lines_[inner] = key.source().begin.line;
      entries.emplace_back(key.source().begin.line, Config::Table::value_type(name, std::move(converted)));
    }
    std::ranges::stable_sort(entries, {}, [](const auto& entry) { return entry.first; });
    Config::Table out;
    for (auto& [line, entry] : entries) out.push_back(std::move(entry));
    return out;
  }

 private:
  const std::string& file_;
  std::map<std::string, uint32_t, std::less<>>& lines_;
};

// The path of the value that a message names: its first word, with the quoted name where both make a known path.
template <class Lines>
std::string named_path(const std::string& message, std::string_view otherwise, const Lines& lines) {
  std::string path = message.substr(0, message.find_first_of(" :"));
  if (!lines.contains(path)) path = otherwise;
  const size_t quote = message.find('\''), end = message.find('\'', quote == std::string::npos ? quote : quote + 1);
  if (end != std::string::npos) {
    std::string inner = path + "." + message.substr(quote + 1, end - quote - 1);
    if (lines.contains(inner)) return inner;
  }
  return path;
}

}  // namespace

TomlFile::TomlFile(std::string path) : path_(std::move(path)) {
  std::string text;
  reading_input([&] { text = read_file(path_, kLargestFile); });
  try {
    const toml::table table = toml::parse(text, path_);
    root_ = Converter(path_, lines_).convert_table(table, "");
    if (root_.is_null()) root_ = Config::Table();
  } catch (const toml::parse_error& error) {
    const auto at = error.source().begin;
    throw InputError(Code::kDataLoss, {.what = fmt::format("{}:{}:{} is not TOML", path_, at.line, at.column),
                                       .details = {std::string(error.description())},
                                       .fix = "see https://toml.io for the format"});
  }
}

const Config* TomlFile::find(std::string_view key_path) const {
  const Config* at = &root_;
  while (at && !key_path.empty()) {
    const size_t dot = std::min(key_path.find('.'), key_path.size());
    at = at->find(key_path.substr(0, dot));
    key_path.remove_prefix(std::min(dot + 1, key_path.size()));
  }
  return at;
}

std::string TomlFile::place(std::string_view key_path) const {
  const auto at = lines_.find(key_path);
  return at == lines_.end() ? path_ : fmt::format("{}:{}", path_, at->second);
}

void TomlFile::expect_keys(std::string_view table, std::initializer_list<std::string_view> known) const {
  const Config* config = find(table);
  if (!config) return;
  if (!config->is_table()) reading(table, [&] { config->as_table(table); });
  for (const auto& [key, value] : config->as_table()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const std::string close = nearest(key, std::span(known.begin(), known.size()));
    const std::string path = table.empty() ? key : fmt::format("{}.{}", table, key);
    std::string list;
    for (const std::string_view each : known) list += (list.empty() ? "" : ", ") + std::string(each);
    throw InputError(Code::kInvalidArgument,
                     {.what = table.empty() ? fmt::format("no table is named '{}'", key)
                                            : fmt::format("{} has no key '{}'", table, key),
                      .details = {"at " + place(path), "known: " + list},
                      .fix = close.empty() ? "remove it" : fmt::format("did you mean '{}'?", close)});
  }
}

void TomlFile::fail(std::string_view key_path, const Error& error) const {
  if (dynamic_cast<const InputError*>(&error)) throw InputError(error);
  ErrorParts parts = error.parts();
  parts.location = {};
  parts.details.insert(parts.details.begin(), "at " + place(named_path(parts.what, key_path, lines_)));
  throw InputError(error.code(), std::move(parts));
}

}  // namespace hone::cli
