#include "hone/nn/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "hone/base/error.h"

namespace hone::nn {

ConfigReader::ConfigReader(const Config& config, std::string_view where)
    : config_(config), where_(where), known_{"type", "name", "trainable"} {
  config.as_table(where_);
}

const Config* ConfigReader::find(std::string_view key) {
  known_.push_back(key);
  return config_.find(key);
}
std::string ConfigReader::path(std::string_view key) const { return fmt::format("{}.{}", where_, key); }

int64_t ConfigReader::integer(std::string_view key, int64_t fallback) {
  const Config* value = find(key);
  return value ? value->as_integer(path(key)) : fallback;
}
double ConfigReader::number(std::string_view key, double fallback) {
  const Config* value = find(key);
  return value ? value->as_number(path(key)) : fallback;
}
bool ConfigReader::boolean(std::string_view key, bool fallback) {
  const Config* value = find(key);
  return value ? value->as_bool(path(key)) : fallback;
}
std::string ConfigReader::string(std::string_view key, std::string fallback) {
  const Config* value = find(key);
  return value ? value->as_string(path(key)) : std::move(fallback);
}

Ints ConfigReader::sizes(std::string_view key, Ints fallback) {
  const Config* value = find(key);
  if (!value) return fallback;
  if (!value->is_array()) return Ints{value->as_integer(path(key))};
  Ints out;
  for (const Config& item : value->as_array()) out.push_back(item.as_integer(path(key)));
  return out;
}

int64_t ConfigReader::required_integer(std::string_view key) {
  if (!config_.find(key))
    throw Error(Code::kInvalidArgument, fmt::format("{} is missing", path(key)), "this layer cannot do without it");
  return integer(key, 0);
}
Ints ConfigReader::required_sizes(std::string_view key) {
  if (!config_.find(key))
    throw Error(Code::kInvalidArgument, fmt::format("{} is missing", path(key)), "this layer cannot do without it");
  return sizes(key, {});
}

void ConfigReader::finish() const {
  for (const auto& [key, value] : config_.as_table(where_)) {
    if (std::ranges::find(known_, key) != known_.end()) continue;
    const std::string close = nearest(key, known_);
    throw Error(Code::kInvalidArgument,
                {.what = fmt::format("{} has no option '{}'", where_, key),
                 .fix = close.empty() ? "remove it" : fmt::format("did you mean '{}'?", close)});
  }
}

void set_initializer(Config& config, std::string key, const Initializer& initializer) {
  if (has_config(initializer)) config.set(std::move(key), initializer.name);
}

Config sizes_config(const Ints& sizes) {
  if (!sizes.empty() && std::ranges::all_of(sizes, [&](int64_t s) { return s == sizes[0]; })) return sizes[0];
  Config::Array items;
  for (int64_t s : sizes) items.emplace_back(s);
  return items;
}

}  // namespace hone::nn
