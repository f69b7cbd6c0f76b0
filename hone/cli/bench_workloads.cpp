// The workloads themselves; models and sizes as in bench/peers/README.md.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>

#include "hone/base/hash.h"
#include "hone/cli/bench_report.h"
#include "hone/cli/modes.h"
#include "hone/function/function.h"
#include "hone/function/tape.h"
#include "hone/hone.h"
#include "hone/profile/op_profile.h"

namespace hone::cli {
namespace {

namespace apps = nn::applications;

Tensor random_normal(const Shape& shape) { return random::normal(random::state(nn::next_random_key()), shape).second; }
Tensor random_labels(int64_t n, int64_t classes) {
  return cast(floor(random::uniform(random::state(nn::next_random_key()), {n}, 0, static_cast<double>(classes)).second),
              i64);
}

FunctionOptions in_mode(const BenchReport& report, const std::string& name) {
  const std::string& mode = report.options().mode;
  return {.name = name, .jit_compile = mode == kJit, .run_eagerly = mode == kEager};
}

// A call of f(args...): of f itself in mode eager, of a function made of it in the others.
template <class F, class... Args>
std::function<void()> call(const BenchReport& report, const std::string& name, F f, Args... args) {
  if (report.options().mode == kEager) {
    return [=] {
      if constexpr (std::is_void_v<decltype(f(args...))>)
        f(args...);
      else
        (void)f(args...).concrete();  // runs what auto-JIT has queued
    };
  }
  return [=, compiled = function(f, in_mode(report, name))] { (void)compiled(args...); };
}

// The share of a step that library calls take; with --profile, its slowest ops go to stderr.
double library_share(const BenchReport& report, const std::string& name, const std::function<void()>& step) {
  constexpr int kSteps = 5, kShown = 16;
  step();
  OpProfile profile;
  double seconds = 0;
  {
    const ProbeScope probe(profile);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kSteps; ++i) step();
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  double library = 0;
  for (const OpTime& time : profile.slowest()) library += time.kernel.starts_with("onednn") ? time.seconds : 0;
  if (report.options().profile) {
    fmt::print(stderr, "{}: {} steps, {:.2f} ms each, {:.2f} ms of them in ops\n{}\n", name, kSteps,
               1e3 * seconds / kSteps, 1e3 * profile.seconds() / kSteps, profile.table(kShown));
  }
  return library / seconds;
}

uint64_t hash_of_bytes(const Tensor& x) { return hash_bytes(x.raw(), x.bytes()); }

void train(BenchReport& report, const std::string& name, const nn::Layer& model, const Tensor& x, const Tensor& y) {
  if (!report.wants(name)) return;
  const optim::SGD optimizer({.learning_rate = 0.01, .momentum = 0.9});
  const nn::SparseCategoricalCrossentropy loss_fn({.from_logits = true});
  model(x);
  const std::vector<Variable> variables = model.trainable_variables();
  int64_t parameters = 0;
  for (const Variable& variable : variables) parameters += variable.size();
  const auto train_step = function(
      [&](const Tensor& images, const Tensor& labels) {
        GradientTape tape;
        const Tensor loss = loss_fn(labels, model(images, {.training = true}));
        optimizer.apply_gradients(tape.gradient(loss, variables), variables);
        return loss;
      },
      in_mode(report, name));
  const auto step = [&] { (void)train_step(x, y).item<float>(); };
  if (report.options().hash_after > 0) {
    for (int64_t i = 0; i < report.options().hash_after; ++i) step();
    uint64_t weights = 0;
    for (const Variable& variable : model.variables()) weights = hash_combine(weights, hash_of_bytes(variable.value()));
    return report.add(Config::Table{{"name", name},
                                    {"unit", "hash"},
                                    {"weights", fmt::format("{:016x}", weights)},
                                    {"outputs", fmt::format("{:016x}", hash_of_bytes(model(x)))}});
  }
  report.time(name, step, [&] {
    return Config::Table{{"parameters", parameters}, {"library_share", library_share(report, name, step)}};
  });
}

void infer(BenchReport& report, const std::string& name, const nn::Layer& model, const Tensor& x) {
  if (!report.wants(name) || report.options().hash_after > 0) return;
  const FunctionOptions options = in_mode(report, name);
  if (options.run_eagerly || report.options().unfrozen) {
    const auto forward = function([&](const Tensor& images) { return model(images); }, options);
    const auto step = [&] { (void)forward(x).raw(); };
    return report.time(name, step, [&] { return Config::Table{{"library_share", library_share(report, name, step)}}; });
  }
  std::optional<nn::FrozenModel> frozen;
  const auto step = [&] {
    if (!frozen) frozen = nn::freeze(model, {.sample = x, .jit_compile = options.jit_compile});
    (void)(*frozen)(x).raw();
  };
  report.time(name, step, [&] {
    return Config::Table{{"library_share", library_share(report, name, step)},
                         {"frozen_difference", frozen->summary().relative_difference}};
  });
}

void bench_w5(BenchReport& report) {
  const Tensor ids = reshape(random_labels(8 * 129, 1024), {8, 129});
  const Tensor x = ids[{slice(), slice(0, 128)}], y = ids[{slice(), slice(1, 129)}];
  train(report, "w5.train.b8", apps::gpt(), x, y);
  infer(report, "w5.infer.b1t16", apps::gpt(), ids[{slice(0, 1), slice(0, 16)}]);
  infer(report, "w5.infer.b8t128", apps::gpt(), x);
}

}  // namespace

void bench_network(const std::string& suite, BenchReport& report) {
  if (suite == "w1") {
    for (const int64_t b : {1, 32, 256})
      train(report, "w1.train.b" + std::to_string(b), apps::mlp(), random_normal({b, 784}), random_labels(b, 10));
    infer(report, "w1.infer.b1", apps::mlp(), random_normal({1, 784}));
  } else if (suite == "w2") {
    train(report, "w2.train.b128", apps::lenet(), random_normal({128, 28, 28, 1}), random_labels(128, 10));
  } else if (suite == "w3") {
    train(report, "w3.train.b64", apps::resnet20(), random_normal({64, 32, 32, 3}), random_labels(64, 10));
    infer(report, "w3.infer.b1", apps::resnet20(), random_normal({1, 32, 32, 3}));
  } else if (suite == "w4") {
    train(report, "w4.train.b8", apps::mobilenet_v1({.alpha = 0.5}), random_normal({8, 128, 128, 3}),
          random_labels(8, 1000));
    for (const int64_t b : {1, 8})
      infer(report, "w4.infer.b" + std::to_string(b), apps::mobilenet_v1({.alpha = 0.5}),
            random_normal({b, 128, 128, 3}));
  } else if (suite == "w4l") {
    infer(report, "w4l.infer.b1", apps::mobilenet_v1(), random_normal({1, 224, 224, 3}));
  } else if (suite == "r50") {
    infer(report, "r50.infer.b1", apps::resnet50(), random_normal({1, 224, 224, 3}));
  } else if (suite == "w5") {
    bench_w5(report);
  } else {
    const Tensor x = random_normal({32, 100, 64}), y = random_labels(32, 10);
    train(report, "w6.train.loop", apps::lstm_loop(), x, y);
    train(report, "w6.train.fused", apps::lstm_classifier(), x, y);
  }
}

namespace {

// Time of an iteration.
void bench_loops(BenchReport& report) {
  const auto loop = [&](const std::string& name, int64_t iterations, auto f, const auto&... args) {
    report.loop(name, call(report, name, f, args...), iterations);
  };
  constexpr int32_t kTimes = 1'000'000, kRows = 1000;
  const int32_t times = report.options().mode == kEager ? 1000 : kTimes;
  loop(
      "ops.while.scalar.i64", times,
      [](const Tensor& x, const Tensor& n) {
        return while_loop([&](const auto& c) { return less(c.second, n); },
                          [](const auto& c) {
                            return std::pair{c.first * int64_t{6364136223846793005} + int64_t{1442695040888963407},
                                             c.second + 1};
                          },
                          std::pair{x, Tensor(0)})
            .first;
      },
      Tensor(int64_t{1}), Tensor(times));
  loop(
      "ops.while.scalar.f32", times,
      [](const Tensor& x, const Tensor& n) {
        return while_loop([&](const auto& c) { return less(c.second, n); },
                          [](const auto& c) {
                            const Tensor r = c.first;
                            return std::pair{(r + 2.0F / r) * 0.5F, c.second + 1};
                          },
                          std::pair{x, Tensor(0)})
            .first;
      },
      Tensor(1.0F), Tensor(times));
  loop(
      "ops.scan.scalar", kRows,
      [](const Tensor& init, const Tensor& xs) {
        return scan(
                   [](const Tensor& y, const Tensor& x) {
                     const Tensor next = y * 0.9F + x * 0.1F;
                     return std::pair{next, next};
                   },
                   init, xs)
            .second;
      },
      Tensor(0.0F), random_normal({kRows}));
  loop(
      "ops.scan.3x3", kRows,
      [](const Tensor& init, const Tensor& xs) {
        return scan([](const Tensor& p, const Tensor& x) { return std::pair{matmul(p, x), std::tuple<>()}; }, init, xs)
            .first;
      },
      cast(random_normal({3, 3}), f64), cast(random_normal({kRows, 3, 3}), f64));
}

}  // namespace

void bench_ops(BenchReport& report) {
  const Tensor a = random_normal({16}), b = random_normal({16}), m = random_normal({64, 64}),
               n = random_normal({64, 64});
  const auto small = [&](const std::string& name, int calls, auto f, const auto&... args) {
    report.small(name, call(report, name, f, args...), calls);
  };
  const auto add = [](const Tensor& x, const Tensor& y) { return x + y; };
  small("ops.add.16", 1000, add, a, b);
  if (report.wants("ops.add.tape.16")) {
    // A tape grows with each op: a fresh one for each thousand.
    std::unique_ptr<GradientTape> tape;
    int calls = 0;
    const auto step = call(report, "ops.add.tape.16", add, a, b);
    report.small("ops.add.tape.16", [&] {
      if (calls++ % 1000 == 0) {
        tape.reset();
        tape = std::make_unique<GradientTape>();
        tape->watch(a);
      }
      step();
    });
  }
  small("ops.sum.16", 1000, [](const Tensor& x) { return sum(x); }, a);
  small("ops.matmul.64", 1000, [](const Tensor& x, const Tensor& y) { return matmul(x, y); }, m, n);
  const auto chain20 = [](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 10; ++i) y = tanh(y) * 0.5 + y;
    return y;
  };
  small("ops.chain20.64", 100, chain20, random_normal({64}));
  // From what a call costs to what memory costs.
  const auto composed_gelu = [](const Tensor& x) { return x * 0.5 * (erf(x * 0.7071067811865476) + 1); };
  for (const int64_t size : {8, 64, 1'000, 10'000, 100'000, 1'000'000, 10'000'000}) {
    const std::string name = fmt::format("ops.gelu.{}", size);
    if (!report.wants(name)) continue;
    small(name, static_cast<int>(std::max<int64_t>(1, 100'000 / size)), composed_gelu, random_normal({size}));
  }
  bench_loops(report);
}

void bench_kernels(BenchReport& report) {
  bench_kernel_floors(report);
  const Tensor x = random_normal({1024, 4096}), g = random_normal({4096}), b = random_normal({4096});
  const auto time = [&](const std::string& name, auto f, const auto&... args) {
    report.time(name, call(report, name, f, args...));
  };
  time("w7.gelu", [](const Tensor& t) { return t * 0.5 * (erf(t * 0.7071067811865476) + 1); }, x);
  time("w7.gelu.op", [](const Tensor& t) { return gelu(t); }, x);
  const auto composed_softmax = [](const Tensor& t) {
    const Tensor e = exp(t - max(t, -1, true));
    return e / sum(e, -1, true);
  };
  time("w7.softmax", composed_softmax, x);
  time("w7.softmax.op", [](const Tensor& t) { return softmax(t); }, x);
  const auto composed_layer_norm = [](const Tensor& t, const Tensor& scale, const Tensor& offset) {
    const Tensor centred = t - mean(t, -1, true);
    return centred * rsqrt(variance(t, -1, true) + 1e-5) * scale + offset;
  };
  time("w7.layernorm", composed_layer_norm, x, g, b);
  const auto own_layer_norm = [](const Tensor& t, const Tensor& scale, const Tensor& offset) {
    return layer_norm(t, scale, offset, -1, 1e-5);
  };
  time("w7.layernorm.op", own_layer_norm, x, g, b);
  time("w7.bias_relu_residual", [](const Tensor& t, const Tensor& bias) { return relu(t + bias) + t; }, x, b);
  if (!report.wants("w7.adam") && !report.wants("w7.adam.op")) return;
  const Variable p(random_normal({4 << 20}));
  const Tensor gradient = random_normal({4 << 20});
  const optim::Adam adam;
  const auto step = [&](const Tensor& t) { adam.apply_gradients({t}, {p}); };
  time("w7.adam", step, gradient);
  time("w7.adam.op", step, gradient);
}

namespace {

// A chain of small calls, none equal to another.
Tensor chain(const Tensor& x, int64_t calls) {
  Tensor y = x;
  for (int64_t i = 0; i < calls / 2; ++i) y = tanh(y) + x;
  return y;
}

}  // namespace

void bench_dispatch(BenchReport& report) {
  const Tensor x = random_normal({16});
  const auto same = function([](const Tensor& a) { return a; });
  report.small("dispatch.call.1", [&] { (void)same(x); });
  const auto first = function([](const std::vector<Tensor>& xs) { return xs[0]; });
  for (const size_t n : {8, 64}) {
    const std::vector<Tensor> xs(n, x);
    report.small("dispatch.call." + std::to_string(n), [&] { (void)first(xs); }, 200);
  }
  const auto add = function([](const Tensor& a, const Tensor& b) { return a + b; });
  report.small("dispatch.add.16", [&] { (void)add(x, x); });
  const Tensor small = random_normal({64});
  const auto chain20 = function([](const Tensor& a) { return chain(a, 20); });
  report.small("dispatch.chain20.64", [&] { (void)chain20(small); }, 100);
  for (const int64_t calls : {1000, 10000, 100000}) {
    report.time(
        "dispatch.lower." + std::to_string(calls),
        [&] {
          const auto f = function([&](const Tensor& a) { return chain(a, calls); });
          (void)f.lower(Spec{f32, {16}});
        },
        [&] { return Config::Table{{"calls", calls}}; });
  }
}

}  // namespace hone::cli
