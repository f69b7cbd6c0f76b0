// Runs every mistake and compares the error with the comment at the beginning of its file, which has LINE for the
// number of a line of that file (the line's text stands beside it). HONE_UPDATE_GOLDEN=1 writes the comments anew; build
// again after that.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "hone/base/file.h"
#include "tests/error/mistake.h"

namespace hone::test {

std::vector<Mistake>& mistakes() {
  static std::vector<Mistake> all;
  return all;
}

Mistake::Mistake(const char* path, Function what) : file(path), function(what) {
  if (what) mistakes().push_back(*this);
}

namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; !from.empty() && (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// "tests/error/x.cpp:12" as "tests/error/x.cpp:LINE".
std::string without_line(std::string text, const std::string& before) {
  for (size_t at = 0; (at = text.find(before, at)) != std::string::npos;) {
    at += before.size();
    text.replace(at, text.find_first_not_of("0123456789", at) - at, "LINE");
  }
  return text;
}

std::string message_of(const Mistake& mistake, const std::string& folder) {
  const std::string root = std::string(mistake.file).substr(0, std::string(mistake.file).rfind("tests/error/"));
  try {
    mistake.function(folder);
  } catch (const Error& error) {
    const std::string name = std::string(mistake.file).substr(root.size());
    return without_line(replaced(replaced("error: " + std::string(error.what()), folder, "FOLDER"), root, ""),
                        name + ":") +
           "\n";
  }
  return "no error\n";
}

// The comment at the beginning of a file, without its slashes.
std::string comment_of(const std::string& source) {
  std::istringstream lines(source);
  std::string text;
  for (std::string line; std::getline(lines, line) && line.starts_with("//");) {
    text += (line.size() > 2 ? line.substr(3) : "") + "\n";
  }
  return text;
}

std::string with_comment(const std::string& source, const std::string& message) {
  std::istringstream lines(message);
  std::string text;
  for (std::string line; std::getline(lines, line);) text += "// " + line + "\n";
  size_t code = 0;
  while (source.compare(code, 2, "//") == 0) code = source.find('\n', code) + 1;
  return text + source.substr(code);
}

class ErrorMessage : public testing::TestWithParam<Mistake> {
 protected:
  ErrorMessage() {
    std::string pattern = testing::TempDir() + "hone-mistake-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~ErrorMessage() override {
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
    std::filesystem::remove_all(folder_);
  }
  std::string folder_;
};

TEST_P(ErrorMessage, IsTheOneOfTheFile) {
  const std::string source = read_file(GetParam().file), message = message_of(GetParam(), folder_);
  if (std::getenv("HONE_UPDATE_GOLDEN"))
    write_file_atomic(GetParam().file, with_comment(source, message));
  else
    EXPECT_EQ(message, comment_of(source));
}

std::string name_of(const testing::TestParamInfo<Mistake>& info) {
  return std::filesystem::path(info.param.file).stem().string();
}

INSTANTIATE_TEST_SUITE_P(Files, ErrorMessage, testing::ValuesIn(mistakes()), name_of);

}  // namespace
}  // namespace hone::test
