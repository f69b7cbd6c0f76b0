// SGD, Adam, AdamW, and optimizers by name.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hone/base/error.h"
#include "hone/ops/attrs.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/table.h"
#include "hone/optim/optimizer.h"
#include "hone/tensor/interpreter.h"

namespace hone::optim {
namespace {

constexpr int kMaxValues = 3;

// Moves the values into the op, at operands `places`, so that it may overwrite them, and puts them back if it throws.
void run(const Op& op, AttrRef attrs, std::span<Tensor> inputs, std::initializer_list<size_t> places,
         const Update& update) {
  const auto put_back = [&] {
    auto place = places.begin();
    for (Tensor& value : update.values) std::swap(value, inputs[*place++]);
  };
  put_back();
  Tensor outputs[kMaxValues];
  Call call{op, attrs, inputs, {outputs, update.values.size()}, update.location};
  try {
    dispatch(call);
  } catch (...) {
    put_back();
    throw;
  }
  std::ranges::move(std::span(outputs, update.values.size()), update.values.begin());
}

void check_unit(const char* optimizer, const char* name, double value, bool one_allowed) {
  if (value >= 0 && (value < 1 || (one_allowed && value == 1))) return;
  throw Error(Code::kInvalidArgument, fmt::format("{}: {} is {}", optimizer, name, value),
              fmt::format("it must be in [0, 1{}", one_allowed ? "]" : ")"));
}
void check_positive(const char* optimizer, const char* name, double value) {
  if (std::isfinite(value) && value >= 0) return;
  throw Error(Code::kInvalidArgument, fmt::format("{}: {} is {}", optimizer, name, value),
              "it must be a finite number >= 0");
}

class SgdRule final : public UpdateRule {
 public:
  explicit SgdRule(SGDOptions options)
      : options_(std::move(options)), attrs_{options_.momentum, options_.weight_decay, options_.nesterov} {
    check_unit("SGD", "momentum", options_.momentum, true);
    check_positive("SGD", "weight_decay", options_.weight_decay);
  }
  std::string type() const override { return "SGD"; }
  Config config() const override { return write_options(type(), options_); }
  std::span<const std::string_view> slots() const override {
    static constexpr std::string_view kSlots[] = {"velocity"};
    return {kSlots, options_.momentum == 0 ? size_t{0} : size_t{1}};
  }
  void update(const Update& u) const override {
    if (options_.momentum == 0) return plain(u);
    Tensor inputs[] = {Tensor(), u.gradient, Tensor(), u.learning_rate};
    run(ops::sgd_update, attrs_, inputs, {0, 2}, u);
  }

 private:
  // p - lr g in two ops that overwrite gradient and parameter.
  void plain(const Update& u) const {
    const DType dtype = u.values[0].dtype(), wide = compute_type(dtype);
    if (wide != dtype) {  // round once
      const Tensor param = shrunk(cast(u.values[0], wide), u.learning_rate);
      u.values[0] = cast(param - cast(u.gradient, wide) * u.learning_rate, dtype);
      return;
    }
    const Tensor rate = cast(u.learning_rate, dtype);
    if (options_.weight_decay != 0) u.values[0] = shrunk(u.values[0], rate);
    Tensor inputs[] = {Tensor(), std::move(u.gradient) * rate};
    run(ops::subtract, {}, inputs, {0}, u);
  }
  Tensor shrunk(const Tensor& param, const Tensor& rate) const {
    return options_.weight_decay == 0 ? param : param - param * (rate * options_.weight_decay);
  }

  SGDOptions options_;
  SgdAttrs attrs_;
};

// Adam and AdamW differ in names and defaults only.
template <class Options>
class AdamRule final : public UpdateRule {
 public:
  AdamRule(const char* type, Options options)
      : type_(type),
        options_(std::move(options)),
        attrs_{options_.beta_1, options_.beta_2, options_.epsilon, options_.weight_decay} {
    check_unit(type, "beta_1", options_.beta_1, false);
    check_unit(type, "beta_2", options_.beta_2, false);
    check_positive(type, "epsilon", options_.epsilon);
    check_positive(type, "weight_decay", options_.weight_decay);
  }
  std::string type() const override { return type_; }
  Config config() const override { return write_options(type_, options_); }
  std::span<const std::string_view> slots() const override {
    static constexpr std::string_view kSlots[] = {"m", "v"};
    return kSlots;
  }
  void update(const Update& u) const override {
    Tensor inputs[] = {Tensor(), u.gradient, Tensor(), Tensor(), u.learning_rate, u.step};
    run(ops::adam_update, attrs_, inputs, {0, 2, 3}, u);
  }

 private:
  const char* type_;
  Options options_;
  AdamAttrs attrs_;
};

template <class Options>
Clipping clipping_of(const Options& o) {
  return {o.clipnorm, o.clipvalue, o.global_clipnorm};
}

struct Type {
  std::string_view name;
  Optimizer (*make)(const Config& config, std::string_view where);
};
template <class O, class Options>
Optimizer make(const Config& config, std::string_view where) {
  return O(config.is_string() ? Options() : read_options<Options>(config, where));
}
constexpr Type kTypes[] = {
    {"SGD", make<SGD, SGDOptions>}, {"Adam", make<Adam, AdamOptions>}, {"AdamW", make<AdamW, AdamWOptions>}};

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

SGD::SGD(SGDOptions options)
    : Optimizer(std::make_shared<SgdRule>(options), options.learning_rate, clipping_of(options)) {}
Adam::Adam(AdamOptions options)
    : Optimizer(std::make_shared<AdamRule<AdamOptions>>("Adam", options), options.learning_rate, clipping_of(options)) {
}
AdamW::AdamW(AdamWOptions options)
    : Optimizer(std::make_shared<AdamRule<AdamWOptions>>("AdamW", options), options.learning_rate,
                clipping_of(options)) {}

Optimizer optimizer_from_config(const Config& config, std::string_view where) {
  const std::string& name = type_name(config, where);
  std::vector<std::string_view> names;
  for (const Type& type : kTypes) {
    if (same_letters(type.name, name)) return type.make(config, where);
    names.push_back(type.name);
  }
  fail_unknown("optimizer", where, name, names);
}

}  // namespace hone::optim
