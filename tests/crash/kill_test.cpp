// A process that saves a model over and over is killed at random moments.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include "hone/train/bundle_test.h"

namespace hone::nn {
namespace {

using Bundle = BundleTest;

// About 1 MB, so that a save takes longer than the pause between two.
Sequential model_of(double value) {
  Sequential model{Dense(512, {.kernel_initializer = Constant(value)})};
  model.set_input_type({f32, {1, 512}});
  model(zeros({1, 512}));
  return model;
}

// "no hidden temporary file but these": .m.hone.tmp-PID-N, as the documentation of save says.
std::vector<std::string> temporary_files(const std::string& folder, pid_t pid) {
  std::vector<std::string> names;
  const std::string prefix = ".m.hone.tmp-" + std::to_string(pid) + "-";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name == "m.hone") continue;
    EXPECT_TRUE(name.starts_with(prefix)) << name;
    names.push_back(entry.path());
  }
  return names;
}

TEST_F(Bundle, KillDuringSaveKeepsTheOldFile) {
  const Sequential models[] = {model_of(1), model_of(2)};
  models[0].save(path("m.hone"));
  std::mt19937 moments(20);
  std::uniform_int_distribution<int> microseconds(500, 15'000);
  int cut = 0;
  for (int kill_number = 0; kill_number < 20; ++kill_number) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      for (int i = 1;; ++i) models[i % 2].save(path("m.hone"));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds(moments)));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the child ended by itself";
    Model loaded = Model::load(path("m.hone"));
    EXPECT_TRUE(same_weights(loaded, models[0]) || same_weights(loaded, models[1])) << "kill " << kill_number;
    const std::vector<std::string> left = temporary_files(path(""), child);
    EXPECT_LE(left.size(), 1U) << "kill " << kill_number;
    for (const std::string& file : left) std::filesystem::remove(file);
    cut += !left.empty();
    // The next save, of another process, is not disturbed by what was left.
    models[kill_number % 2].save(path("m.hone"));
    EXPECT_TRUE(same_weights(Model::load(path("m.hone")), models[kill_number % 2]));
  }
  RecordProperty("kills_in_the_middle_of_a_save", cut);
}

}  // namespace
}  // namespace hone::nn
