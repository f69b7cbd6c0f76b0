#include "hone/formats/zip.h"

#include "hone/formats/damage_test.h"

namespace hone::formats {
namespace {

using Zip = FormatTest;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

TEST_F(Zip, WritesMembersThatAMappingHoldsAligned) {
  const std::string first = "first", second(1000, 'x'), third;
  for (const Zip64 zip64 : {Zip64::kWhereNeeded, Zip64::kAlways}) {
    write_zip(path("a.zip"),
              std::vector<ZipContent>{
                  {"a", {bytes_of(first), bytes_of(second)}}, {"b/c", {bytes_of(second)}}, {"d", {bytes_of(third)}}},
              zip64);
    const ZipReader zip(path("a.zip"));
    ASSERT_EQ(zip.members().size(), 3U);
    EXPECT_EQ(zip.read(*zip.find("a")), first + second);
    EXPECT_EQ(zip.read(*zip.find("b/c")), second);
    EXPECT_EQ(zip.read(*zip.find("d")), "");
    EXPECT_EQ(zip.find("e"), nullptr);
    for (const ZipMember& member : zip.members()) EXPECT_EQ(member.data_at % 64, 0U);
    EXPECT_EQ(zip.stored(*zip.find("a")).size(), 1005U);
    EXPECT_EQ(error_of([&] { zip.read(*zip.find("a"), 1004); }).value().code(), Code::kResourceExhausted);
  }
}

TEST_F(Zip, PythonReadsWhatItWrites) {
  const std::string content(300, 'y');
  for (const Zip64 zip64 : {Zip64::kWhereNeeded, Zip64::kAlways}) {
    write_zip(path("a.zip"), std::vector<ZipContent>{{"a", {bytes_of(content)}}, {"b", {}}}, zip64);
    const std::string command = "python3 -c \"import zipfile; z = zipfile.ZipFile('" + path("a.zip") +
                                "'); assert z.testzip() is None and z.read('a') == b'y' * 300 and z.read('b') == b''\"";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }
}

TEST_F(Zip, SurvivesEveryTruncationAndFlip) {
  const std::string text = "some text", more(20, 'z');
  const auto read_all = [](const std::string& path) {
    const ZipReader zip(path);
    std::vector<std::string> contents;
    for (const ZipMember& member : zip.members()) contents.push_back(zip.read(member));
    return contents;
  };
  for (const Zip64 zip64 : {Zip64::kWhereNeeded, Zip64::kAlways}) {
    write_zip(path("whole"), std::vector<ZipContent>{{"a", {bytes_of(text)}}, {"b", {bytes_of(more)}}}, zip64);
    const std::string content = read_file(path("whole"));
    expect_truncation_is_found(path("a"), content, read_all);
    expect_flips_are_survived(path("a"), content, content.size(), read_all,
                              [&](const auto& got) { return got == std::vector{text, more}; });
  }
}

TEST_F(Zip, RefusesSizesThatDeflateCannotReachAndMembersThatOverlap) {
  const std::string text(100, 'a');
  write_zip(path("a"), std::vector<ZipContent>{{"a", {bytes_of(text)}}, {"b", {bytes_of(text)}}});
  const std::string content = read_file(path("a"));
  const size_t directory = content.find("PK\x01\x02"), second = content.find("PK\x01\x02", directory + 4);
  std::string overlapping = content;  // both entries name the first member
  overlapping.replace(second + 42, 4, content.substr(directory + 42, 4)).replace(second + 46, 1, "a");
  overlapping[directory + 46] = 'b';
  overlapping[content.find("PK\x03\x04") + 30] = 'b';
  EXPECT_EQ(error_of([&] { ZipReader zip(file("b", overlapping)); }).value().code(), Code::kDataLoss);
  std::string bomb = content;
  bomb[8] = bomb[directory + 10] = 8;                   // deflated
  bomb.replace(directory + 24, 4, "\xff\xff\xff\x7f");  // 2 GiB from 100 bytes
  const Error error = error_of([&] { ZipReader zip(file("c", bomb)); }).value();
  EXPECT_NE(std::string(error.what()).find("cannot have 2147483647 bytes, since the file holds 100"), std::string::npos)
      << error.what();
}

}  // namespace
}  // namespace hone::formats
