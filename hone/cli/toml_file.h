// TOML files as a Config that knows where each value stands.
#pragma once
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "hone/base/config.h"
#include "hone/base/error.h"

namespace hone::cli {

/// A parsed file. Paths are as in messages: "model.layers[2].filters".
class TomlFile {
 public:
  /// Error InputError: the file cannot be read, or is no TOML (with file:line:column).
  explicit TomlFile(std::string path);

  const std::string& path() const { return path_; }
  const Config& root() const { return root_; }
  /// The value at a path, or null.
  const Config* find(std::string_view key_path) const;
  /// "fashion.toml:12", or the file alone where the path is unknown.
  std::string place(std::string_view key_path) const;

  /// Error InputError for a key of this table (the root: "") that is none of `known`: nearest name, file and line.
  void expect_keys(std::string_view table, std::initializer_list<std::string_view> known) const;
  /// Runs `read` on values of this file; an Error it throws gets the place of the value it names.
  template <class F>
  auto reading(std::string_view key_path, F read) const -> decltype(read()) {
    try {
      return read();
    } catch (const Error& error) {
      fail(key_path, error);
    }
  }
  /// Error InputError at the value.
  [[noreturn]] void fail(std::string_view key_path, const Error& error) const;

 private:
  std::string path_;
  Config root_;
  std::map<std::string, uint32_t, std::less<>> lines_;
};

}  // namespace hone::cli
