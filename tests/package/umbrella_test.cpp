// hone/hone.h gives a program every header that is installed, and needs none that is not.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace hone {
namespace {

using Names = std::set<std::string>;

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The headers below hone/ that the install rules (cmake/HoneInstall.cmake) take.
Names installed() {
  std::vector<std::regex> internal;
  for (const std::string& line : lines_of(HONE_INTERNAL_HEADERS)) internal.emplace_back(line);
  EXPECT_GT(internal.size(), 5U);
  const auto excluded = [&](const std::filesystem::path& path) {  // by itself or by a folder that holds it
    for (std::filesystem::path part = "/" / path; part.has_relative_path(); part = part.parent_path()) {
      for (const std::regex& expression : internal) {
        if (std::regex_search(part.string(), expression)) return true;
      }
    }
    return false;
  };
  Names names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("hone")) {
    if (entry.path().extension() == ".h" && !excluded(entry.path())) names.insert(entry.path().string());
  }
  return names;
}

void reach(const std::string& header, Names& reached) {
  if (!reached.insert(header).second) return;
  static const std::regex kInclude(R"(^\s*#\s*include\s*"(hone/[^"]+)\")");
  for (const std::string& line : lines_of(header)) {
    std::smatch match;
    if (std::regex_search(line, match, kInclude)) reach(match[1], reached);
  }
}

TEST(Umbrella, ReachesEveryPublicHeader) {
  const Names public_headers = installed();
  Names reached;
  reach("hone/hone.h", reached);
  ASSERT_GT(reached.size(), 30U);
  EXPECT_TRUE(reached.contains("hone/optim/schedule.h"));
  for (const std::string& header : public_headers)
    EXPECT_TRUE(reached.contains(header))
        << header << ": include it in hone/hone.h, or name it in HONE_INTERNAL_HEADERS";
  for (const std::string& header : reached)
    EXPECT_TRUE(public_headers.contains(header)) << header << " is needed by hone/hone.h but not installed";
}

}  // namespace
}  // namespace hone
