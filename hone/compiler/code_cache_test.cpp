// The cache of machine code on disk: damage, crowds, and places where nothing can be stored.
#include "hone/compiler/code_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "hone/base/file.h"
#include "hone/base/settings.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

class CodeCache : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "hone-cache-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    settings.code_cache_folder = folder = name + "/code";
  }
  void TearDown() override {
    settings.code_cache_folder = before_.code_cache_folder, settings.code_cache_bytes = before_.code_cache_bytes;
    fs::remove_all(root_);
  }
  // Its one entry.
  std::string path() const {
    const auto entries = code_cache::list();
    EXPECT_EQ(entries.size(), 1U);
    return entries.empty() ? std::string() : entries.front().path;
  }
  static void write(const std::string& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  }
  static void make_older(const std::string& path, int seconds) {
    fs::last_write_time(path, fs::last_write_time(path) - std::chrono::seconds(seconds));
  }
  std::string folder;

 private:
  std::string root_;
  const Settings before_ = settings;
};

// What a child process does; its exit status.
template <class F>
int in_child(F f) {
  const pid_t child = fork();
  if (child == 0) _exit(f());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

constexpr std::string_view kKey = "map v3 add\nwhat it depends on";

TEST_F(CodeCache, FindsWhatWasStored) {
  EXPECT_EQ(code_cache::find(kKey), std::nullopt);
  code_cache::store(kKey, "code");
  EXPECT_EQ(code_cache::find(kKey), "code");
  EXPECT_EQ(code_cache::find("map v3 add\nanything else"), std::nullopt);
  code_cache::store(kKey, "newer");
  EXPECT_EQ(code_cache::find(kKey), "newer");
  const auto entries = code_cache::list();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].title, "map v3 add");
  EXPECT_EQ(entries[0].bytes, fs::file_size(entries[0].path));
  EXPECT_LT(entries[0].age, 60);
  EXPECT_EQ(code_cache::clear().size(), 1U);
  EXPECT_EQ(code_cache::find(kKey), std::nullopt);
}

TEST_F(CodeCache, ADamagedByteIsNothingFound) {
  code_cache::store(kKey, "some code");
  const std::string whole = read_file(path()), file = path();
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      write(file, damaged);
      ASSERT_EQ(code_cache::find(kKey), std::nullopt) << "byte " << i;
    }
  }
  write(file, whole);
  EXPECT_EQ(code_cache::find(kKey), "some code");
}

TEST_F(CodeCache, ATruncatedEntryIsNothingFound) {
  code_cache::store(kKey, "some code");
  const std::string whole = read_file(path()), file = path();
  for (size_t size = 0; size < whole.size(); ++size) {
    write(file, whole.substr(0, size));
    ASSERT_EQ(code_cache::find(kKey), std::nullopt) << size;
  }
  write(file, whole + "x");
  EXPECT_EQ(code_cache::find(kKey), std::nullopt);
}

TEST_F(CodeCache, AnEntryOfAnotherKeyIsNothingFound) {
  code_cache::store("map v3 mul\nwhat it depends on", "foreign");
  const std::string foreign = path();
  code_cache::store(kKey, "code");
  std::string mine;
  for (const code_cache::Entry& entry : code_cache::list()) {
    if (entry.path != foreign) mine = entry.path;
  }
  fs::rename(foreign, mine);  // as if both keys had one hash
  EXPECT_EQ(code_cache::find(kKey), std::nullopt);
  code_cache::store(kKey, "code");
  EXPECT_EQ(code_cache::find(kKey), "code");
}

TEST_F(CodeCache, WhatOthersMayWriteIsNotRead) {
  code_cache::store(kKey, "code");
  fs::permissions(path(), fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(code_cache::find(kKey), std::nullopt);
  fs::permissions(path(), fs::perms::others_write, fs::perm_options::remove);
  EXPECT_EQ(code_cache::find(kKey), "code");
  struct stat status{};
  ASSERT_EQ(stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  fs::permissions(folder, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(code_cache::find(kKey), std::nullopt) << "another may put a file there";
}

TEST_F(CodeCache, NoPlaceToStoreIsSilent) {
  std::ofstream(folder) << "a file where the folder should be";
  code_cache::store(kKey, "code");
  EXPECT_EQ(code_cache::find(kKey), std::nullopt);
  settings.code_cache_folder = "/proc/none";  // which nobody can make
  code_cache::store(kKey, "code");
  EXPECT_EQ(code_cache::find(kKey), std::nullopt);
  EXPECT_TRUE(code_cache::list().empty());
}

TEST_F(CodeCache, AFullDiskLeavesNothing) {
  code_cache::store(kKey, "code");
  const int status = in_child([&] {
    const rlimit limit{1000, 1000};  // the signal of which would end the process
    setrlimit(RLIMIT_FSIZE, &limit);
    code_cache::store("large\n", std::string(5000, 'x'));
    return code_cache::find("large\n") ? 1 : code_cache::find(kKey) ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
  // Code of other tests may still be on its way into the folder.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), std::ssize(code_cache::list()))
      << "no part of it is left";
}

TEST_F(CodeCache, WithoutBytesNothingIsStoredOrFound) {
  code_cache::store(kKey, "code");
  settings.code_cache_bytes = 0;
  EXPECT_EQ(code_cache::find(kKey), std::nullopt);
  code_cache::store("other\n", "code");
  EXPECT_EQ(code_cache::list().size(), 1U);
}

TEST_F(CodeCache, WhatWasUsedLongestAgoGoesFirst) {
  const std::string code(1000, 'x');
  const auto key = [](int i) { return "entry " + std::to_string(i) + "\n"; };
  for (int i = 0; i < 10; ++i) {
    code_cache::store(key(i), code);
    for (const code_cache::Entry& entry : code_cache::list()) make_older(entry.path, 7200);
  }
  EXPECT_TRUE(code_cache::find(key(0))) << "the oldest, used now";
  settings.code_cache_bytes = 6000;
  code_cache::store(key(10), code);
  EXPECT_TRUE(code_cache::find(key(0)));
  EXPECT_TRUE(code_cache::find(key(10)));
  for (int i = 1; i < 6; ++i) EXPECT_FALSE(code_cache::find(key(i))) << i;
  uint64_t bytes = 0;
  for (const code_cache::Entry& entry : code_cache::list()) bytes += entry.bytes;
  EXPECT_LE(bytes, 6000U);
  EXPECT_GE(bytes, 3000U);
}

TEST_F(CodeCache, TemporaryFilesOfKilledProcessesGoInTheEnd) {
  code_cache::store(kKey, "code");
  const std::string old = folder + "/.tmp-99999-0", young = folder + "/.tmp-99999-1";
  write(old, "part"), write(young, "part");
  make_older(old, 7200);
  settings.code_cache_folder += "/";  // a folder that this process has not looked through
  code_cache::store(kKey, "code");
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young)) << "someone may be writing it";
  EXPECT_EQ(code_cache::list().size(), 1U);
}

std::string numbered(int i) { return std::string(static_cast<size_t>(500 + i * 7), static_cast<char>('a' + i % 26)); }

TEST_F(CodeCache, ProcessesFillItAtTheSameTime) {
  constexpr int kProcesses = 4, kEntries = 60;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < kEntries; ++i) {
        const std::string key = "entry " + std::to_string(i) + "\n";
        const auto found = code_cache::find(key);
        if (found && *found != numbered(i)) _exit(1);
        code_cache::store(key, numbered(i));
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  for (int i = 0; i < kEntries; ++i) EXPECT_EQ(code_cache::find("entry " + std::to_string(i) + "\n"), numbered(i));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), kEntries);
}

TEST_F(CodeCache, AProcessKilledWhileItWritesLeavesOldOrNew) {
  const std::string one(200000, '1'), two(200000, '2');
  code_cache::store(kKey, one);
  for (int round = 0; round < 30; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      while (true) code_cache::store(kKey, two), code_cache::store(kKey, one);
    }
    usleep(static_cast<useconds_t>(500 + 300 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto found = code_cache::find(kKey);
    ASSERT_TRUE(found == one || found == two) << round;
  }
}

TEST(CodeCacheFolder, IsTheSettingsElseTheEnvironments) {
  const auto keep = [](const char* name) {
    const char* const value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
  const char* const kNames[] = {"HONE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
  std::optional<std::string> before[3];
  for (size_t i = 0; i < 3; ++i) before[i] = keep(kNames[i]);
  setenv("HOME", "/home/me", 1), unsetenv("XDG_CACHE_HOME"), unsetenv("HONE_CACHE_DIR");
  EXPECT_EQ(code_cache::folder(), "/home/me/.cache/hone");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(code_cache::folder(), "/home/me/.cache/hone");
  setenv("XDG_CACHE_HOME", "/caches", 1);
  EXPECT_EQ(code_cache::folder(), "/caches/hone");
  setenv("HONE_CACHE_DIR", "/told", 1);
  EXPECT_EQ(code_cache::folder(), "/told");
  setenv("HONE_CACHE_DIR", "", 1);
  EXPECT_EQ(code_cache::folder(), "");
  settings.code_cache_folder = "/set";
  EXPECT_EQ(code_cache::folder(), "/set");
  settings.code_cache_folder.clear();
  unsetenv("HONE_CACHE_DIR"), unsetenv("XDG_CACHE_HOME"), unsetenv("HOME");
  EXPECT_EQ(code_cache::folder(), "");
  for (size_t i = 0; i < 3; ++i) before[i] ? setenv(kNames[i], before[i]->c_str(), 1) : unsetenv(kNames[i]);
}

}  // namespace
}  // namespace hone
