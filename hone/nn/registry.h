// Layers from configs: the list of types, and a reader that knows which keys were asked for.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hone/base/config.h"
#include "hone/nn/layer.h"

namespace hone::nn {

/// Reads the keys of one table; finish() fails on keys that nobody asked for.
class ConfigReader {
 public:
  /// `where` names the table in messages. "type", "name" and "trainable" are always known.
  ConfigReader(const Config& config, std::string_view where);

  int64_t integer(std::string_view key, int64_t fallback);
  double number(std::string_view key, double fallback);
  bool boolean(std::string_view key, bool fallback);
  std::string string(std::string_view key, std::string fallback);
  /// A number or an array of numbers.
  Ints sizes(std::string_view key, Ints fallback);
  /// Errors where the key is missing.
  int64_t required_integer(std::string_view key);
  Ints required_sizes(std::string_view key);
  const Config* find(std::string_view key);
  std::string path(std::string_view key) const;
  /// Error kInvalidArgument for a key that was never read, with the nearest known one.
  void finish() const;

 private:
  const Config& config_;
  std::string where_;
  std::vector<std::string_view> known_;
};

struct LayerType {
  std::string_view name;
  Layer (*from_config)(ConfigReader& reader);
};
/// All types of the library.
std::span<const LayerType> layer_types();

/// Sets the initializer's name, unless it is one of the user's own.
void set_initializer(Config& config, std::string key, const Initializer& initializer);

/// A number where all sizes agree, else an array.
Config sizes_config(const Ints& sizes);

}  // namespace hone::nn
