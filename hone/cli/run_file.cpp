#include "hone/cli/run_file.h"

#include <fmt/format.h>

#include <cmath>

#include "hone/cli/output.h"

namespace hone::cli {
namespace {

[[noreturn]] void wrong(const TomlFile& file, const std::string& path, std::string what, std::string fix) {
  throw InputError(Code::kInvalidArgument,
                   {.what = std::move(what), .details = {"at " + file.place(path)}, .fix = std::move(fix)});
}

// Reads one value of a table with its checks; nothing where the key is absent.
template <class F>
void each_value(const TomlFile& file, const std::string& path, F read) {
  if (const Config* value = file.find(path)) file.reading(path, [&] { read(*value); });
}

std::vector<std::string> strings(const Config& value, const std::string& path) {
  std::vector<std::string> out;
  for (const Config& item : value.as_array(path))
    out.push_back(item.as_string(fmt::format("{}[{}]", path, out.size())));
  return out;
}

std::optional<IdxFiles> idx_files(const TomlFile& file, const std::string& path) {
  std::optional<IdxFiles> out;
  each_value(file, path, [&](const Config& value) {
    const std::vector<std::string> files = strings(value, path);
    if (files.size() != 2) {
      wrong(file, path, fmt::format("{} must be two IDX files: images and labels", path),
            fmt::format("write {} = [\"images-idx3-ubyte.gz\", \"labels-idx1-ubyte.gz\"]",
                        path.substr(path.find('.') + 1)));
    }
    out = IdxFiles{files[0], files[1]};
  });
  return out;
}

int64_t positive(const TomlFile& file, const std::string& path, int64_t fallback) {
  each_value(file, path, [&](const Config& value) {
    fallback = value.as_integer(path);
    if (fallback < 1)
      wrong(file, path, fmt::format("{} must be at least 1, got {}", path, fallback), "give a positive number");
  });
  return fallback;
}

void read_callback(const TomlFile& file, const std::string& path, const Config& value, TrainOptions& options) {
  const Config* type = value.is_table() ? value.find("type") : nullptr;
  if (!type)
    wrong(file, path, path + " needs a type", "for example {type = \"ModelCheckpoint\", monitor = \"val_accuracy\"}");
  constexpr std::string_view kTypes[] = {"ModelCheckpoint"};
  if (const std::string& name = type->as_string(path + ".type"); name != kTypes[0]) {
    const std::string close = nearest(name, kTypes);
    wrong(file, path, fmt::format("{}: no callback is named '{}'", path, name),
          close.empty() ? "known: ModelCheckpoint" : fmt::format("did you mean '{}'?", close));
  }
  nn::ModelCheckpointOptions checkpoint;
  std::string filepath = options.output;
  constexpr std::string_view kKeys[] = {"type", "filepath", "monitor", "save_best_only", "mode"};
  for (const auto& [key, entry] : value.as_table()) {
    const std::string inner = path + "." + key;
    if (key == "filepath")
      filepath = entry.as_string(inner);
    else if (key == "monitor")
      checkpoint.monitor = entry.as_string(inner);
    else if (key == "save_best_only")
      checkpoint.save_best_only = entry.as_bool(inner);
    else if (key == "mode")
      checkpoint.mode = entry.as_string(inner);
    else if (key != "type") {
      const std::string close = nearest(key, kKeys);
      wrong(
          file, inner, fmt::format("{} has no option '{}'", path, key),
          close.empty() ? "known: filepath, monitor, save_best_only, mode" : fmt::format("did you mean '{}'?", close));
    }
  }
  auto callback = std::make_shared<nn::ModelCheckpoint>(filepath, checkpoint);
  options.callbacks.push_back(callback);
  if (filepath == options.output) options.checkpoint = callback, options.best_only = checkpoint.save_best_only;
}

}  // namespace

void check_tables(const TomlFile& file) { file.expect_keys("", {"data", "model", "train"}); }

DataOptions read_data_options(const TomlFile& file) {
  file.expect_keys("data", {"source", "train", "test", "validation", "validation_split", "batch_size", "rescale",
                            "shuffle", "class_names"});
  if (!file.find("data"))
    wrong(file, "", "the table [data] is missing", "write [data] with source = \"idx\", train and test");
  DataOptions options;
  const Config* source = file.find("data.source");
  if (!source) wrong(file, "data", "data.source is missing", "write source = \"idx\"");
  const std::string& kind =
      file.reading("data.source", [&]() -> const std::string& { return source->as_string("data.source"); });
  if (kind != "idx")
    wrong(file, "data.source", fmt::format("data.source: no source is named '{}'", kind), "write source = \"idx\"");
  options.train = idx_files(file, "data.train");
  options.test = idx_files(file, "data.test");
  options.validation = idx_files(file, "data.validation");
  options.batch_size = positive(file, "data.batch_size", options.batch_size);
  each_value(file, "data.rescale", [&](const Config& value) {
    options.rescale = value.as_number("data.rescale");
    options.rescale_given = true;
    if (!std::isfinite(options.rescale))
      wrong(file, "data.rescale", "data.rescale is not finite", "for bytes: rescale = 0.00392156862745098");
  });
  each_value(file, "data.shuffle", [&](const Config& value) { options.shuffle = value.as_bool("data.shuffle"); });
  each_value(file, "data.class_names",
             [&](const Config& value) { options.class_names = strings(value, "data.class_names"); });
  each_value(file, "data.validation_split", [&](const Config& value) {
    options.validation_split = value.as_number("data.validation_split");
    if (!(options.validation_split > 0 && options.validation_split < 1)) {
      wrong(file, "data.validation_split",
            fmt::format("data.validation_split must lie between 0 and 1, got {}", options.validation_split),
            "0.1 keeps the last tenth of the training data for validation");
    }
  });
  if (options.validation && options.validation_split > 0) {
    wrong(file, "data.validation_split", "both data.validation and data.validation_split are given",
          "keep one of them");
  }
  return options;
}

std::vector<nn::Layer> read_layers(const TomlFile& file) {
  file.expect_keys("model", {"layers"});
  const Config* layers = file.find("model.layers");
  if (!layers)
    wrong(file, "model", "model.layers is missing", "write [model] with layers = [{type = \"Dense\", units = 10}]");
  std::vector<nn::Layer> out;
  const Config::Array& items =
      file.reading("model.layers", [&]() -> const Config::Array& { return layers->as_array("model.layers"); });
  for (const Config& item : items) {
    const std::string path = fmt::format("model.layers[{}]", out.size());
    out.push_back(file.reading(path, [&] { return nn::layer_from_config(item, path); }));
  }
  if (out.empty())
    wrong(file, "model.layers", "model.layers is empty", "give at least one layer, as {type = \"Dense\", units = 10}");
  return out;
}

TrainOptions read_train_options(const TomlFile& file) {
  file.expect_keys("train", {"optimizer", "loss", "metrics", "epochs", "seed", "output", "callbacks"});
  TrainOptions options;
  each_value(file, "train.optimizer",
             [&](const Config& value) { options.optimizer = optim::optimizer_from_config(value, "train.optimizer"); });
  if (!file.find("train.loss")) {
    wrong(file, "train", "train.loss is missing",
          "write loss = {type = \"SparseCategoricalCrossentropy\", from_logits = true}");
  }
  each_value(file, "train.loss",
             [&](const Config& value) { options.loss = nn::loss_from_config(value, "train.loss"); });
  each_value(file, "train.metrics", [&](const Config& value) {
    for (const Config& item : value.as_array("train.metrics")) {
      options.metrics.push_back(nn::metric_from_config(item, fmt::format("train.metrics[{}]", options.metrics.size())));
    }
  });
  options.epochs = positive(file, "train.epochs", options.epochs);
  each_value(file, "train.seed", [&](const Config& value) { options.seed = value.as_integer("train.seed"); });
  each_value(file, "train.output", [&](const Config& value) { options.output = value.as_string("train.output"); });
  if (options.output.empty()) wrong(file, "train.output", "train.output is missing", "write output = \"model.hone\"");
  each_value(file, "train.callbacks", [&](const Config& value) {
    const Config::Array& items = value.as_array("train.callbacks");
    for (size_t i = 0; i < items.size(); ++i)
      read_callback(file, fmt::format("train.callbacks[{}]", i), items[i], options);
  });
  return options;
}

}  // namespace hone::cli
