#include "hone/optim/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "hone/base/error.h"

namespace hone::optim {

OptionReader::OptionReader(const Config& config, std::string_view where)
    : config_(config), where_(where), known_{"type"} {
  config.as_table(where_);
}

const Config* OptionReader::find(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.push_back(key);
  return config_.find(key);
}
std::string OptionReader::path(std::string_view key) const { return fmt::format("{}.{}", where_, key); }

void OptionReader::field(std::string_view key, bool& value) {
  if (const Config* found = find(key)) value = found->as_bool(path(key));
}
void OptionReader::field(std::string_view key, int64_t& value) {
  if (const Config* found = find(key)) value = found->as_integer(path(key));
}
void OptionReader::field(std::string_view key, double& value) {
  if (const Config* found = find(key)) value = found->as_number(path(key));
}
void OptionReader::field(std::string_view key, std::string& value) {
  if (const Config* found = find(key)) value = found->as_string(path(key));
}

void OptionReader::finish() const {
  for (const auto& [key, value] : config_.as_table(where_)) {
    if (std::ranges::find(known_, key) != known_.end()) continue;
    const std::string close = nearest(key, known_);
    throw Error(Code::kInvalidArgument,
                {.what = fmt::format("{} has no option '{}'", where_, key),
                 .details = {fmt::format("known: {}", fmt::join(known_, ", "))},
                 .fix = close.empty() ? "remove it" : fmt::format("did you mean '{}'?", close)});
  }
}

std::string snake_case(std::string_view type) {
  std::string out;
  for (const char c : type) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !out.empty()) out += '_';
    out += static_cast<char>(upper ? c - 'A' + 'a' : c);
  }
  return out;
}

const std::string& type_name(const Config& config, std::string_view where) {
  if (config.is_string()) return config.as_string(where);
  config.as_table(where);
  const Config* type = config.find("type");
  if (!type)
    throw Error(Code::kInvalidArgument, fmt::format("{} needs a type", where),
                "write {type = \"...\"} or the name alone");
  return type->as_string(fmt::format("{}.type", where));
}

void fail_unknown(std::string_view kind, std::string_view where, std::string_view name,
                  std::span<const std::string_view> candidates) {
  const std::string close = nearest(name, candidates);
  throw Error(Code::kInvalidArgument,
              {.what = fmt::format("{}{}no {} is named '{}'", where, where.empty() ? "" : ": ", kind, name),
               .details = {fmt::format("known: {}", fmt::join(candidates, ", "))},
               .fix = close.empty() ? "use one of the known names" : fmt::format("did you mean '{}'?", close)});
}

}  // namespace hone::optim
