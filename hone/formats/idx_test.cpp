#include "hone/formats/idx.h"

#include "hone/formats/damage_test.h"
#include "hone/formats/inflate.h"

namespace hone::formats {
namespace {

using Idx = FormatTest;
using namespace std::string_literals;

std::string gzipped(const std::string& text) { return gzip(std::as_bytes(std::span(text))); }

TEST_F(Idx, ReadsTheBytesOfTheSpecification) {
  const std::string content = "\0\0\x08\x02\0\0\0\x02\0\0\0\x03\x01\x02\x03\x04\x05\xff"s;
  const Tensor expected = Tensor::from(std::vector<uint8_t>{1, 2, 3, 4, 5, 255}, {2, 3});
  EXPECT_TRUE(same(read_idx(file("a", content)), expected));
  EXPECT_TRUE(same(read_idx(file("b", gzipped(content))), expected));
  EXPECT_TRUE(same(read_idx(file("c", "\0\0\x0b\x01\0\0\0\x02\x01\x02\xff\xfe"s)), Tensor::of<int16_t>({258, -2})));
  EXPECT_TRUE(same(read_idx(file("d", "\0\0\x0d\x01\0\0\0\x01\x3f\x80\0\0"s)), Tensor::of<float>({1})));
}

TEST_F(Idx, WritesWhatItReads) {
  const Tensor tensors[] = {Tensor::of<uint8_t>({0, 255}),
                            Tensor::of<int8_t>({-128, 127}),
                            Tensor::of<int16_t>({-2, 300}),
                            Tensor::of<int32_t>({-1, 1 << 20}),
                            Tensor::of<float>({-0.0F, 1e-40F}),
                            Tensor::of<double>({1e300, -3}),
                            Tensor::from(std::vector<int32_t>{}, {0, 5}),
                            Tensor(2.5F)};
  for (const Tensor& tensor : tensors) {
    for (const char* name : {"plain", "packed.gz"}) {
      write_idx(path(name), tensor);
      EXPECT_TRUE(same(read_idx(path(name)), tensor)) << to_string(tensor.type());
    }
  }
}

TEST_F(Idx, RefusesToWriteWhatTheFormatLacks) {
  for (const DType dtype : {f16, bf16, i64, u16, u32, u64, bool_}) {
    EXPECT_EQ(error_of([&] { write_idx(path("a"), Tensor::empty({dtype, {2}})); }).value().code(),
              Code::kInvalidArgument);
  }
  EXPECT_FALSE(std::filesystem::exists(path("a")));
}

TEST_F(Idx, ReadsSeveralGzipMembersAsOneStream) {
  const std::string content = "\0\0\x08\x01\0\0\0\x03\x01\x02\x03"s;
  const std::string packed = gzipped(content.substr(0, 7)) + gzipped("") + gzipped(content.substr(7));
  EXPECT_TRUE(same(read_idx(file("a.gz", packed)), Tensor::of<uint8_t>({1, 2, 3})));
}

TEST_F(Idx, SaysWhatIsWrongAndAtWhichByte) {
  const struct {
    std::string content, expected;
  } kCases[] = {
      {"", "at byte 0: the file ends within the magic number"},
      {"\x89PNG", "at byte 0: expected 00 00, got 89 50"},
      {"\0\0\x07\x01"s, "at byte 2: expected a type of 08, 09, 0b, 0c, 0d or 0e, got 07"},
      {"\0\0\x08\x02\0\0\0\x02"s, "at byte 8: the file ends within the extents of 2 axes"},
      {"\0\0\x08\x01\0\0\0\x05"s + "abc", "at byte 4: the header declares u8[5], but the file can hold at most 3"},
      {"\0\0\x0e\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s,
       "at byte 4: the header declares f64["},
      {"\0\0\x08\x01\0\0\0\x02"s + "abc", "at byte 10: expected the end"},
      {gzipped("\0\0\x08\x01\0\0\0\x02"s + "abc"), "at decompressed byte 10: expected the end"},
      {gzipped("\0\0\x08\x01\0\0\0\x01"s + "a") + "junk", "4 bytes follow the end of the compressed data"},
      {gzipped("\0\0\x08\x02\0\xff\xff\xff\0\xff\xff\xff"s), "at decompressed byte 4: the header declares"},
  };
  for (const auto& [content, expected] : kCases) {
    const std::optional<Error> error = error_of([&] { read_idx(file("a", content)); });
    ASSERT_TRUE(error) << expected;
    EXPECT_EQ(error->code(), Code::kDataLoss);
    EXPECT_NE(std::string(error->what()).find(expected), std::string::npos) << error->what();
    EXPECT_TRUE(speaks_of_the_file(*error, path("a")));
    EXPECT_FALSE(error->parts().fix.empty());
  }
  EXPECT_EQ(error_of([&] { read_idx(path("missing")); }).value().code(), Code::kNotFound);
  EXPECT_EQ(error_of([&] { read_idx(file("r", "\0\0\x08\x0d"s + std::string(53, '\0'))); }).value().code(),
            Code::kUnsupported);
}

TEST_F(Idx, SurvivesEveryTruncationAndFlip) {
  const std::string plain = "\0\0\x0b\x02\0\0\0\x02\0\0\0\x03"s + "abcdefghijkl";
  expect_truncation_is_found(path("a"), plain, read_idx);
  expect_flips_are_survived(path("a"), plain, plain.size(), read_idx,
                            [&](const Tensor& t) { return t.bytes() <= plain.size(); });
  const Tensor content = read_idx(file("a", plain));
  const std::string packed = gzipped(plain);
  expect_truncation_is_found(path("a"), packed, read_idx);
  expect_flips_are_survived(path("a"), packed, packed.size(), read_idx,
                            [&](const Tensor& t) { return same(t, content); });
}

TEST_F(Idx, ABombIsRefusedBeforeItTakesMemory) {
  std::string bomb = "\0\0\x08\x01\0\0\0\x05"s + std::string(20'000'000, '\0');
  const std::optional<Error> error = error_of([&] { read_idx(file("bomb.gz", gzipped(bomb))); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), Code::kDataLoss);
  EXPECT_NE(std::string(error->what()).find("at decompressed byte 13"), std::string::npos) << error->what();
}

}  // namespace
}  // namespace hone::formats
