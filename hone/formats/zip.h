// ZIP archives (APPNOTE 6.3): stored and deflated members, ZIP64. One disk, no encryption, nothing before the first
// member.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hone/formats/bytes.h"

namespace hone {
class MappedFile;
}

namespace hone::formats {

struct ZipMember {
  std::string name;
  uint64_t size = 0;        ///< of the content
  uint64_t compressed = 0;  ///< bytes in the file
  uint64_t header_at = 0;   ///< where the member begins in the file
  uint64_t data_at = 0;     ///< where its content begins
  uint32_t crc = 0;
  bool deflated = false;
};

/// The members of an archive, in the order of its directory. The constructor checks the directory: names are unique,
/// members neither overlap nor reach beyond the file, and no size exceeds what deflate can expand to. Thread-safe.
/// Errors: kNotFound, kDataLoss, kUnsupported (encryption, other compressions).
class ZipReader {
 public:
  explicit ZipReader(const std::string& path);
  const std::vector<ZipMember>& members() const { return members_; }
  /// The member with this name or null.
  const ZipMember* find(std::string_view name) const;
  /// Its content as a stream; expect_end() checks the CRC. The reader must outlive it.
  std::unique_ptr<ByteSource> open(const ZipMember& member) const;
  /// The whole content, with its CRC checked. Members larger than `limit` are refused (kResourceExhausted).
  std::string read(const ZipMember& member, uint64_t limit = uint64_t{1} << 30) const;
  /// The content of a stored member without copy and without checking its CRC, as long as file() lives.
  std::span<const std::byte> stored(const ZipMember& member) const;
  std::shared_ptr<const MappedFile> file() const { return file_; }

 private:
  std::shared_ptr<const MappedFile> file_;
  std::string path_;
  std::vector<ZipMember> members_;
};

struct ZipContent {
  std::string name;
  std::vector<std::span<const std::byte>> pieces;  ///< written one after another; must stay valid during the call
};

enum class Zip64 { kWhereNeeded, kAlways };

/// Writes an archive atomically: stored, without times, each content at a multiple of 64 bytes, so that a mapping of
/// the file holds aligned arrays. Error kInvalidArgument for two equal names.
void write_zip(const std::string& path, std::span<const ZipContent> contents, Zip64 zip64 = Zip64::kWhereNeeded);

}  // namespace hone::formats
