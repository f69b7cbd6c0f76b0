#include "hone/formats/safetensors.h"

#include "hone/device/device.h"
#include "hone/formats/damage_test.h"
#include "hone/formats/npy.h"
#include "hone/formats/zip.h"

namespace hone::formats {
namespace {

using Safetensors = FormatTest;

std::string with_header(const std::string& header, const std::string& data = "") {
  const uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), 8) + header + data;
}

TEST_F(Safetensors, ReadsTheReferencePackagesFile) {
  const SafeTensors file = read_safetensors(golden("all.safetensors"));
  EXPECT_EQ(file.tensors.size(), 15U);
  for (const auto& [name, tensor] : file.tensors) {
    if (name == "scalar") {
      EXPECT_EQ(tensor.rank(), 0);
      EXPECT_EQ(tensor.item<double>(), 2.5);
    } else if (name == "empty") {
      EXPECT_EQ(tensor.shape(), (Shape{0, 3}));
    } else {
      EXPECT_TRUE(same(tensor, read_npy(golden(name + ".npy")))) << name;
    }
  }
  const Metadata expected = {{"format", "np"}, {"note", "quote \" and \xc3\xbc"}};
  Metadata metadata = file.metadata;
  std::ranges::sort(metadata);
  EXPECT_EQ(metadata, expected);
}

TEST_F(Safetensors, WritesWhatItReadsInTheSameOrder) {
  const SafeTensors first = read_safetensors(golden("all.safetensors"));
  write_safetensors(path("a"), first.tensors, first.metadata);
  const SafeTensors second = read_safetensors(path("a"));
  EXPECT_EQ(second.metadata, first.metadata);
  ASSERT_EQ(second.tensors.size(), first.tensors.size());
  for (size_t i = 0; i < first.tensors.size(); ++i) {
    EXPECT_EQ(second.tensors[i].first, first.tensors[i].first);
    EXPECT_TRUE(same(second.tensors[i].second, first.tensors[i].second)) << first.tensors[i].first;
  }
  write_safetensors(path("empty"), {});
  EXPECT_EQ(read_file(path("empty")), with_header("{}      "));
  EXPECT_TRUE(read_safetensors(path("empty")).tensors.empty());
}

TEST_F(Safetensors, ArraysLookIntoTheMappingAndKeepIt) {
  write_safetensors(path("a"), {{"odd", Tensor::of<uint8_t>({1, 2, 3})}, {"wide", Tensor::of<double>({4, 5})}});
  const size_t before = memory_stats().in_use;
  SafeTensors content = read_safetensors(path("a"));
  EXPECT_EQ(memory_stats().in_use, before);
  const Tensor wide = find(content.tensors, "wide");
  content = {};
  std::filesystem::remove(path("a"));
  EXPECT_FALSE(wide.exclusive());
  EXPECT_EQ(wide.to_vector<double>(), (std::vector<double>{4, 5}));
}

TEST_F(Safetensors, CopiesWhatLiesUnaligned) {
  const std::string header =
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})";
  const SafeTensors content = read_safetensors(file("a", with_header(header, std::string("\x07\0\0\x80\x3f", 5))));
  EXPECT_EQ(find(content.tensors, "b").item<float>(), 1.0F);
}

TEST_F(Safetensors, HoldsTheRulesOfTheFormat) {
  const std::string a = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  const struct {
    std::string content, expected;
  } kCases[] = {
      {"abc", "at byte 3: the file ends within the length"},
      {std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}"), "the header is said to have 9223372036854775807 bytes"},
      {with_header(" {}"), "expected the header to begin with '{'"},
      {with_header("{} x"), "the header is not valid JSON"},
      {with_header("{\"\xff\":1}"), "the header is not valid JSON"},
      {with_header("{" + a + "," + a + "}", "xy"), "the name 'a' is there twice"},
      {with_header("{" + a + "}", "xyz"), "1 bytes follow the last array"},
      {with_header("{" + a + "}", "x"), "'a': U8[2] does not fit data_offsets [0, 2] of 1 bytes"},
      {with_header(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", "xyz"), "a hole or an overlap"},
      {with_header("{" + a + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", "xyz"),
       "a hole or an overlap"},
      {with_header(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,2]}})", "xy"), "U8[3] does not fit"},
      {with_header(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}})", "xy"),
       "does not fit data_offsets [2, 0]"},
      {with_header(R"({"a":{"dtype":"U8","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,0]}})"),
       "does not fit"},
      {with_header(R"({"a":{"dtype":"U8","shape":[0,4294967296,4294967296,4294967296],"data_offsets":[0,0]}})"),
       "does not fit"},
      {with_header(R"({"a":{"dtype":"U8","shape":[-2],"data_offsets":[0,2]}})", "xy"), "a negative number"},
      {with_header(R"({"a":{"dtype":"U8","shape":[2.0],"data_offsets":[0,2]}})", "xy"), "a fractional number"},
      {with_header(R"({"a":{"dtype":"U8","shape":[[2]],"data_offsets":[0,2]}})", "xy"), "an array stands where"},
      {with_header(R"({"a":{"dtype":"U8","shape":2,"data_offsets":[0,2]}})", "xy"), "a number stands where"},
      {with_header(R"({"a":{"dtype":"U8","data_offsets":[0,2]}})", "xy"), "expected dtype, shape and data_offsets"},
      {with_header(R"({"a":{"dtype":"U8","dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "xy"),
       "the field 'dtype' is there twice"},
      {with_header(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2],"x":{}}})", "xy"),
       "the field 'x' is unknown"},
      {with_header(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0]}})", "xy"), "expected two data_offsets, got 1"},
      {with_header(R"({"__metadata__":{"a":1}})"), "a number stands where"},
      {with_header(R"({"__metadata__":{"a":"1","a":"2"}})"), "the metadata key 'a' is there twice"},
      {with_header(R"({"a":5})"), "a number stands where"},
      {with_header("{\"a\":" + std::string(100000, '{')), "the header is not valid JSON"},
  };
  for (const auto& [content, expected] : kCases) {
    const std::optional<Error> error = error_of([&] { read_safetensors(file("a", content)); });
    ASSERT_TRUE(error) << expected;
    EXPECT_EQ(error->code(), Code::kDataLoss);
    EXPECT_NE(std::string(error->what()).find(expected), std::string::npos) << error->what();
  }
  const Error type =
      error_of([&] {
        read_safetensors(file("a", with_header(R"({"a":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}})", "xy")));
      }).value();
  EXPECT_EQ(type.code(), Code::kUnsupported);
}

TEST_F(Safetensors, RefusesToWriteWhatTheFormatLacks) {
  const Tensor x(1.0F);
  for (const auto& [tensors, metadata] : std::vector<std::pair<NamedTensors, Metadata>>{{{{"a", x}, {"a", x}}, {}},
                                                                                        {{{"__metadata__", x}}, {}},
                                                                                        {{{"\xff", x}}, {}},
                                                                                        {{}, {{"a", "1"}, {"a", "2"}}},
                                                                                        {{}, {{"a", "\xff"}}}}) {
    EXPECT_EQ(error_of([&] { write_safetensors(path("a"), tensors, metadata); }).value().code(),
              Code::kInvalidArgument);
  }
  EXPECT_FALSE(std::filesystem::exists(path("a")));
}

TEST_F(Safetensors, LiesInAZipAsInAFile) {
  const NamedTensors tensors = {{"w", Tensor::of<float>({1, 2, 3})},
                                {"flags", Tensor::from(std::vector<bool>{true, false}, {2})}};
  const SafeTensorsPieces pieces = safetensors_pieces(tensors);
  ZipContent member{"model.safetensors", {std::as_bytes(std::span(pieces.header))}};
  member.pieces.insert(member.pieces.end(), pieces.data.begin(), pieces.data.end());
  write_zip(path("bundle.zip"), std::vector{member});
  const ZipReader zip(path("bundle.zip"));
  const SafeTensors back = parse_safetensors(zip.stored(zip.members()[0]), zip.file(), "bundle");
  ASSERT_EQ(back.tensors.size(), 2U);
  EXPECT_TRUE(same(find(back.tensors, "w"), tensors[0].second));
  EXPECT_TRUE(same(find(back.tensors, "flags"), tensors[1].second));
}

TEST_F(Safetensors, SurvivesEveryTruncationAndFlip) {
  const std::string content = read_file(golden("all.safetensors"));
  write_safetensors(path("small"),
                    {{"a", Tensor::of<float>({1, 2})}, {"b", Tensor::from(std::vector<bool>{true}, {1, 1})}},
                    {{"k", "v"}});
  for (const std::string& whole : {content, read_file(path("small"))}) {
    expect_truncation_is_found(path("a"), whole, read_safetensors);
    expect_flips_are_survived(path("a"), whole, whole.size(), read_safetensors, [&](const SafeTensors& t) {
      size_t bytes = 0;
      for (const auto& [name, tensor] : t.tensors) {
        bytes += tensor.bytes();
        for (size_t i = 0; tensor.dtype() == bool_ && i < tensor.bytes(); ++i) {
          if (static_cast<const uint8_t*>(tensor.raw())[i] > 1) return false;
        }
      }
      return bytes < whole.size();
    });
  }
}

}  // namespace
}  // namespace hone::formats
