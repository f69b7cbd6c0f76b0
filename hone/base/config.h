// A tree of plain values: what TOML and JSON files hold, and what describes a layer, an optimizer or a dataset.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hone {

/// null, bool, integer, number, string, array or table (keys keep their order). Reading with the wrong type throws
/// Error kInvalidArgument with the key's path.
class Config {
 public:
  using Array = std::vector<Config>;
  using Table = std::vector<std::pair<std::string, Config>>;

  Config() = default;
  Config(bool value) : value_(value) {}                       // NOLINT
  Config(int value) : value_(static_cast<int64_t>(value)) {}  // NOLINT
  Config(int64_t value) : value_(value) {}                    // NOLINT
  Config(double value) : value_(value) {}                     // NOLINT
  Config(const char* value) : value_(std::string(value)) {}   // NOLINT
  Config(std::string value) : value_(std::move(value)) {}     // NOLINT
  Config(Array value) : value_(std::move(value)) {}           // NOLINT
  Config(Table value) : value_(std::move(value)) {}           // NOLINT

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return std::holds_alternative<int64_t>(value_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_table() const { return std::holds_alternative<Table>(value_); }

  /// `where` names the value in messages: "model.layers[2].filters".
  bool as_bool(std::string_view where = "value") const;
  int64_t as_integer(std::string_view where = "value") const;
  double as_number(std::string_view where = "value") const;
  const std::string& as_string(std::string_view where = "value") const;
  const Array& as_array(std::string_view where = "value") const;
  const Table& as_table(std::string_view where = "value") const;

  /// The entry of a table, or null where there is none.
  const Config* find(std::string_view key) const;
  /// Sets an entry of a table (a null value becomes a table first).
  void set(std::string key, Config value);

  friend bool operator==(const Config&, const Config&) = default;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Table> value_;
};

/// Compact JSON; numbers round-trip.
std::string to_json(const Config& value);

/// The candidate closest to `name` by edit distance, for "did you mean"; empty if none is near.
std::string nearest(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace hone
