#include "hone/formats/npy.h"

#include "hone/formats/damage_test.h"
#include "hone/formats/zip.h"
#include "hone/tensor/half.h"

namespace hone::formats {
namespace {

using Npy = FormatTest;
using Npz = FormatTest;
using namespace std::string_literals;

constexpr DType kAll[] = {f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool_};

std::string numpy_name(DType dtype) {
  if (dtype == bool_) return "bool";
  const std::string bits = std::to_string(8 * size_of(dtype));
  return (dtype == bf16 ? "bfloat" : is_floating(dtype) ? "float" : is_signed_integer(dtype) ? "int" : "uint") + bits;
}

/// What make_formats.py's values() gives.
Tensor expected_values(DType dtype) {
  Tensor out = Tensor::empty({dtype, {2, 3}});
  visit_dtype(dtype, [&](auto kind) {
    using T = decltype(kind);
    auto* to = reinterpret_cast<T*>(out.mutable_bytes());
    for (int i = 0; i < 6; ++i) {
      if constexpr (std::is_same_v<T, Float16>)
        to[i] = to_float16(static_cast<float>(i - 2));
      else if constexpr (std::is_same_v<T, BFloat16>)
        to[i] = to_bfloat16(static_cast<float>(i - 2));
      else if constexpr (std::is_same_v<T, bool>)
        to[i] = i % 2 == 1;
      else
        to[i] = static_cast<T>(std::is_unsigned_v<T> ? i : i - 2);
    }
  });
  return out;
}

TEST_F(Npy, ReadsNumPysFilesAndWritesThemByteForByte) {
  for (const DType dtype : kAll) {
    const std::string name = golden(numpy_name(dtype) + ".npy");
    const Tensor tensor = read_npy(name);
    EXPECT_TRUE(same(tensor, expected_values(dtype))) << name;
    write_npy(path("out.npy"), tensor);
    EXPECT_EQ(read_file(path("out.npy")), read_file(name)) << name;
  }
  for (const char* name : {"scalar.npy", "empty.npy"}) {
    write_npy(path("out.npy"), read_npy(golden(name)));
    EXPECT_EQ(read_file(path("out.npy")), read_file(golden(name))) << name;
  }
}

TEST_F(Npy, ReadsAllVersionsOrdersAndByteOrders) {
  EXPECT_TRUE(same(read_npy(golden("version2.npy")), expected_values(i32)));
  EXPECT_TRUE(same(read_npy(golden("version3.npy")), expected_values(i32)));
  EXPECT_TRUE(same(read_npy(golden("big_endian.npy")), expected_values(f32)));
  std::vector<int32_t> ramp(24);
  for (int i = 0; i < 24; ++i) ramp[static_cast<size_t>(i)] = i - 2;
  EXPECT_TRUE(same(read_npy(golden("fortran.npy")), Tensor::from(ramp, {2, 3, 4})));
}

TEST_F(Npy, RefusesWhatIsNoPlainArrayAndSaysWhy) {
  const struct {
    const char *name, *expected;
  } kCases[] = {{"object.npy", "Python objects, which run code"},
                {"complex.npy", "complex numbers"},
                {"record.npy", "records of several fields"},
                {"text.npy", "the items have the type '<U2'"}};
  for (const auto& [name, expected] : kCases) {
    const std::optional<Error> error = error_of([&] { read_npy(golden(name)); });
    ASSERT_TRUE(error) << name;
    EXPECT_EQ(error->code(), Code::kUnsupported);
    EXPECT_NE(std::string(error->what()).find(expected), std::string::npos) << error->what();
  }
}

std::string with_header(const std::string& dictionary, const std::string& data) {
  return "\x93NUMPY\x01\0"s + static_cast<char>(dictionary.size()) + '\0' + dictionary + data;
}

TEST_F(Npy, TakesAnySpellingOfTheHeader) {
  const Tensor expected = Tensor::of<int16_t>({258});
  for (const char* dictionary : {"{\"shape\":(1,),'fortran_order':True,'descr':'>i2'}",
                                 "{'descr': '>i2' , 'shape' : ( 1L , ) , 'fortran_order':False,}  \n",
                                 "{'shape': (1), 'descr': '>i2', 'fortran_order': False}"}) {
    EXPECT_TRUE(same(read_npy(file("a", with_header(dictionary, "\x01\x02"))), expected)) << dictionary;
  }
}

TEST_F(Npy, SaysWhatIsWrongWithTheHeader) {
  const std::string rest = ", 'fortran_order': False, 'descr': '|u1'}";
  const struct {
    std::string dictionary, expected;
  } kCases[] = {
      {"{'shape': (3,)", "at byte 24: expected '}' in the header, got its end"},
      {"{'shape': (3,), 'shape': (3,)" + rest, "at byte 26: the key 'shape' is there twice"},
      {"{'shape': (3,), 'size': 3" + rest, "at byte 26: the key 'size' is unknown"},
      {"{'shape': (-3,)" + rest, "at byte 21: expected an extent in the header, got '-'"},
      {"{'shape': (99999999999999999999,)" + rest, "expected an extent"},
      {"{'shape': (4294967296, 4294967296, 4294967296)" + rest,
       "the header declares u8[4294967296,4294967296,4294967296]"},
      {"{'shape': (0, 4294967296, 4294967296, 4294967296)" + rest, "the header declares u8[0,"},
      {"{'shape': (4,)" + rest, "the header declares u8[4], but the file can hold at most 3"},
      {"{'shape': (2,)" + rest, "expected the end"},
      {"{'shape': (3,), 'fortran_order': 0, 'descr': '|u1'}", "expected True or False"},
      {"{'shape': (3,), 'fortran_order': False}", "expected the keys"},
      {"{'shape': (3,), 'fortran_order': False, 'descr': 'q'}", "which NumPy does not have"},
      {"{'shape': (3,), 'fortran_order': False, 'descr': '|u1}", "a string in the header has no end"},
      {"{'shape': (3,)" + rest + "}", "the header goes on after its dictionary"},
  };
  for (const auto& [dictionary, expected] : kCases) {
    const std::optional<Error> error = error_of([&] { read_npy(file("a", with_header(dictionary, "abc"))); });
    ASSERT_TRUE(error) << expected;
    EXPECT_EQ(error->code(), Code::kDataLoss);
    EXPECT_NE(std::string(error->what()).find(expected), std::string::npos) << error->what();
  }
  EXPECT_NE(std::string(error_of([&] { read_npy(file("a", "\x93NUMPY\x04\0"s)); }).value().what()).find("got 4.0"),
            std::string::npos);
}

TEST_F(Npy, MakesEachBoolZeroOrOne) {
  const std::string content = with_header("{'shape': (3,), 'fortran_order': False, 'descr': '|b1'}", "\0\x02\xff"s);
  EXPECT_EQ(read_npy(file("a", content)).to_vector<bool>(), (std::vector<bool>{false, true, true}));
}

TEST_F(Npy, SurvivesEveryTruncationAndFlip) {
  const std::string content = read_file(golden("int16.npy"));
  expect_truncation_is_found(path("a"), content, read_npy);
  expect_flips_are_survived(path("a"), content, content.size(), read_npy,
                            [&](const Tensor& t) { return t.bytes() <= content.size(); });
}

TEST_F(Npz, ReadsNumPysArchives) {
  const NamedTensors stored = read_npz(golden("stored.npz")), deflated = read_npz(golden("deflated.npz"));
  ASSERT_EQ(stored.size(), 2U);
  ASSERT_EQ(deflated.size(), 3U);
  EXPECT_EQ(stored[0].first, "weights");
  EXPECT_EQ(stored[1].first, "layer/bias");
  for (const NamedTensors& content : {stored, deflated}) {
    EXPECT_TRUE(same(find(content, "weights"), expected_values(f32)));
    EXPECT_TRUE(same(find(content, "layer/bias"), Tensor::of<int64_t>({-2, -1, 0, 1})));
  }
  EXPECT_EQ(find(deflated, "zeros").to_vector<float>(), std::vector<float>(4096));
  EXPECT_EQ(error_of([&] { read_npz(golden("object.npz")); }).value().code(), Code::kUnsupported);
  const Error missing = error_of([&] { find(stored, "bias"); }).value();
  EXPECT_EQ(missing.code(), Code::kNotFound);
  EXPECT_NE(std::string(missing.what()).find("names: weights, layer/bias"), std::string::npos);
}

TEST_F(Npz, WritesWhatItReads) {
  NamedTensors content;
  for (const DType dtype : kAll) content.emplace_back(name(dtype), expected_values(dtype));
  write_npz(path("a.npz"), content);
  const NamedTensors back = read_npz(path("a.npz"));
  ASSERT_EQ(back.size(), content.size());
  for (size_t i = 0; i < back.size(); ++i) {
    EXPECT_EQ(back[i].first, content[i].first);
    EXPECT_TRUE(same(back[i].second, content[i].second)) << back[i].first;
  }
  write_npz(path("empty.npz"), {});
  EXPECT_TRUE(read_npz(path("empty.npz")).empty());
  EXPECT_EQ(error_of([&] { write_npz(path("a.npz"), {content[0], content[0]}); }).value().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(read_npz(path("a.npz")).size(), content.size());
}

TEST_F(Npz, SurvivesEveryTruncationAndFlip) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const std::string content = read_file(golden(name));
    const NamedTensors whole = read_npz(golden(name));
    expect_truncation_is_found(path("a"), content, read_npz);
    expect_flips_are_survived(path("a"), content, content.size(), read_npz, [&](const NamedTensors& t) {
      for (size_t i = 0; i < t.size(); ++i) {
        if (!same(t[i].second, whole[i].second)) return false;
      }
      return t.size() == whole.size();
    });
  }
}

}  // namespace
}  // namespace hone::formats
