#include "hone/base/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

namespace hone {
namespace {

void (*handler_of(int signal))(int) {
  struct sigaction action = {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

void own_handler(int) {}

TEST(Interrupt, TheFirstSignalSetsTheFlag) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const InterruptGuard guard;
    EXPECT_FALSE(interrupted());
    raise(signal);
    EXPECT_TRUE(interrupted());
    EXPECT_EQ(interrupt_signal(), signal);
  }
}

TEST(Interrupt, TheFormerHandlersComeBack) {
  const auto before = signal(SIGINT, own_handler);
  {
    const InterruptGuard outer;
    {
      const InterruptGuard inner;
      EXPECT_NE(handler_of(SIGINT), own_handler);
      raise(SIGINT);
    }
    EXPECT_NE(handler_of(SIGINT), own_handler) << "the outer guard still holds";
    EXPECT_TRUE(interrupted());
  }
  EXPECT_EQ(handler_of(SIGINT), own_handler);
  signal(SIGINT, before);
}

TEST(Interrupt, AnIgnoredSignalStaysIgnored) {
  const auto before = signal(SIGINT, SIG_IGN);
  {
    const InterruptGuard guard;
    raise(SIGINT);
    EXPECT_FALSE(interrupted());
  }
  EXPECT_EQ(handler_of(SIGINT), SIG_IGN);
  signal(SIGINT, before);
}

TEST(InterruptDeathTest, TheSecondSignalEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const int second : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(
        {
          const InterruptGuard guard;
          raise(SIGINT);
          if (!interrupted()) std::_Exit(1);
          raise(second);
          std::_Exit(2);
        },
        testing::ExitedWithCode(128 + second), "");
  }
}

}  // namespace
}  // namespace hone
