// What the team does to its process: threads, regions, forks, a host with a team of its own. Each case that counts runs
// in a fresh process (a "threadsafe" death test is one).
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "hone/base/openmp.h"
#include "hone/base/parallel.h"
#include "hone/base/team.h"

namespace {
std::atomic<int> regions{0};
}

/// Stands before libgomp's: counts the regions that anyone in this process enters.
extern "C" void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags) {
  using Function = void (*)(void (*)(void*), void*, unsigned, unsigned);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "GOMP_parallel"));
  ++regions;
  next(body, data, threads, flags);
}

namespace hone {
namespace {

int process_threads() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

/// The threads before the test's own; a sanitizer starts one with the first.
int threads_at_start() {
  std::thread([] {}).join();
  usleep(10000);
  return process_threads();
}

/// The count once threads that are ending have ended.
int settled_threads(int at_most) {
  for (int i = 0; i < 2000 && process_threads() > at_most; ++i) usleep(1000);
  return process_threads();
}

int64_t loop_sum(int64_t n = 1000) {
  std::atomic<int64_t> sum{0};
  parallel_for(n, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
  return sum;
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s (threads in the process: %d, regions: %d)\n", what, process_threads(),
               regions.load());
  std::_Exit(1);
}

/// Runs a scenario in a fresh process, which must end with 0.
template <class Scenario>
void in_fresh_process(Scenario scenario) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        scenario();
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ThreadsTeamDeathTest, OneThreadMeansNoRegionAndNoThread) {
  in_fresh_process([] {
    const int before = process_threads();
    set_threads(1);
    require(loop_sum() == 1000, "the loop ran");
    parallel_tasks(10, [](int64_t) {});
    run_library([] { require(omp_get_max_threads() == 1, "one thread for the library"); });
    require(regions == 0 && process_threads() == before, "no region, no thread");
  });
}

TEST(ThreadsTeamDeathTest, AnExecutorMeansNoRegionAndNoThread) {
  in_fresh_process([] {
    const int before = process_threads();
    set_threads(4);
    set_executor([](int64_t tasks, const std::function<void(int64_t)>& task) {
      for (int64_t i = 0; i < tasks; ++i) task(i);
    });
    require(loop_sum() == 1000, "the loop ran");
    run_library([] { require(omp_get_max_threads() == 1, "one thread for the library"); });
    require(regions == 0 && process_threads() == before, "no region, no thread");
  });
}

TEST(ThreadsTeamDeathTest, SettingOneThreadEndsTheTeam) {
  in_fresh_process([] {
    const int before = threads_at_start();
    set_threads(3);
    loop_sum();
    require(process_threads() == before + 2, "a team of three");
    set_threads(1);
    require(settled_threads(before) == before, "the team has ended");
    set_threads(3);
    std::thread([] { loop_sum(); }).join();
    loop_sum();
    set_threads(1);
    require(settled_threads(before) == before, "the team has ended after a second caller");
  });
}

TEST(ThreadsTeamDeathTest, ACallerThatEndsLeavesNoThread) {
  in_fresh_process([] {
    const int before = threads_at_start();
    set_threads(3);
    for (int i = 0; i < 20; ++i) std::thread([] { loop_sum(); }).join();
    if (team::kServesLibraries) require(settled_threads(before) == before, "each caller's team ended with it");
    require(settled_threads(before + 2) <= before + 2, "at most one team");
  });
}

/// Callers at once, with bursts long enough to move the team to and fro: themselves, the dedicated owner, its pool, and
/// the pool of one former owner.
TEST(ThreadsTeamDeathTest, EightCallersShareOneTeam) {
  in_fresh_process([] {
    constexpr int kCallers = 8, kThreads = 3;
    const int limit = threads_at_start() + kCallers + 1 + 2 * (kThreads - 1);
    set_threads(kThreads);
    loop_sum();
    std::barrier turn(kCallers);
    std::atomic<int> most{0}, wrong{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < kCallers; ++caller) {
      callers.emplace_back([&, caller] {
        for (int i = 0; i < 50; ++i) wrong += loop_sum() != 1000;  // all at once
        for (int next = 0; next < kCallers; ++next) {              // one after the other
          turn.arrive_and_wait();
          if (next != caller) continue;
          for (int i = 0; i < 40; ++i) wrong += loop_sum() != 1000;
          run_library([&] { wrong += omp_get_max_threads() != library_threads(); });
          most = std::max(most.load(), process_threads());
        }
        turn.arrive_and_wait();
      });
    }
    for (std::thread& caller : callers) caller.join();
    require(wrong == 0, "all loops gave their sum");
    require(most <= limit, "threads are bounded");
  });
}

TEST(ThreadsTeamDeathTest, AnExceptionOfAHandedOverCallReachesItsCaller) {
  in_fresh_process([] {
    set_threads(2);
    loop_sum();
    std::thread([] {
      for (int i = 0; i < 3; ++i) {
        bool caught = false;
        try {
          run_library([] { throw 7; });
        } catch (int value) {
          caught = value == 7;
        }
        require(caught, "the exception came");
        require(loop_sum() == 1000, "loops go on");
      }
    }).join();
  });
}

#ifndef __SANITIZE_THREAD__  // it ends a child that starts threads after a fork of several

int exit_code_of_child(int (*child)()) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(20);  // a child that hangs dies of it
    std::_Exit(child());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int use_in_child() { return process_threads() == 1 && loop_sum() == 1000 && loop_sum(77) == 77 ? 0 : 9; }

TEST(ThreadsTeamDeathTest, AForkedChildMakesItsOwnTeam) {
  in_fresh_process([] {
    set_threads(2);
    require(exit_code_of_child(use_in_child) == 0, "before the first loop");
    loop_sum();
    require(exit_code_of_child(use_in_child) == 0, "from the owner");
    std::thread([] {
      loop_sum();  // the dedicated thread owns the team from here
      require(exit_code_of_child(use_in_child) == 0, "from a caller that hands over");
    }).join();
    require(exit_code_of_child(use_in_child) == 0, "from the former owner");
    require(loop_sum() == 1000, "the parent goes on");
    require(exit_code_of_child([] { return exit_code_of_child(use_in_child) + (loop_sum() != 1000); }) == 0, "twice");
  });
}

#endif

TEST(ThreadsTeamDeathTest, TheMaskOfCpusBoundsTheBudget) {
  in_fresh_process([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    require(sched_setaffinity(0, sizeof one, &one) == 0, "one CPU may be chosen");
    require(cpu_budget() == 1, "the budget is one");
  });
}

TEST(ThreadsTeamDeathTest, TheEnvironmentSetsTheThreads) {
  const struct {
    const char *hone, *omp;
    int expected;  // 0: the budget
  } cases[] = {{"3", "5", 3}, {"", "5,2", 5}, {"", "", 0},  {"many", "2", 2},
               {"0", "", 0},  {"2x", "", 0},  {"-4", "", 0}};
  for (const auto& c : cases) {
    in_fresh_process([&c] {
      setenv("HONE_NUM_THREADS", c.hone, 1);
      setenv("OMP_NUM_THREADS", c.omp, 1);
      parallel_detail::thread_count = 0;  // as at the start
      require(threads() == (c.expected != 0 ? c.expected : cpu_budget()), "the threads are as set");
    });
  }
}

}  // namespace
}  // namespace hone
