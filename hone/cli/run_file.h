// The training file of `hone train` and `hone evaluate`: data, model, training (API: every key is a Keras name).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "hone/cli/toml_file.h"
#include "hone/train/model.h"

namespace hone::cli {

/// Images and labels in IDX files.
struct IdxFiles {
  std::string images, labels;
};

/// The table [data].
struct DataOptions {
  std::optional<IdxFiles> train, test, validation;
  double validation_split = 0;  ///< the last part of the training data
  int64_t batch_size = 32;
  double rescale = 1;
  bool rescale_given = false;
  bool shuffle = true;
  std::vector<std::string> class_names;
};

/// The table [train].
struct TrainOptions {
  optim::Optimizer optimizer = "adam";
  nn::Loss loss;
  std::vector<nn::Metric> metrics;
  int64_t epochs = 1;
  std::optional<int64_t> seed;
  std::string output;
  nn::Callbacks callbacks;
  std::shared_ptr<nn::ModelCheckpoint> checkpoint;  ///< one of the callbacks that writes to `output`
  bool best_only = false;                           ///< of that checkpoint
};

/// Each reads its table and refuses keys that nobody knows, with file and line. Errors: InputError.
DataOptions read_data_options(const TomlFile& file);
std::vector<nn::Layer> read_layers(const TomlFile& file);
TrainOptions read_train_options(const TomlFile& file);
/// Refuses tables beside data, model and train.
void check_tables(const TomlFile& file);

}  // namespace hone::cli
