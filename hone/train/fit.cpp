// The training loop.
#include <fmt/format.h>

#include <chrono>
#include <numeric>

#include "hone/base/error.h"
#include "hone/base/interrupt.h"
#include "hone/base/probe.h"
#include "hone/function/tape.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/train/model_state.h"

namespace hone::nn {

// One run of fit, evaluate or predict.
struct Trainer {
  Model& model;
  Model::State& state;
  Location location;

  Steps& steps() const {
    if (!state.steps) state.steps = std::make_shared<Steps>(model, state.compile);
    return *state.steps;
  }

  void check_compiled() const {
    if (state.compiled && state.compile.loss.defined()) return;
    throw Error(Code::kFailedPrecondition, {.what = "the model has no loss yet",
                                            .location = location,
                                            .fix = "call compile({.optimizer = ..., .loss = ...}) first"});
  }

  void check_batch(const std::vector<Tensor>& batch, size_t parts) {
    if (batch.size() >= parts && batch[0].rank() > 0) {
      if (state.input_type.shape.rank() == 0) model.set_input_type(batch[0].type());
      return;
    }
    const bool scalars = batch.size() >= parts;
    throw Error(Code::kInvalidArgument,
                {.what = scalars ? "the dataset gives single examples, not batches"
                                 : fmt::format("an element of the dataset has {} tensor(s); {} are needed",
                                               batch.size(), parts),
                 .location = location,
                 .details = {batch.empty() ? std::string() : "the first is " + to_string(batch[0].type())},
                 .fix = scalars ? "batch it: .batch(128)" : "give pairs {x, y}, in batches: .batch(128)"});
  }

  // Evaluates afresh: sums of training are gone afterwards.
  Logs evaluate(const DataSource& data, int64_t limit, const std::string& prefix) {
    return evaluate(steps(), data, limit, prefix);
  }

  Logs evaluate(Steps& steps, const DataSource& data, int64_t limit, const std::string& prefix) {
    steps.reset_metrics();
    const BatchStream stream = data.open();
    std::vector<Tensor> batch;
    int64_t done = 0;
    while ((limit < 0 || done < limit) && stream(batch)) {
      check_batch(batch, 2);
      steps.test(batch, location);
      ++done;
      if (interrupted()) break;
    }
    if (done == 0)
      throw Error(Code::kInvalidArgument, {.what = "the dataset to evaluate is empty", .location = location});
    return steps.logs(prefix);
  }
};

namespace {

// Rows of x and y in batches, shuffled anew for each pass.
DataSource tensor_source(const Tensor& x, const Tensor& y, int64_t batch_size, bool shuffle, Location location) {
  if (batch_size < 1)
    throw Error(Code::kInvalidArgument,
                {.what = fmt::format("batch_size must be >= 1, got {}", batch_size), .location = location});
  const int64_t n = x.rank() > 0 ? x.dim(0) : 0;
  if (y.defined() && (y.rank() == 0 || y.dim(0) != n)) {
    throw Error(Code::kInvalidArgument, {.what = "x and y have different numbers of examples",
                                         .location = location,
                                         .details = {"x: " + to_string(x.type()) + "   y: " + to_string(y.type())}});
  }
  const int64_t batches = (n + batch_size - 1) / batch_size;
  return DataSource(
      [=]() -> BatchStream {
        auto order = std::make_shared<std::vector<int64_t>>(static_cast<size_t>(n));
        std::iota(order->begin(), order->end(), int64_t{0});
        if (shuffle) {
          uint64_t key = next_random_key();
          for (size_t i = order->size(); i > 1; --i) {  // Fisher and Yates with a 64-bit congruential step
            key = key * 6364136223846793005ULL + 1442695040888963407ULL;
            std::swap((*order)[i - 1], (*order)[static_cast<size_t>((static_cast<unsigned __int128>(key) * i) >> 64)]);
          }
        }
        return [=, at = int64_t{0}](std::vector<Tensor>& batch) mutable {
          if (at >= n) return false;
          const int64_t end = std::min(n, at + batch_size);
          batch.clear();
          if (shuffle) {
            const Tensor rows =
                Tensor::from(std::span<const int64_t>(order->data() + at, static_cast<size_t>(end - at)), {end - at});
            batch.push_back(take(x, rows, 0));
            if (y.defined()) batch.push_back(take(y, rows, 0));
          } else {
            batch.push_back(x[slice(at, end)]);
            if (y.defined()) batch.push_back(y[slice(at, end)]);
          }
          at = end;
          return true;
        };
      },
      batches);
}

}  // namespace

History Model::fit(const DataSource& data, const FitOptions& options, Location location) {
  Trainer trainer{*this, *state_, location};
  trainer.check_compiled();
  if (options.epochs < 1)
    throw Error(Code::kInvalidArgument,
                {.what = fmt::format("epochs must be >= 1, got {}", options.epochs), .location = location});
  if (options.preprocessing != Preprocessing()) state_->preprocessing = options.preprocessing;
  if (!options.class_names.empty() || !data.class_names().empty()) {
    state_->class_names = options.class_names.empty() ? data.class_names() : options.class_names;
  }
  Callbacks callbacks = options.callbacks;
  if (options.verbose > 0) callbacks.push_back(progress_bar());
  FitState fit{.epochs = options.epochs,
               .steps = options.steps_per_epoch >= 0 ? options.steps_per_epoch : data.batches()};
  if (fit.steps > 0) state_->compile.optimizer.set_total_steps(fit.steps * options.epochs);
  History history;
  for (const auto& callback : callbacks) callback->on_train_begin(*this, fit);

  for (fit.epoch = options.initial_epoch; fit.epoch < options.epochs && !fit.stop && !history.interrupted;
       ++fit.epoch) {
    const auto start = std::chrono::steady_clock::now();
    trainer.steps().reset_metrics();
    for (const auto& callback : callbacks) callback->on_epoch_begin(*this, fit);
    const BatchStream stream = data.open();
    std::vector<std::vector<Tensor>> batches;
    int64_t done = 0;
    const auto next = [&] {  // the batches of one call
      batches.clear();
      std::vector<Tensor> batch;
      while (static_cast<int64_t>(batches.size()) < state_->compile.steps_per_execution &&
             (options.steps_per_epoch < 0 || done < options.steps_per_epoch) && stream(batch)) {
        trainer.check_batch(batch, 2);
        batches.push_back(batch);
        ++done;
      }
      return !batches.empty();
    };
    while (!fit.stop && next()) {
      fit.step = done - 1;
      fit.batch_size = batches.back()[0].dim(0);
      trainer.steps().train(batches, location);
      bool wants_logs = false;
      for (const auto& callback : callbacks) wants_logs = wants_logs || callback->reads_batch_logs();
      const Logs logs = wants_logs ? trainer.steps().logs("") : Logs();
      for (const auto& callback : callbacks) callback->on_train_batch_end(*this, fit, logs);
      if (interrupted()) {
        history.interrupted = true;
        break;
      }
    }
    if (done == 0) throw Error(Code::kInvalidArgument, {.what = "the training dataset is empty", .location = location});
    if (history.interrupted) break;
    fit.steps = done;
    Logs logs = trainer.steps().logs("");
    if (options.validation_data.defined() && (fit.epoch + 1) % options.validation_freq == 0) {
      for (const auto& [name, value] : trainer.evaluate(options.validation_data, options.validation_steps, "val_"))
        logs.set(name, value);
    }
    history.epochs.push_back(fit.epoch);
    history.logs.push_back(logs);
    history.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    for (const auto& callback : callbacks) callback->on_epoch_end(*this, fit, logs);
    history.interrupted = interrupted();
  }
  history.stopped = fit.stop;
  for (const auto& callback : callbacks) callback->on_train_end(*this, fit);
  return history;
}

History Model::fit(const Tensor& x, const Tensor& y, const FitOptions& options, Location location) {
  return fit(tensor_source(x, y, options.batch_size, options.shuffle, location), options, location);
}

Logs Model::evaluate(const DataSource& data, const EvaluateOptions& options, Location location) {
  Trainer trainer{*this, *state_, location};
  trainer.check_compiled();
  if (options.inference) {
    Steps steps(*this, state_->compile, options.inference);
    return trainer.evaluate(steps, data, options.steps, "");
  }
  return trainer.evaluate(data, options.steps, "");
}
Logs Model::evaluate(const Tensor& x, const Tensor& y, const EvaluateOptions& options, Location location) {
  return evaluate(tensor_source(x, y, options.batch_size, false, location), options, location);
}

Tensor Model::predict(const DataSource& data, Location location) {
  Trainer trainer{*this, *state_, location};
  const BatchStream stream = data.open();
  std::vector<Tensor> batch, outputs;
  while (stream(batch)) {
    trainer.check_batch(batch, 1);
    outputs.push_back(trainer.steps().predict(batch[0], location));
  }
  if (outputs.empty())
    throw Error(Code::kInvalidArgument, {.what = "nothing to predict: the dataset is empty", .location = location});
  return outputs.size() == 1 ? outputs[0] : concatenate(outputs, 0, location);
}
Tensor Model::predict(const Tensor& x, int64_t batch_size, Location location) {
  return predict(tensor_source(x, {}, batch_size, false, location), location);
}

Logs Model::train_on_batch(const Tensor& x, const Tensor& y, const Tensor& sample_weight, Location location) {
  Trainer trainer{*this, *state_, location};
  trainer.check_compiled();
  std::vector<Tensor> batch{x, y};
  if (sample_weight.defined()) batch.push_back(sample_weight);
  trainer.check_batch(batch, 2);
  trainer.steps().reset_metrics();
  trainer.steps().train({&batch, 1}, location);
  return trainer.steps().logs("");
}

}  // namespace hone::nn
