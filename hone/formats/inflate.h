// Deflate and gzip (RFC 1951, RFC 1952), through zlib.
#pragma once
#include <memory>

#include "hone/formats/bytes.h"

namespace hone::formats {

/// Deflate expands by at most this factor: 258 bytes from two bits.
inline constexpr uint64_t kMaxExpansion = 1032;

enum class Wrapping { kGzip, kRaw };

/// Decompresses on the fly; never holds more than a small window. Several gzip members follow one another as one
/// stream; other bytes after them are damage, as are a wrong checksum and an early end.
class InflateSource final : public ByteSource {
 public:
  InflateSource(FileContext context, std::span<const std::byte> compressed, Wrapping wrapping);
  ~InflateSource() override;
  uint64_t at_most() const override;

 private:
  size_t read_some(void* to, size_t size) override;
  void check_end() override;
  void next_member();
  struct State;
  std::unique_ptr<State> state_;
};

bool is_gzip(std::span<const std::byte> bytes);

/// A gzip file of `bytes` without name and time, so that equal content gives equal files.
std::string gzip(std::span<const std::byte> bytes);

}  // namespace hone::formats
