#include "hone/base/log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace hone {
namespace {

using Lines = std::vector<std::string>;

void collect(logging::Level level, std::string_view message, void* lines) {
  static_cast<Lines*>(lines)->push_back(std::string(logging::name(level)) + "|" + std::string(message));
}

class Log : public testing::Test {
 protected:
  Log() { logging::set_sink(collect, &lines_); }
  ~Log() override {
    logging::set_sink(nullptr);
    logging::set_level(before_);
  }
  const logging::Level before_ = logging::level();
  Lines lines_;
};

TEST_F(Log, DropsWhatIsAboveItsLevel) {
  const Lines all = {"error|e", "warning|w", "info|i", "debug|d"};
  for (size_t level = 0; level < all.size(); ++level) {
    lines_.clear();
    logging::set_level(static_cast<logging::Level>(level));
    logging::error("e");
    logging::warning("w");
    logging::info("i");
    logging::debug("d");
    EXPECT_EQ(lines_, Lines(all.begin(), all.begin() + static_cast<ptrdiff_t>(level) + 1));
    EXPECT_TRUE(logging::enabled(static_cast<logging::Level>(level)));
  }
}

TEST_F(Log, WritesOneLineToStderr) {
  logging::set_sink(nullptr);
  testing::internal::CaptureStderr();
  logging::error("the file\nis gone");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "hone: error: the file\n  is gone\n");
}

TEST_F(Log, ThreadsWriteWholeMessages) {
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([] {
      for (int j = 0; j < 100; ++j) logging::error("message");
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
          logging::info("text");
          std::_Exit(0);
        },
        testing::ExitedWithCode(0), c.output);
  }
  unsetenv("HONE_LOG");
}

}  // namespace
}  // namespace hone
