#include "hone/formats/idx.h"

#include <fmt/format.h>

#include <limits>
#include <vector>

#include "hone/base/file.h"
#include "hone/formats/inflate.h"

namespace hone::formats {
namespace {

struct IdxType {
  uint8_t code;
  DType dtype;
};
constexpr IdxType kTypes[] = {{0x08, u8}, {0x09, i8}, {0x0B, i16}, {0x0C, i32}, {0x0D, f32}, {0x0E, f64}};

template <class T>
T big_endian(T value) {
  swap_items(reinterpret_cast<std::byte*>(&value), 1, sizeof value);
  return value;
}

Tensor parse(ByteSource& source) {
  uint8_t magic[4];
  source.read(magic, sizeof magic, "the magic number");
  if (magic[0] != 0 || magic[1] != 0) {
    source.damaged(0, fmt::format("expected 00 00, got {:02x} {:02x}: not an IDX file", magic[0], magic[1]));
  }
  const IdxType* type = std::ranges::find(kTypes, magic[2], &IdxType::code);
  if (type == std::end(kTypes)) {
    source.damaged(2, fmt::format("expected a type of 08, 09, 0b, 0c, 0d or 0e, got {:02x}", magic[2]));
  }
  std::vector<uint64_t> extents;
  for (int axis = 0; axis < magic[3]; ++axis) {
    uint32_t extent = 0;
    source.read(&extent, sizeof extent, fmt::format("the extents of {} axes", magic[3]));
    extents.push_back(big_endian(extent));
  }
  Tensor out = Tensor::empty({type->dtype, declared_shape(source, extents, type->dtype, 4)});
  source.read(out.mutable_bytes(), out.bytes(), fmt::format("the elements of {}", to_string(out.type())));
  source.expect_end();
  swap_items(out.mutable_bytes(), static_cast<size_t>(out.size()), size_of(type->dtype));
  return out;
}

}  // namespace

Tensor read_idx(const std::string& path) {
  const MappedFile file(path);
  if (is_gzip(file.bytes())) {
    InflateSource source({"IDX", path, "decompressed byte"}, file.bytes(), Wrapping::kGzip);
    return parse(source);
  }
  SpanSource source({"IDX", path}, file.bytes());
  return parse(source);
}

void write_idx(const std::string& path, const Tensor& tensor) {
  const IdxType* type = std::ranges::find(kTypes, tensor.dtype(), &IdxType::dtype);
  const auto too_long = [](Dim d) { return d.number() > std::numeric_limits<uint32_t>::max(); };
  if (type == std::end(kTypes) || std::ranges::any_of(tensor.shape(), too_long)) {
    throw Error(Code::kInvalidArgument,
                {.what = "an IDX file cannot hold " + to_string(tensor.type()),
                 .details = {"file: " + path},
                 .fix = "IDX has u8, i8, i16, i32, f32 and f64 and extents below 2^32: convert it or use NPY"});
  }
  std::string content{'\0', '\0', static_cast<char>(type->code), static_cast<char>(tensor.rank())};
  for (const Dim d : tensor.shape()) {
    const auto extent = big_endian(static_cast<uint32_t>(d.number()));
    content.append(reinterpret_cast<const char*>(&extent), sizeof extent);
  }
  const size_t header = content.size();
  content.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
  swap_items(reinterpret_cast<std::byte*>(content.data()) + header, static_cast<size_t>(tensor.size()),
             size_of(tensor.dtype()));
  write_file_atomic(path, path.ends_with(".gz") ? gzip(std::as_bytes(std::span(content))) : content);
}

}  // namespace hone::formats
