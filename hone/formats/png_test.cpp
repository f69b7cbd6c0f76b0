#include "hone/formats/png.h"

#include "hone/formats/damage_test.h"
#include "hone/formats/npy.h"

namespace hone::formats {
namespace {

using Png = FormatTest;

TEST_F(Png, ReadsEveryColourTypeAndDepth) {
  for (const char* name :
       {"grey1", "grey2", "grey4", "grey8", "grey16", "grey8_key", "grey16_key", "rgb8", "rgb8_key", "rgb16",
        "rgb16_key", "palette2", "palette8_key", "grey_alpha8", "grey_alpha16", "rgba8", "rgba16"}) {
    const Tensor image = read_png(golden(std::string(name) + ".png")),
                 expected = read_npy(golden(std::string(name) + ".png.npy"));
    EXPECT_TRUE(same(image, expected)) << name << "\n" << to_string(image) << "\n" << to_string(expected);
  }
}

TEST_F(Png, WritesWhatItReads) {
  for (const int64_t channels : {1, 2, 3, 4}) {
    std::vector<uint8_t> values(static_cast<size_t>(5 * 7 * channels));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 37);
    const Tensor image = Tensor::from(values, {5, 7, channels});
    write_png(path("a.png"), image);
    EXPECT_TRUE(same(read_png(path("a.png")), image)) << channels;
  }
  write_png(path("a.png"), Tensor::from(std::vector<uint8_t>{1, 2, 3, 4}, {2, 2}));
  EXPECT_EQ(read_png(path("a.png")).shape(), (Shape{2, 2, 1}));
}

TEST_F(Png, RefusesToWriteWhatTheFormatLacks) {
  for (const TensorType& type : {TensorType{f32, {2, 2, 1}}, TensorType{u8, {2, 2, 5}}, TensorType{u8, {2}},
                                 TensorType{u8, {0, 2}}, TensorType{u8, {1, 65536}}}) {
    EXPECT_EQ(error_of([&] { write_png(path("a.png"), Tensor::empty(type)); }).value().code(), Code::kInvalidArgument)
        << to_string(type);
  }
  EXPECT_FALSE(std::filesystem::exists(path("a.png")));
}

TEST_F(Png, SurvivesEveryTruncationAndFlip) {
  for (const char* name : {"grey8", "rgb16_key", "palette8_key"}) {
    const std::string content = read_file(golden(std::string(name) + ".png"));
    const Tensor image = read_png(golden(std::string(name) + ".png"));
    expect_truncation_is_found(path("a"), content, read_png);
    expect_flips_are_survived(path("a"), content, content.size(), read_png,
                              [&](const Tensor& t) { return same(t, image); });
  }
}

uint32_t crc_of(const std::string& text) {
  uint32_t crc = ~0U;
  for (const char c : text) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0);
  }
  return ~crc;
}

TEST_F(Png, RefusesASizeThatTheFileCannotHold) {
  std::string content = read_file(golden("grey8.png"));
  for (const auto& [size, code] : {std::pair{0xffff, Code::kDataLoss}, std::pair{0x10000, Code::kResourceExhausted}}) {
    for (const size_t at : {size_t{16}, size_t{20}}) {
      for (size_t i = 0; i < 4; ++i) content[at + i] = static_cast<char>(size >> (24 - 8 * i));
    }
    const uint32_t crc = crc_of(content.substr(12, 17));
    for (size_t i = 0; i < 4; ++i) content[29 + i] = static_cast<char>(crc >> (24 - 8 * i));
    const std::optional<Error> error = error_of([&] { read_png(file("a", content)); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), code) << error->what();
  }
}

}  // namespace
}  // namespace hone::formats
