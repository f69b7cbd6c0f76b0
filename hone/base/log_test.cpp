#include "hone/base/log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace hone {
namespace {

using Lines = std::vector<std::string>;

void collect(log::Level level, std::string_view message, void* lines) {
  static_cast<Lines*>(lines)->push_back(std::string(log::name(level)) + "|" + std::string(message));
}

class Log : public testing::Test {
 protected:
  Log() { log::set_sink(collect, &lines_); }
  ~Log() override {
    log::set_sink(nullptr);
    log::set_level(before_);
  }
  const log::Level before_ = log::level();
  Lines lines_;
};

TEST_F(Log, DropsWhatIsAboveItsLevel) {
  const Lines all = {"error|e", "warning|w", "info|i", "debug|d"};
  for (size_t level = 0; level < all.size(); ++level) {
    lines_.clear();
    log::set_level(static_cast<log::Level>(level));
    log::error("e");
    log::warning("w");
    log::info("i");
    log::debug("d");
    EXPECT_EQ(lines_, Lines(all.begin(), all.begin() + static_cast<ptrdiff_t>(level) + 1));
    EXPECT_TRUE(log::enabled(static_cast<log::Level>(level)));
  }
}

TEST_F(Log, WritesOneLineToStderr) {
  log::set_sink(nullptr);
  testing::internal::CaptureStderr();
  log::error("the file\nis gone");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "hone: error: the file\n  is gone\n");
}

TEST_F(Log, ThreadsWriteWholeMessages) {
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([] {
      for (int j = 0; j < 100; ++j) log::error("message");
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(lines_, Lines(400, "error|message"));
}

TEST(LogDeathTest, TheEnvironmentSetsTheLevel) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const struct {
    const char *value, *output;
  } cases[] = {{"error", "^$"}, {"info", "hone: info: text"}, {"loud", "HONE_LOG=loud is ignored; expected error"}};
  for (const auto& c : cases) {
    setenv("HONE_LOG", c.value, 1);  // before the child starts
    EXPECT_EXIT(
        {
          log::info("text");
          std::_Exit(0);
        },
        testing::ExitedWithCode(0), c.output);
  }
  unsetenv("HONE_LOG");
}

}  // namespace
}  // namespace hone
