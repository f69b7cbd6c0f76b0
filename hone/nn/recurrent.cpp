#include "hone/nn/recurrent.h"

#include <fmt/format.h>

#include "hone/base/error.h"
#include "hone/function/tape.h"
#include "hone/nn/registry.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"

namespace hone::nn {
namespace {

class LstmModule final : public Module {
 public:
  LstmModule(int64_t units, LSTMOptions options) : units_(units), options_(std::move(options)) {
    if (units <= 0) throw Error(Code::kInvalidArgument, fmt::format("LSTM needs units >= 1, got {}", units));
  }
  std::string type() const override { return "LSTM"; }

  void build(std::span<const TensorType> inputs) override {
    if (inputs[0].shape.rank() != 3) {
      throw Error(Code::kInvalidArgument,
                  {.what = "LSTM needs sequences [n, t, d]", .details = {"got: " + to_string(inputs[0])}});
    }
    kernel_ = variable("kernel", {{inputs[0].shape[2], 4 * units_}, options_.kernel_initializer});
    recurrent_ = variable("recurrent_kernel", {{units_, 4 * units_}, options_.recurrent_initializer});
    if (options_.use_bias) bias_ = variable("bias", {{4 * units_}, forget_bias()});
    if (options_.stateful) build_state(inputs[0]);
  }

  void reset_states() override {
    for (const Variable* each : {&h_, &c_}) {
      if (options_.stateful && built()) each->assign(zeros(each->shape(), each->dtype()));
    }
  }
  int64_t batch_size() const override { return options_.stateful ? options_.batch_size : 0; }

  Tensor call(const Tensor& x, const CallOptions& options) override {
    const auto by_time = [&](const Tensor& each) {
      return options_.go_backwards ? reverse(swap_axes(each, 0, 1), {0}) : swap_axes(each, 0, 1);
    };
    const Tensor gates = dense(by_time(x), kernel_, options_.use_bias ? bias_.value() : Tensor());  // [t, n, 4 units]
    const Tensor mask = options.mask.defined() ? by_time(options.mask) : Tensor();
    if (options_.stateful) check_batch(x.type());
    const Tensor h = options_.stateful ? cast(h_.value(), x.dtype()) : zeros({x.shape()[0], units_}, x.dtype());
    const Tensor c = options_.stateful ? cast(c_.value(), x.dtype()) : h;
    const LstmResult result = lstm(gates, cast(recurrent_.value(), gates.dtype()), h, c, mask);
    if (options_.stateful) {
      const NoGradScope quiet;
      h_.assign(cast(result.last_h, f32));
      c_.assign(cast(result.last_c, f32));
    }
    return options_.return_sequences ? swap_axes(result.hidden, 0, 1) : result.last_h;
  }

  Config config() const override {
    Config config(Config::Table{{"type", type()},
                                {"units", units_},
                                {"use_bias", options_.use_bias},
                                {"unit_forget_bias", options_.unit_forget_bias},
                                {"return_sequences", options_.return_sequences},
                                {"go_backwards", options_.go_backwards}});
    if (options_.stateful) config.set("stateful", true), config.set("batch_size", options_.batch_size);
    set_initializer(config, "kernel_initializer", options_.kernel_initializer);
    set_initializer(config, "recurrent_initializer", options_.recurrent_initializer);
    set_initializer(config, "bias_initializer", options_.bias_initializer);
    return config;
  }

 private:
  void build_state(const TensorType& input) {
    if (options_.batch_size == 0) {
      if (!input.shape[0].is_number()) {
        throw Error(Code::kInvalidArgument,
                    {.what = "a stateful LSTM needs to know its batch size",
                     .details = {"got: " + to_string(input)},
                     .fix = fmt::format("LSTM({}, {{.stateful = true, .batch_size = 32}})", units_)});
      }
      options_.batch_size = input.shape[0].number();
    }
    const Shape shape{options_.batch_size, units_};
    h_ = variable("h", {shape, Zeros(), f32, false});
    c_ = variable("c", {shape, Zeros(), f32, false});
  }

  void check_batch(const TensorType& input) const {
    if (input.shape[0] == Dim(options_.batch_size)) return;
    throw Error(
        Code::kInvalidArgument,
        {.what = "a stateful LSTM takes batches of one size: it keeps state for each example",
         .details = {fmt::format("expected: {} examples", options_.batch_size), "got: " + to_string(input)},
         .fix = "give batches of that size (drop the last one that is smaller), or make the layer for another"});
  }

  Initializer forget_bias() const {
    if (!options_.unit_forget_bias) return options_.bias_initializer;
    return Initializer(
        "unit_forget_bias", [inner = options_.bias_initializer, units = units_](const Shape&, DType dtype) {
          return concatenate({inner.make({units}, dtype), ones({units}, dtype), inner.make({2 * units}, dtype)}, 0);
        });
  }

  int64_t units_;
  LSTMOptions options_;
  Variable kernel_, recurrent_, bias_, h_, c_;
};

}  // namespace

LSTM::LSTM(int64_t units, LSTMOptions options) : Layer(std::make_shared<LstmModule>(units, options)) {
  if (!options.name.empty()) set_name(options.name);
}

}  // namespace hone::nn
