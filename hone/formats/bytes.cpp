#include "hone/formats/bytes.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::formats {

void FileContext::damaged(uint64_t offset, const std::string& detail) const {
  throw Error(Code::kDataLoss, {.what = fmt::format("damaged {} file", format),
                                .details = {"file: " + path, fmt::format("at {} {}: {}", unit, offset, detail)},
                                .fix = "the file is incomplete or altered: copy, download or write it again"});
}

void FileContext::unsupported(uint64_t offset, const std::string& detail, std::string fix) const {
  throw Error(Code::kUnsupported, {.what = fmt::format("{} file of an unsupported kind", format),
                                   .details = {"file: " + path, fmt::format("at {} {}: {}", unit, offset, detail)},
                                   .fix = std::move(fix)});
}

ByteSource::~ByteSource() = default;

void ByteSource::read(void* to, size_t size, std::string_view what) {
  const size_t got = size == 0 ? 0 : read_some(to, size);
  position_ += got;
  if (got < size) {
    damaged(position_, fmt::format("the file ends within {}; expected {} more bytes, got {}", what, size, got));
  }
}

void ByteSource::expect_end() {
  std::byte more;
  if (read_some(&more, 1) != 0) damaged(position_, "expected the end, got more bytes than the header declares");
  check_end();
}

size_t SpanSource::read_some(void* to, size_t size) {
  const size_t count = std::min(size, left_.size());
  if (count != 0) std::memcpy(to, left_.data(), count);
  left_ = left_.subspan(count);
  return count;
}

std::optional<uint64_t> byte_count(std::span<const uint64_t> extents, size_t item) {
  constexpr uint64_t kLimit = uint64_t{1} << 60;
  uint64_t bytes = item;
  bool empty = false;
  for (const uint64_t extent : extents) {
    if (extent == 0) {
      empty = true;
    } else if (extent > kLimit / bytes) {
      return std::nullopt;
    } else {
      bytes *= extent;
    }
  }
  return empty ? 0 : bytes;
}

Shape declared_shape(const ByteSource& source, std::span<const uint64_t> extents, DType dtype, uint64_t offset) {
  if (extents.size() > kMaxRank) {
    source.context().unsupported(
        offset, fmt::format("the array has {} axes; at most {} are supported", extents.size(), kMaxRank),
        "join axes before the array is written");
  }
  const std::optional<uint64_t> bytes = byte_count(extents, size_of(dtype));
  if (!bytes || *bytes > source.at_most()) {
    source.damaged(offset, fmt::format("the header declares {}[{}], but the file can hold at most {} bytes of it",
                                       name(dtype), fmt::join(extents, ","), source.at_most()));
  }
  Shape shape;
  for (const uint64_t extent : extents) shape.push_back(static_cast<int64_t>(extent));
  return shape;
}

void swap_items(std::byte* data, size_t count, size_t item) {
  for (size_t i = 0; i < count && item > 1; ++i) std::reverse(data + i * item, data + (i + 1) * item);
}

void normalize_bools(std::byte* data, size_t count) {
  for (size_t i = 0; i < count; ++i) data[i] = std::byte{data[i] != std::byte{0}};
}

}  // namespace hone::formats
