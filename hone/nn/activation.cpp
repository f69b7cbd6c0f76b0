#include "hone/nn/activation.h"

#include <vector>

#include "hone/base/error.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/nn.h"
#include "hone/optim/options.h"

namespace hone::nn {
namespace {

using Pointer = void (*)();

struct Known {
  std::string_view name;
  Tensor (*function)(const Tensor&);
  Pointer pointer = nullptr;  // the public function that has these defaults
};

template <auto kFunction>
Tensor call(const Tensor& x) {
  return kFunction(x);
}
Tensor hard_sigmoid(const Tensor& x) { return relu6(x + 3) / 6; }

template <auto kFunction>
Known unary(std::string_view name) {
  return {name, call<kFunction>, reinterpret_cast<Pointer>(kFunction)};
}

const std::vector<Known>& known() {
  static const std::vector<Known> list = {
      {"linear", nullptr},
      unary<relu>("relu"),
      unary<relu6>("relu6"),
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x); }, reinterpret_cast<Pointer>(leaky_relu)},
      {"elu", [](const Tensor& x) { return elu(x); }, reinterpret_cast<Pointer>(elu)},
      {"gelu", [](const Tensor& x) { return gelu(x); }, reinterpret_cast<Pointer>(gelu)},
      unary<silu>("silu"),
      unary<silu>("swish"),
      unary<hardswish>("hard_silu"),
      unary<hardswish>("hard_swish"),
      {"hard_sigmoid", hard_sigmoid},
      unary<sigmoid>("sigmoid"),
      unary<softplus>("softplus"),
      unary<tanh>("tanh"),
      unary<exp>("exponential"),
      {"softmax", [](const Tensor& x) { return softmax(x); }, reinterpret_cast<Pointer>(softmax)},
      {"log_softmax", [](const Tensor& x) { return log_softmax(x); }, reinterpret_cast<Pointer>(log_softmax)},
  };
  return list;
}

}  // namespace

Activation::Activation(std::string_view name) : name_(name) {
  std::vector<std::string_view> names;
  for (const Known& each : known()) {
    if (each.name == name) {
      if (each.function) function_ = each.function;
      return;
    }
    names.push_back(each.name);
  }
  optim::fail_unknown("activation", "", name, names);
}

Activation::Activation(Pointer pointer, std::function<Tensor(const Tensor&)> function)
    : name_("custom"), function_(std::move(function)) {
  for (const Known& each : known()) {
    if (each.pointer != pointer) continue;
    name_ = each.name;
    function_ = each.function;
    return;
  }
  if (!function_) {
    throw Error(Code::kInvalidArgument, "an activation function of a tensor and a number needs the number",
                "pass a lambda: [](const Tensor& x) { return f(x, 0.1); }");
  }
}

}  // namespace hone::nn
