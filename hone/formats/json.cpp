#include "hone/formats/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hone/base/error.h"

namespace hone::formats {
namespace {

using Json = nlohmann::ordered_json;

Config convert(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return json.get<bool>();
    case Json::value_t::number_integer:
      return json.get<int64_t>();
    case Json::value_t::number_unsigned: {
      const auto value = json.get<uint64_t>();
      return value <= INT64_MAX ? Config(static_cast<int64_t>(value)) : Config(static_cast<double>(value));
    }
    case Json::value_t::number_float:
      return json.get<double>();
    case Json::value_t::string:
      return json.get<std::string>();
    case Json::value_t::array: {
      Config::Array items;
      for (const Json& item : json) items.push_back(convert(item));
      return items;
    }
    case Json::value_t::object: {
      Config::Table table;
      for (const auto& [key, value] : json.items()) table.emplace_back(key, convert(value));
      return table;
    }
    default:
      return {};
  }
}

// Depth is bounded before anything recursive sees the text: a file of '[' must not overflow the stack.
void check_depth(std::string_view text, const std::string& source) {
  constexpr int kDepth = 200;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDepth) {
      throw Error(Code::kDataLoss,
                  {.what = "damaged JSON",
                   .details = {"file: " + source, fmt::format("at byte {}: nested deeper than {}", i, kDepth)}});
    }
  }
}

}  // namespace

Config parse_json(std::string_view text, const std::string& source) {
  check_depth(text, source);
  try {
    return convert(Json::parse(text));
  } catch (const nlohmann::json::parse_error& error) {
    throw Error(Code::kDataLoss,
                {.what = "damaged JSON",
                 .details = {"file: " + source, fmt::format("at byte {}: {}", error.byte, error.what())},
                 .fix = "the file was cut or edited by hand; write it again"});
  }
}

}  // namespace hone::formats
