#include "hone/train/steps.h"

#include "hone/base/hash.h"
#include "hone/base/probe.h"
#include "hone/function/function.h"
#include "hone/function/tape.h"
#include "hone/ops/creation.h"
#include "hone/ops/misc.h"

namespace hone::nn {
namespace {

FunctionOptions options(const char* name, const CompileOptions& compile) {
  return {.name = name, .jit_compile = compile.jit_compile, .run_eagerly = compile.run_eagerly};
}

const Tensor& weight_of(const std::vector<Tensor>& batch) {
  static const Tensor none;
  return batch.size() > 2 ? batch[2] : none;
}

}  // namespace

Steps::Steps(Layer layer, const CompileOptions& compile, std::function<Tensor(const Tensor&)> inference)
    : layer_(std::move(layer)), compile_(compile), inference_(std::move(inference)) {
  train_ = function(
      [this](const std::vector<Batch>& batches, uint64_t) {
        for (const Batch& batch : batches) train_one(batch, location_);
      },
      options("train_step", compile));
  test_ = function(
      [this](const Batch& batch, uint64_t) {
        const NoGradScope quiet;
        const Tensor output = forward(batch[0], false, location_);
        check_batch_labels(batch, location_);
        update_metrics(batch, output, compile_.loss(batch[1], output, weight_of(batch)), location_);
      },
      options("test_step", compile));
  predict_ = function(
      [this](const Tensor& x, uint64_t) {
        const NoGradScope quiet;
        return forward(x, false, location_);
      },
      options("predict_step", compile));
}

Tensor Steps::forward(const Tensor& x, bool training, Location location) {
  Tensor output = inference_ && !training ? inference_(x) : layer_(x, {.training = training}, location);
  const Dim last = output.rank() > 0 ? output.shape().dim(-1) : Dim(1);
  if (last.is_number()) classes_ = last.number();
  return output;
}

void Steps::train_one(const Batch& batch, Location location) {
  GradientTape tape;
  const Tensor output = forward(batch[0], true, location);
  check_batch_labels(batch, location);
  const Tensor loss = compile_.loss(batch[1], output, weight_of(batch));
  const std::vector<Variable> variables = layer_.trainable_variables();
  compile_.optimizer.apply_gradients(tape.gradient(loss, variables), variables, location);
  update_metrics(batch, output, loss, location);
}

void Steps::update_metrics(const Batch& batch, const Tensor& output, const Tensor& loss, Location location) {
  const NoGradScope quiet;
  const Tensor& y = batch[1];
  const Tensor count = y.rank() > 0 ? cast(dimension_size(y, 0), f32) : Tensor(1.0F);
  loss_mean_.update_state(loss, count, location);
  for (const Metric& metric : compile_.metrics) metric.update_state(y, output, weight_of(batch), location);
}

// Before the first step: builds the layers and learns the output's extent. A recording does it without computing.
void Steps::see(const Tensor& x, Location location) {
  if (std::exchange(seen_, true)) return;
  if (compile_.run_eagerly || functions_run_eagerly()) return;
  const NoGradScope quiet;
  const auto look = [&](const Tensor& input) { return forward(input, false, location); };
  (void)function(look, {.name = "model"}).lower(x.type());
}

// Labels are read on the host before they index anything: a wrong one must not become a silent NaN.
void Steps::check_batch_labels(const Batch& batch, Location location) const {
  if (compile_.loss.sparse() && classes_ > 0 && batch[1].concrete()) check_labels(batch[1], classes_, {}, location);
}

// What the host decides in a step beside the arguments: which variables are trained, hence which layers are frozen.
// New variables get their slots here, for a later recording may not make them.
uint64_t Steps::layout(bool training) {
  uint64_t hash = 0;
  std::vector<const void*> keys;
  for (const Variable& variable : layer_.trainable_variables()) {
    keys.push_back(variable.key());
    hash = hash_combine(hash, reinterpret_cast<uintptr_t>(variable.key()));
  }
  if (training && keys != built_) {
    compile_.optimizer.build(named_trainable_variables(layer_));  // they are saved under the variables' paths
    built_ = std::move(keys);
  }
  return hash;
}

void Steps::train(std::span<const Batch> batches, Location location) {
  const probe::Scope span("step", "train_step");
  location_ = location;
  for (const Batch& batch : batches) {
    see(batch[0], location);
    check_batch_labels(batch, location);
  }
  train_({batches.begin(), batches.end()}, layout(true));
}

void Steps::test(const Batch& batch, Location location) {
  location_ = location;
  see(batch[0], location);
  check_batch_labels(batch, location);
  test_(batch, layout(false));
}

Tensor Steps::predict(const Tensor& x, Location location) {
  location_ = location;
  see(x, location);
  return predict_(x, layout(false));
}

void Steps::reset_metrics() {
  loss_mean_.reset_state();
  for (const Metric& metric : compile_.metrics) metric.reset_state();
}

Logs Steps::logs(const std::string& prefix) const {
  Logs logs;
  logs.set(prefix + "loss", loss_mean_.result().item<double>());
  for (const Metric& metric : compile_.metrics) logs.set(prefix + metric.name(), metric.result().item<double>());
  return logs;
}

}  // namespace hone::nn
