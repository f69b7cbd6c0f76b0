#include "hone/train/callback.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "hone/base/error.h"
#include "hone/train/model.h"

namespace hone::nn {

void Logs::set(std::string name, double value) {
  for (auto& [known, old] : items_) {
    if (known == name) {
      old = value;
      return;
    }
  }
  items_.emplace_back(std::move(name), value);
}

const double* Logs::find(std::string_view name) const {
  for (const auto& [known, value] : items_) {
    if (known == name) return &value;
  }
  return nullptr;
}

namespace {

std::string names_of(const Logs& logs) {
  std::string names;
  for (const auto& [name, value] : logs) names += (names.empty() ? "" : ", ") + name;
  return names;
}

bool prefers_larger(const ModelCheckpointOptions& options) {
  if (options.mode == "max") return true;
  if (options.mode == "min") return false;
  if (options.mode != "auto") {
    throw Error(Code::kInvalidArgument, fmt::format("ModelCheckpoint: no mode is named '{}'", options.mode),
                "use auto, min or max");
  }
  for (const char* part : {"acc", "auc", "precision", "recall", "f1"}) {
    if (options.monitor.find(part) != std::string::npos) return true;
  }
  return false;
}

class FunctionCallback final : public Callback {
 public:
  FunctionCallback(std::function<void(Model&, FitState&, const Logs&)> epoch,
                   std::function<void(Model&, FitState&, const Logs&)> batch)
      : epoch_(std::move(epoch)), batch_(std::move(batch)) {}
  void on_epoch_end(Model& model, FitState& state, const Logs& logs) override {
    if (epoch_) epoch_(model, state, logs);
  }
  void on_train_batch_end(Model& model, FitState& state, const Logs& logs) override {
    if (batch_) batch_(model, state, logs);
  }
  bool reads_batch_logs() const override { return static_cast<bool>(batch_); }

 private:
  std::function<void(Model&, FitState&, const Logs&)> epoch_, batch_;
};

}  // namespace

std::vector<double> History::series(std::string_view name) const {
  std::vector<double> values;
  for (const Logs& epoch : logs) {
    const double* value = epoch.find(name);
    if (!value)
      throw Error(Code::kNotFound, fmt::format("history has no series '{}'", name), "it has: " + names_of(epoch));
    values.push_back(*value);
  }
  return values;
}

ModelCheckpoint::ModelCheckpoint(std::string filepath, ModelCheckpointOptions options)
    : filepath_(std::move(filepath)),
      options_(std::move(options)),
      larger_is_better_(prefers_larger(options_)),
      best_(std::numeric_limits<double>::quiet_NaN()) {}

void ModelCheckpoint::on_epoch_end(Model& model, FitState& state, const Logs& logs) {
  if (options_.save_best_only) {
    const double* value = logs.find(options_.monitor);
    if (!value) {
      throw Error(Code::kInvalidArgument,
                  fmt::format("ModelCheckpoint monitors '{}', which this run does not report", options_.monitor),
                  "monitor one of: " + names_of(logs));
    }
    const bool better =
        !std::isnan(*value) && (std::isnan(best_) || (larger_is_better_ ? *value > best_ : *value < best_));
    if (!better) return;
    best_ = *value;
  }
  std::string path = filepath_;
  if (const auto at = path.find("{epoch}"); at != std::string::npos)
    path.replace(at, 7, std::to_string(state.epoch + 1));
  model.save(path);
  saved_.push_back(state.epoch);
}

std::shared_ptr<Callback> make_callback(std::function<void(Model&, FitState&, const Logs&)> on_epoch_end,
                                        std::function<void(Model&, FitState&, const Logs&)> on_train_batch_end) {
  return std::make_shared<FunctionCallback>(std::move(on_epoch_end), std::move(on_train_batch_end));
}

}  // namespace hone::nn
