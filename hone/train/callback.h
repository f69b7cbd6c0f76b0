// Hooks of a training run.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hone::nn {

class Model;

/// Names and values of a step or an epoch in the order of their reporting: loss, metrics, then val_loss, val_metrics.
class Logs {
 public:
  void set(std::string name, double value);
  /// The value, or null.
  const double* find(std::string_view name) const;
  const std::vector<std::pair<std::string, double>>& items() const { return items_; }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  bool empty() const { return items_.empty(); }

 private:
  std::vector<std::pair<std::string, double>> items_;
};

/// What fit did, epoch by epoch.
struct History {
  std::vector<int64_t> epochs;  ///< from 0
  std::vector<Logs> logs;       ///< of each epoch
  std::vector<double> seconds;  ///< of each epoch, validation included
  bool interrupted = false;     ///< stopped by a signal
  bool stopped = false;         ///< stopped by a callback
  /// The series of one name. Error kNotFound lists the names.
  std::vector<double> series(std::string_view name) const;
};

/// What a hook may ask and tell.
struct FitState {
  int64_t epochs = 0;           ///< planned
  int64_t steps = -1;           ///< in an epoch, -1 = not known yet
  int64_t epoch = 0, step = 0;  ///< from 0
  int64_t batch_size = 0;       ///< examples in the last batch
  bool stop = false;            ///< set by a hook: ends training after this step or epoch
};

/// Base of callbacks; override what you need. Called on the thread that called fit.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_train_begin(Model&, FitState&) {}
  virtual void on_epoch_begin(Model&, FitState&) {}
  virtual void on_train_batch_end(Model&, FitState&, const Logs&) {}
  virtual void on_epoch_end(Model&, FitState&, const Logs&) {}
  virtual void on_train_end(Model&, FitState&) {}
  /// True if on_train_batch_end reads the logs: then the step's values are brought to the host.
  virtual bool reads_batch_logs() const { return false; }
};
using Callbacks = std::vector<std::shared_ptr<Callback>>;

struct ModelCheckpointOptions {
  std::string monitor = "val_loss";
  bool save_best_only = false;
  std::string mode = "auto";  ///< "min", "max"; auto: max for names with acc, auc, precision, recall or f1
};
/// Saves the whole model after each epoch (with save_best_only: when `monitor` improved; NaN never does). "{epoch}" in
/// the path becomes the epoch, from 1. Error kInvalidArgument names the logs if `monitor` is none of them.
class ModelCheckpoint : public Callback {
 public:
  explicit ModelCheckpoint(std::string filepath, ModelCheckpointOptions options = {});
  void on_epoch_end(Model& model, FitState& state, const Logs& logs) override;
  /// Best value so far; NaN before the first.
  double best() const { return best_; }
  /// Epochs whose weights were saved, from 0.
  const std::vector<int64_t>& saved_epochs() const { return saved_; }

 private:
  std::string filepath_;
  ModelCheckpointOptions options_;
  bool larger_is_better_;
  double best_;
  std::vector<int64_t> saved_;
};

/// A function called after each step or epoch, for those who need no class.
std::shared_ptr<Callback> make_callback(std::function<void(Model&, FitState&, const Logs&)> on_epoch_end,
                                        std::function<void(Model&, FitState&, const Logs&)> on_train_batch_end = {});

/// Progress on stderr: a bar on a terminal, else a line now and then.
std::shared_ptr<Callback> progress_bar();

}  // namespace hone::nn
