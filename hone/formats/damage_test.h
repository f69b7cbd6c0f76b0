// What the tests of this folder share: files in a folder of their own, and systematic damage.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "hone/base/error.h"
#include "hone/base/file.h"
#include "hone/tensor/tensor.h"

namespace hone::formats {

inline std::string golden(const std::string& name) { return "tests/golden/formats/" + name; }

inline void spill(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

/// A folder that goes with the test.
class FormatTest : public testing::Test {
 protected:
  FormatTest() {
    // Thousands of small files: in memory where the system has such a folder.
    std::string name = (::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + std::string("/hone-formats-XXXXXX");
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
  }
  ~FormatTest() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string file(const std::string& name, const std::string& content) const {
    spill(path(name), content);
    return path(name);
  }

 private:
  std::string folder_;
};

/// Same type and same bits.
inline bool same(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

/// The Error that `call` throws; fails if it throws none, or one without a code that stands for a bad file.
template <class Call>
std::optional<Error> error_of(Call call) {
  try {
    call();
  } catch (const Error& e) {
    return e;
  }
  return std::nullopt;
}

inline bool speaks_of_the_file(const Error& e, const std::string& path) {
  const bool code =
      e.code() == Code::kDataLoss || e.code() == Code::kUnsupported || e.code() == Code::kResourceExhausted;
  return code && std::string(e.what()).find(path) != std::string::npos;
}

/// Cuts `content` at every byte: `read(path)` must throw an Error that names the file.
template <class Read>
void expect_truncation_is_found(const std::string& path, const std::string& content, Read read) {
  for (size_t size = 0; size < content.size(); ++size) {
    spill(path, content.substr(0, size));
    const std::optional<Error> error = error_of([&] { read(path); });
    ASSERT_TRUE(error) << "cut to " << size << " of " << content.size() << " bytes";
    EXPECT_TRUE(speaks_of_the_file(*error, path)) << error->what();
  }
}

/// Flips every bit of the first `bytes` bytes: `read(path)` throws an Error that names the file, or gives something
/// that `acceptable` takes.
template <class Read, class Acceptable>
void expect_flips_are_survived(const std::string& path, const std::string& content, size_t bytes, Read read,
                               Acceptable acceptable) {
  for (size_t bit = 0; bit < 8 * bytes; ++bit) {
    std::string altered = content;
    altered[bit / 8] = static_cast<char>(altered[bit / 8] ^ (1 << bit % 8));
    spill(path, altered);
    const std::optional<Error> error = error_of([&] {
      const auto result = read(path);
      EXPECT_TRUE(acceptable(result)) << "bit " << bit % 8 << " of byte " << bit / 8;
    });
    EXPECT_TRUE(!error || speaks_of_the_file(*error, path)) << error->what();
  }
}

}  // namespace hone::formats
