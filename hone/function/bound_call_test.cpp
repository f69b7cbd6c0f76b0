// Lowered::bind: state, errors, threads, denormals. What a call takes from the system is in tests/realtime/.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "hone/base/denormals.h"
#include "hone/base/error.h"
#include "hone/function/function.h"
#include "hone/function/lowered.h"
#include "hone/function/variable.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"

namespace hone {
namespace {

TEST(BoundCall, StateGoesFromCallToCallAndTheVariableKeepsItsOwn) {
  const Variable sum(zeros({4}));
  const auto f = function([=](Tensor x) {
    sum.assign(sum.value() + x);
    return sum.value() * 2;
  });
  const Tensor in = ones({4}).dense(), out = Tensor::empty({f32, {4}});
  auto call = f.lower(Spec{f32, {4}}).bind({in}, {out});
  for (int i = 1; i <= 3; ++i) {
    call.run();
    EXPECT_EQ(out.to_vector<float>(), std::vector<float>(4, 2.0F * static_cast<float>(i)));
  }
  EXPECT_EQ(sum.value().to_vector<float>(), std::vector<float>(4, 0));
}

TEST(BoundCall, SeveralOfOneFunctionRunSideBySide) {
  const Variable sum(zeros({4}));
  const auto f = function([=](Tensor x) {
    sum.assign(sum.value() + x);
    return sum.value() * 2;
  });
  const Lowered lowered = f.lower(Spec{f32, {4}});
  std::vector<Tensor> results(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < results.size(); ++t) {
    results[t] = Tensor::empty({f32, {4}});
    const Tensor in = full({4}, static_cast<float>(t), f32).dense();
    threads.emplace_back([call = lowered.bind({in}, {results[t]})]() mutable {
      for (int i = 0; i < 100; ++i) call.run();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < results.size(); ++t)
    EXPECT_EQ(results[t].to_vector<float>(), std::vector<float>(4, 200.0F * static_cast<float>(t)));
}

TEST(BoundCall, WhatCannotBeBoundIsAnError) {
  const auto f = function([](Tensor x) { return x + 1; });
  const Lowered lowered = f.lower(Spec{f32, {4}});
  const Tensor x = ones({4}).dense(), out = Tensor::empty({f32, {4}});
  EXPECT_THROW(lowered.bind({x}, {}), Error);
  EXPECT_THROW(lowered.bind({}, {out}), Error);
  EXPECT_THROW(lowered.bind({x}, {Tensor()}), Error);
  EXPECT_THROW(lowered.bind({x}, {Tensor::empty({f32, {5}})}), Error);
  EXPECT_THROW(lowered.bind({Tensor::empty({i32, {4}})}, {out}), Error);
  EXPECT_THROW(lowered.bind({out}, {out}), Error);
  EXPECT_THROW(lowered.bind({ones({4})}, {out}), Error) << "one element, broadcast";
}

#if defined(__x86_64__)
TEST(BoundCall, DenormalsAreKeptInAHostThatFlushesThem) {
  constexpr unsigned kFlush = 0x8040;
  const unsigned before = _mm_getcsr();
  const std::vector<float> tiny(4, 1e-40F);
  const Tensor in = Tensor::from(tiny, {4}), out = Tensor::empty({f32, {4}});
  const auto f = function([](Tensor x) { return x * 0.5F + 0.0F; });
  auto call = f.lower(Spec{f32, {4}}).bind({in}, {out});
  for (const bool flush : {false, true}) {
    settings.flush_denormals = flush;
    for (const unsigned host : {before & ~kFlush, before | kFlush}) {
      _mm_setcsr(host);
      call.run();
      const Tensor eager = in * 0.5F + 0.0F;
      const bool restored = (_mm_getcsr() & kFlush) == (host & kFlush);
      _mm_setcsr(before);
      EXPECT_TRUE(restored);
      uint32_t bits[2];
      std::memcpy(&bits[0], out.raw(), 4), std::memcpy(&bits[1], eager.raw(), 4);
      EXPECT_EQ(bits[0] == 0, flush);
      EXPECT_EQ(bits[1], bits[0]);
    }
  }
  settings.flush_denormals = false;
}
#endif

}  // namespace
}  // namespace hone
