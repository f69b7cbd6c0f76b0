// Suite rt: blocks of 64 samples through a stateful LSTM, as an audio callback would call it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "hone/cli/bench_report.h"
#include "hone/cli/modes.h"
#include "hone/hone.h"

namespace hone::cli {

void bench_rt(BenchReport& report) {
  constexpr int64_t kBlock = 64, kUnits = 40;
  const std::string name = "rt.lstm.b64";
  if (!report.wants(name)) return;
  if (report.options().mode == kEager)
    throw Error(Code::kInvalidArgument, "real-time calls are compiled", "use --mode graph or jit");
  set_threads(1);
  const auto drawn = [](const Shape& shape) {
    return (random::normal(random::state(nn::next_random_key()), shape).second * 0.2F).dense();
  };
  const Variable h(zeros({1, kUnits})), c(zeros({1, kUnits}));
  const Tensor kernel = drawn({1, 4 * kUnits}), recurrent = drawn({kUnits, 4 * kUnits}), bias = drawn({4 * kUnits}),
               head = drawn({kUnits, 1}), head_bias = drawn({1});
  const auto step = function(
      [=](Tensor block) {
        const Tensor projected = reshape(dense(block, kernel, bias), {kBlock, 1, 4 * kUnits});
        auto [state, outputs] = scan(
            [&](std::pair<Tensor, Tensor> s, Tensor gates) {
              auto next = lstm_cell(gates + matmul(s.first, recurrent), s.second);
              return std::pair(next, next.first);
            },
            std::pair(h.value(), c.value()), projected);
        h.assign(state.first), c.assign(state.second);
        return dense(reshape(outputs, {kBlock, kUnits}), head, head_bias);
      },
      {.name = name, .jit_compile = report.options().mode == kJit});
  const Tensor in = drawn({kBlock, 1}), out = Tensor::empty({f32, {kBlock, 1}});
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  const auto begin = Clock::now();
  auto call = step.lower(Spec{f32, {kBlock, 1}}).bind({in}, {out});
  call.run();
  const double first = seconds(Clock::now() - begin);
  for (int i = 0; i < 100; ++i) call.run();
  std::vector<double> times(static_cast<size_t>(report.options().calls));
  for (double& time : times) {
    const auto start = Clock::now();
    call.run();
    time = seconds(Clock::now() - start) * 1e6;
  }
  std::ranges::sort(times);
  const size_t last = times.size() - 1;
  report.add({{"name", name},
              {"unit", "us"},
              {"threads", 1},
              {"median", times[times.size() / 2]},
              {"min", times.front()},
              {"max", times.back()},
              {"p9999", times[std::min(last, times.size() / 10000 * 9999 + times.size() % 10000 * 9999 / 10000)]},
              {"runs", report.options().calls},
              {"first_ms", first * 1e3}});
}

}  // namespace hone::cli
