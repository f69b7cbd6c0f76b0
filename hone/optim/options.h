// Options as configs: an option struct lists its fields once, in visit(); a writer and a reader walk them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hone/base/config.h"

namespace hone::optim {

/// Writes visited fields into a table. Absent optional values are left out.
class OptionWriter {
 public:
  explicit OptionWriter(std::string type) { set("type", std::move(type)); }
  void field(std::string_view key, bool value) { set(key, value); }
  void field(std::string_view key, int64_t value) { set(key, value); }
  void field(std::string_view key, double value) { set(key, value); }
  void field(std::string_view key, const std::string& value) { set(key, value); }
  template <class T>
  void field(std::string_view key, const std::optional<T>& value) {
    if (value) field(key, *value);
  }
  /// A type that has a config of its own.
  template <class T>
    requires requires(const T& t) { t.config(); }
  void field(std::string_view key, const T& value) {
    set(key, value.config());
  }
  Config take() { return std::move(config_); }

 private:
  void set(std::string_view key, Config value) { config_.set(std::string(key), std::move(value)); }
  Config config_;
};

/// Sets visited fields from a table; fields that the table lacks keep their value. finish() fails on keys that no field
/// has.
class OptionReader {
 public:
  /// `where` names the table in messages: "train.optimizer". The key "type" is known. Error kInvalidArgument unless it
  /// is a table.
  OptionReader(const Config& config, std::string_view where);
  void field(std::string_view key, bool& value);
  void field(std::string_view key, int64_t& value);
  void field(std::string_view key, double& value);
  void field(std::string_view key, std::string& value);
  /// Null stands for absent, as in Keras' configs.
  template <class T>
  void field(std::string_view key, std::optional<T>& value) {
    const Config* found = find(key);
    if (!found) return;
    value.reset();
    if (!found->is_null()) field(key, value.emplace());
  }
  /// A type that is made from a config of its own.
  template <class T>
    requires requires(const Config& c, std::string_view where) { T::from_config(c, where); }
  void field(std::string_view key, T& value) {
    if (const Config* found = find(key)) value = T::from_config(*found, path(key));
  }
  /// Error kInvalidArgument for a key that was not visited, with the nearest one that was.
  void finish() const;

 private:
  const Config* find(std::string_view key);
  std::string path(std::string_view key) const;
  const Config& config_;
  std::string where_;
  std::vector<std::string_view> known_;
};

/// {"type": type, fields...}.
template <class Options>
Config write_options(std::string type, const Options& options) {
  OptionWriter writer(std::move(type));
  Options(options).visit(writer);
  return writer.take();
}
/// Options with the table's fields set. Error kInvalidArgument for wrong types and unknown keys.
template <class Options>
Options read_options(const Config& config, std::string_view where) {
  Options options;
  OptionReader reader(config, where);
  options.visit(reader);
  reader.finish();
  return options;
}

/// "MeanSquaredError" -> "mean_squared_error".
std::string snake_case(std::string_view type);
/// The name that a config gives: the string itself, or a table's "type". Error kInvalidArgument where there is none.
const std::string& type_name(const Config& config, std::string_view where);
/// Throws Error kInvalidArgument: "WHERE: no KIND is named 'NAME'", with the nearest candidate or all of them.
[[noreturn]] void fail_unknown(std::string_view kind, std::string_view where, std::string_view name,
                               std::span<const std::string_view> candidates);

}  // namespace hone::optim
