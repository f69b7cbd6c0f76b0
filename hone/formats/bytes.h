// What the readers of this folder share: a source of bytes that knows where it stands, and errors that say so.
//
// Readers trust nothing: each length is checked against what the file can hold before memory is taken for it.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hone/base/error.h"
#include "hone/tensor/shape.h"

namespace hone::formats {

static_assert(std::endian::native == std::endian::little);

/// What a message says about its file: "NPY", "data/x.npy", and the unit of offsets ("byte", "decompressed byte").
struct FileContext {
  std::string_view format;
  std::string path;
  std::string_view unit = "byte";

  /// kDataLoss: "damaged NPY file", the path, "at byte 8: DETAIL".
  [[noreturn]] void damaged(uint64_t offset, const std::string& detail) const;
  /// kUnsupported: the file may be well, but Hone does not read it.
  [[noreturn]] void unsupported(uint64_t offset, const std::string& detail, std::string fix) const;
};

/// Bytes that are read once, from the front.
class ByteSource {
 public:
  explicit ByteSource(FileContext context) : context_(std::move(context)) {}
  virtual ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// All `size` bytes, or the Error kDataLoss "the file ends within WHAT".
  void read(void* to, size_t size, std::string_view what);
  /// Error kDataLoss unless all bytes have been read; checks the checksums of compressed content.
  void expect_end();
  uint64_t position() const { return position_; }
  /// A bound of the bytes that are still to come.
  virtual uint64_t at_most() const = 0;
  const FileContext& context() const { return context_; }
  [[noreturn]] void damaged(uint64_t offset, const std::string& detail) const { context_.damaged(offset, detail); }

 protected:
  /// Up to `size` bytes; fewer only at the end.
  virtual size_t read_some(void* to, size_t size) = 0;
  /// Called once, after the last byte.
  virtual void check_end() {}

 private:
  FileContext context_;
  uint64_t position_ = 0;
};

/// Bytes in memory, which must outlive the source.
class SpanSource final : public ByteSource {
 public:
  SpanSource(FileContext context, std::span<const std::byte> bytes) : ByteSource(std::move(context)), left_(bytes) {}
  uint64_t at_most() const override { return left_.size(); }

 private:
  size_t read_some(void* to, size_t size) override;
  std::span<const std::byte> left_;
};

/// Bytes of an array with these extents; nothing where it exceeds 2^60, extents of 0 aside.
std::optional<uint64_t> byte_count(std::span<const uint64_t> extents, size_t item);

/// The shape and the number of bytes of an array that a header declares; damaged at `offset` where `source` cannot hold
/// it, unsupported beyond kMaxRank.
Shape declared_shape(const ByteSource& source, std::span<const uint64_t> extents, DType dtype, uint64_t offset);

/// Reverses the bytes of each item (1, 2, 4 or 8 bytes).
void swap_items(std::byte* data, size_t count, size_t item);

/// Makes each byte 0 or 1, as bool demands.
void normalize_bools(std::byte* data, size_t count);

template <class T>
T load_little(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace hone::formats
