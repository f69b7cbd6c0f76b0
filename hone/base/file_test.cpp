#include "hone/base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "hone/base/error.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

class File : public testing::Test {
 protected:
  File() {
    char name[] = "/tmp/hone-file-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~File() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  std::string folder_;
};

/// Runs the call, which must throw an Error with this code whose message holds each text.
template <class Call>
void expect_error(Code code, std::initializer_list<std::string> texts, Call call) {
  try {
    call();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    for (const std::string& text : texts) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << text << " in " << error.what();
    }
  }
}

TEST_F(File, ReadsAndMapsWhatWasWritten) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{65535}, size_t{65536}, size_t{65537}, size_t{1} << 20}) {
    std::string content(size, 'x');
    for (size_t i = 0; i < size; ++i) content[i] = static_cast<char>(i * 31 % 256);
    write_file_atomic(path("a"), content);
    EXPECT_EQ(read_file(path("a")), content);
    const MappedFile mapped(path("a"));
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(mapped.data()), mapped.size()), content);
  }
  EXPECT_EQ(entries(), 1u);
}

TEST_F(File, WritesInPieces) {
  std::string expected;
  write_file_atomic(path("a"), [&](FileWriter& writer) {
    for (size_t size : {3, 0, 70000, 5, 65536, 1}) {
      const std::string piece(size, static_cast<char>('a' + size % 26));
      expected += piece;
      writer.write(piece);
      EXPECT_EQ(writer.position(), expected.size());
    }
  });
  EXPECT_EQ(read_file(path("a")), expected);
}

TEST_F(File, ReadsPipesAndFilesWithoutASize) {
  EXPECT_FALSE(read_file("/proc/self/status").empty());
  EXPECT_TRUE(read_file("/dev/null").empty());
}

TEST_F(File, ReadingFailsWithTheNameAndAFix) {
  expect_error(Code::kNotFound, {path("none"), "No such file", "fix: check the path"},
               [&] { read_file(path("none")); });
  expect_error(Code::kNotFound, {path("none")}, [&] { MappedFile mapped(path("none")); });
  expect_error(Code::kInvalidArgument, {folder_, "directory", "fix: name a file"}, [&] { read_file(folder_); });
  expect_error(Code::kInvalidArgument, {folder_}, [&] { MappedFile mapped(folder_); });
  expect_error(Code::kInvalidArgument, {"/dev/null", "not a regular file"}, [&] { MappedFile mapped("/dev/null"); });
  write_file_atomic(path("a"), "0123456789");
  EXPECT_EQ(read_file(path("a"), 10).size(), 10u);
  expect_error(Code::kResourceExhausted, {path("a"), "at most 9 bytes"}, [&] { read_file(path("a"), 9); });
  expect_error(Code::kResourceExhausted, {"/dev/zero", "at most 99999 bytes"}, [&] { read_file("/dev/zero", 99999); });
}

TEST_F(File, AFailingWriterLeavesTheOldFileAndNoOther) {
  write_file_atomic(path("a"), "old");
  EXPECT_THROW(write_file_atomic(path("a"),
                                 [](FileWriter& writer) {
                                   writer.write(std::string(100000, 'n'));
                                   throw std::runtime_error("half way");
                                 }),
               std::runtime_error);
  EXPECT_EQ(read_file(path("a")), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(File, AFullFileSystemLeavesTheOldFileAndNoOther) {
  write_file_atomic(path("a"), "old");
  rlimit old_limit = {}, limit = {};
  ::getrlimit(RLIMIT_FSIZE, &old_limit);
  limit = old_limit;
  limit.rlim_cur = 50000;
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);  // the limit then gives EFBIG
  ::setrlimit(RLIMIT_FSIZE, &limit);
  expect_error(Code::kResourceExhausted, {path("a"), "fix: raise the limit"},
               [&] { write_file_atomic(path("a"), std::string(60000, 'n')); });
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(read_file(path("a")), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(File, AFullDiskIsNamed) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  const std::string name = path("model.hone");
  FileWriter writer(full, name);
  writer.write("x");
  expect_error(Code::kResourceExhausted, {name, "No space left", "fix: free space in " + folder_},
               [&] { writer.flush(); });
  ::close(full);
}

TEST_F(File, WritingFailsWithTheNameAndAFix) {
  expect_error(Code::kNotFound, {path("no/a"), "fix: create the folder " + path("no")},
               [&] { write_file_atomic(path("no/a"), "x"); });
  expect_error(Code::kInvalidArgument, {folder_, "fix: name a file"}, [&] { write_file_atomic(folder_, "x"); });
  expect_error(Code::kInvalidArgument, {"/dev/null"}, [&] { write_file_atomic("/dev/null", "x"); });
  write_file_atomic(path("a"), "old");
  expect_error(Code::kNotFound, {path("a/b")}, [&] { write_file_atomic(path("a/b"), "x"); });
}

TEST_F(File, AReadOnlyFolderIsNamed) {
  write_file_atomic(path("a"), "old");
  ::chmod(folder_.c_str(), 0555);
  const bool root = ::geteuid() == 0;
  ASSERT_EQ(root ? ::seteuid(65534) : 0, 0);  // root may write anywhere
  expect_error(Code::kFailedPrecondition, {path("a"), "fix: make the folder " + folder_ + " writable"},
               [&] { write_file_atomic(path("a"), "x"); });
  ASSERT_EQ(root ? ::seteuid(0) : 0, 0);
  ::chmod(folder_.c_str(), 0755);
  EXPECT_EQ(read_file(path("a")), "old");
  expect_error(Code::kFailedPrecondition, {"Read-only file system"}, [] { throw_file_error("write", "/ro/a", EROFS); });
}

TEST_F(File, KeepsPermissionsAndFollowsLinks) {
  write_file_atomic(path("a"), "old");
  ::chmod(path("a").c_str(), 0640);
  fs::create_symlink("a", path("link"));
  fs::create_symlink("new", path("dangling"));
  write_file_atomic(path("link"), "changed");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("a")), "changed");
  struct stat status = {};
  ::stat(path("a").c_str(), &status);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
  write_file_atomic(path("dangling"), "x");
  EXPECT_EQ(read_file(path("new")), "x");
  fs::create_symlink("loop", path("loop"));
  expect_error(Code::kInvalidArgument, {"loop"}, [&] { write_file_atomic(path("loop"), "x"); });
}

TEST_F(File, AMappingOutlivesTheReplacementOfItsFile) {
  write_file_atomic(path("a"), "first");
  MappedFile mapped(path("a"));
  write_file_atomic(path("a"), "second");
  MappedFile moved(std::move(mapped));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(moved.data()), moved.size()), "first");
}

}  // namespace
}  // namespace hone
