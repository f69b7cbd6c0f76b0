#include "hone/formats/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "hone/base/file.h"
#include "hone/formats/inflate.h"

namespace hone::formats {
namespace {

constexpr uint32_t kLocalMagic = 0x04034b50, kCentralMagic = 0x02014b50, kEndMagic = 0x06054b50;
constexpr uint32_t kEnd64Magic = 0x06064b50, kLocatorMagic = 0x07064b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20;
constexpr uint16_t kZip64Id = 1, kPaddingId = 0xd935;  // the id that Android's zipalign uses for padding
constexpr uint32_t kFull32 = 0xffffffff;
constexpr uint16_t kFull16 = 0xffff;
constexpr uint64_t kAlignment = 64;

uint32_t crc_of(uint32_t crc, std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

/// Fields of a header at a place of the file, all of it known to lie in the file.
class Fields {
 public:
  Fields(std::span<const std::byte> file, const FileContext& context, uint64_t at, size_t size, std::string_view what)
      : at_(at), context_(context) {
    if (at > file.size() || size > file.size() - at) context.damaged(at, fmt::format("the file ends within {}", what));
    bytes_ = file.subspan(at, size);
  }
  void expect_magic(uint32_t magic, std::string_view what) const {
    if (u32(0) != magic) context_.damaged(at_, fmt::format("expected {} ({:08x}), got {:08x}", what, magic, u32(0)));
  }
  uint16_t u16(size_t offset) const { return load_little<uint16_t>(bytes_.data() + offset); }
  uint32_t u32(size_t offset) const { return load_little<uint32_t>(bytes_.data() + offset); }
  uint64_t u64(size_t offset) const { return load_little<uint64_t>(bytes_.data() + offset); }
  std::string_view text(size_t offset, size_t size) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + offset, size};
  }
  uint64_t at() const { return at_; }

 private:
  std::span<const std::byte> bytes_;
  uint64_t at_;
  const FileContext& context_;
};

struct Directory {
  uint64_t count, at, size, end;  // end: where the directory must end
};

class DirectoryParser {
 public:
  DirectoryParser(std::span<const std::byte> file, const FileContext& context) : file_(file), context_(context) {}

  std::vector<ZipMember> parse() {
    const Directory directory = find_directory();
    std::vector<ZipMember> members;
    uint64_t at = directory.at;
    std::unordered_set<std::string> names;
    for (uint64_t i = 0; i < directory.count; ++i) {
      const uint64_t entry = at;
      members.push_back(parse_entry(at, directory));
      if (!names.insert(members.back().name).second)
        context_.damaged(entry, fmt::format("two members are named '{}'", members.back().name));
    }
    if (at != directory.end) context_.damaged(at, fmt::format("the directory should end at byte {}", directory.end));
    check_ranges(members, directory.at);
    return members;
  }

 private:
  Directory find_directory() const {
    for (uint64_t comment = 0; comment <= kFull16 && comment + kEndBytes <= file_.size(); ++comment) {
      const Fields end(file_, context_, file_.size() - comment - kEndBytes, kEndBytes, "the end record");
      if (end.u32(0) != kEndMagic || end.u16(20) != comment) continue;
      if (end.u16(4) != 0 || end.u16(6) != 0 || end.u16(8) != end.u16(10))
        context_.damaged(end.at() + 4, "the archive has several parts");
      Directory directory{end.u16(10), end.u32(16), end.u32(12), end.at()};
      if (directory.count == kFull16 || directory.at == kFull32 || directory.size == kFull32)
        directory = find_directory64(end.at());
      if (directory.at > directory.end || directory.size != directory.end - directory.at) {
        context_.damaged(
            end.at() + 12,
            fmt::format("the directory is said to have {} bytes from byte {} on, but should end at byte {}",
                        directory.size, directory.at, directory.end));
      }
      if (directory.count > directory.size / kCentralBytes) {
        context_.damaged(end.at() + 8,
                         fmt::format("{} members do not fit a directory of {} bytes", directory.count, directory.size));
      }
      return directory;
    }
    context_.damaged(file_.size(), "the end record of a ZIP archive is missing");
  }

  Directory find_directory64(uint64_t end_at) const {
    if (end_at < kLocatorBytes) context_.damaged(end_at, "the ZIP64 locator is missing");
    const Fields locator(file_, context_, end_at - kLocatorBytes, kLocatorBytes, "the ZIP64 locator");
    locator.expect_magic(kLocatorMagic, "the ZIP64 locator");
    const Fields end(file_, context_, locator.u64(8), kEnd64Bytes, "the ZIP64 end record");
    end.expect_magic(kEnd64Magic, "the ZIP64 end record");
    if (end.u64(4) != locator.at() - end.at() - 12)
      context_.damaged(end.at() + 4, "the ZIP64 end record has a wrong size");
    if (locator.u32(4) != 0 || locator.u32(16) > 1 || end.u32(16) != 0 || end.u32(20) != 0 ||
        end.u64(24) != end.u64(32)) {
      context_.damaged(end.at() + 16, "the archive has several parts");
    }
    return {end.u64(32), end.u64(48), end.u64(40), end.at()};
  }

  ZipMember parse_entry(uint64_t& at, const Directory& directory) const {
    const Fields entry(file_, context_, at, kCentralBytes, "the directory");
    entry.expect_magic(kCentralMagic, "a directory entry");
    const uint16_t flags = entry.u16(8), method = entry.u16(10), name_size = entry.u16(28), extra_size = entry.u16(30);
    const size_t size = kCentralBytes + name_size + extra_size + entry.u16(32);
    if (size > directory.end - at) context_.damaged(at + 28, "a directory entry reaches beyond the directory");
    const Fields whole(file_, context_, at, size, "the directory");
    ZipMember member{.name = std::string(whole.text(kCentralBytes, name_size)),
                     .size = entry.u32(24),
                     .compressed = entry.u32(20),
                     .header_at = entry.u32(42),
                     .crc = entry.u32(16),
                     .deflated = method == 8};
    take_zip64(whole, kCentralBytes + name_size, extra_size, member);
    if (flags & 0x2041) {
      context_.unsupported(at + 8, fmt::format("'{}' is encrypted", member.name),
                           "extract it and pack it without a password");
    }
    if (method != 0 && method != 8) {
      context_.unsupported(at + 10, fmt::format("'{}' is compressed with method {}", member.name, method),
                           "use stored or deflated members");
    }
    find_content(member);
    at += size;
    return member;
  }

  void take_zip64(const Fields& entry, size_t offset, size_t left, ZipMember& member) const {
    uint64_t* const wide[] = {&member.size, &member.compressed, &member.header_at};
    bool needed = std::ranges::any_of(wide, [](const uint64_t* v) { return *v == kFull32; });
    while (left >= 4) {
      const size_t id = entry.u16(offset), size = entry.u16(offset + 2);
      if (size > left - 4) break;
      size_t at = offset + 4;
      const size_t end = at + size;
      for (uint64_t* value : wide) {
        if (id != kZip64Id || *value != kFull32) continue;
        if (end - at < 8) context_.damaged(entry.at() + offset, "the ZIP64 sizes are incomplete");
        *value = entry.u64(at);
        at += 8;
        needed = false;
      }
      offset = end;
      left -= size + 4;
    }
    if (left != 0) context_.damaged(entry.at() + offset, "the extra fields of a directory entry are damaged");
    if (needed) context_.damaged(entry.at(), "the ZIP64 sizes are missing");
  }

  void find_content(ZipMember& member) const {
    const Fields local(file_, context_, member.header_at, kLocalBytes, "the header of a member");
    local.expect_magic(kLocalMagic, "the header of a member");
    const uint16_t name_size = local.u16(26);
    const Fields whole(file_, context_, member.header_at, kLocalBytes + name_size + local.u16(28),
                       "the header of a member");
    if (whole.text(kLocalBytes, name_size) != member.name || (local.u16(8) == 8) != member.deflated) {
      context_.damaged(member.header_at,
                       fmt::format("the header of '{}' differs from its directory entry", member.name));
    }
    member.data_at = member.header_at + kLocalBytes + name_size + local.u16(28);
    if (member.compressed > file_.size() - member.data_at) {
      context_.damaged(member.header_at, fmt::format("'{}' reaches beyond the file: {} bytes from byte {} on",
                                                     member.name, member.compressed, member.data_at));
    }
    if (member.deflated ? member.size / kMaxExpansion > member.compressed : member.size != member.compressed) {
      context_.damaged(member.header_at, fmt::format("'{}' cannot have {} bytes, since the file holds {} for it",
                                                     member.name, member.size, member.compressed));
    }
  }

  void check_ranges(const std::vector<ZipMember>& members, uint64_t directory_at) const {
    std::vector<const ZipMember*> sorted;
    for (const ZipMember& member : members) sorted.push_back(&member);
    std::ranges::sort(sorted, {}, &ZipMember::header_at);
    for (size_t i = 0; i < sorted.size(); ++i) {
      const uint64_t end = sorted[i]->data_at + sorted[i]->compressed;
      if (end > (i + 1 < sorted.size() ? sorted[i + 1]->header_at : directory_at)) {
        context_.damaged(sorted[i]->header_at, fmt::format("'{}' overlaps what follows it", sorted[i]->name));
      }
    }
  }

  std::span<const std::byte> file_;
  const FileContext& context_;
};

/// Counts and checks the content of a member while it passes.
class MemberSource final : public ByteSource {
 public:
  MemberSource(FileContext context, const ZipMember& member, std::unique_ptr<ByteSource> inner)
      : ByteSource(std::move(context)), inner_(std::move(inner)), left_(member.size), expected_(member.crc) {}
  uint64_t at_most() const override { return left_; }

 private:
  size_t read_some(void* to, size_t size) override {
    const size_t count = std::min<uint64_t>(size, left_);
    inner_->read(to, count, "a member");
    crc_ = crc_of(crc_, {static_cast<const std::byte*>(to), count});
    left_ -= count;
    return count;
  }
  void check_end() override {
    inner_->expect_end();
    if (crc_ != expected_)
      damaged(position(), fmt::format("expected the checksum {:08x}, got {:08x}", expected_, crc_));
  }
  std::unique_ptr<ByteSource> inner_;
  uint64_t left_;
  uint32_t expected_, crc_ = 0;
};

FileContext zip_context(const std::string& path) { return {"ZIP", path}; }

}  // namespace

ZipReader::ZipReader(const std::string& path) : file_(std::make_shared<const MappedFile>(path)), path_(path) {
  members_ = DirectoryParser(file_->bytes(), zip_context(path)).parse();
}

const ZipMember* ZipReader::find(std::string_view name) const {
  const auto at = std::ranges::find(members_, name, &ZipMember::name);
  return at == members_.end() ? nullptr : &*at;
}

std::unique_ptr<ByteSource> ZipReader::open(const ZipMember& member) const {
  const FileContext context{"ZIP", path_ + ", member " + member.name,
                            member.deflated ? "decompressed byte" : "byte of the member"};
  const std::span<const std::byte> bytes = file_->bytes().subspan(member.data_at, member.compressed);
  std::unique_ptr<ByteSource> inner;
  if (member.deflated) {
    inner = std::make_unique<InflateSource>(context, bytes, Wrapping::kRaw);
  } else {
    inner = std::make_unique<SpanSource>(context, bytes);
  }
  return std::make_unique<MemberSource>(context, member, std::move(inner));
}

std::string ZipReader::read(const ZipMember& member, uint64_t limit) const {
  if (member.size > limit) {
    throw Error(Code::kResourceExhausted,
                {.what = fmt::format("'{}' is too large", member.name),
                 .details = {"file: " + path_, fmt::format("expected at most {} bytes, got {}", limit, member.size)}});
  }
  std::string content(member.size, '\0');
  const std::unique_ptr<ByteSource> source = open(member);
  source->read(content.data(), content.size(), "a member");
  source->expect_end();
  return content;
}

std::span<const std::byte> ZipReader::stored(const ZipMember& member) const {
  if (member.deflated) {
    zip_context(path_).unsupported(member.header_at, fmt::format("'{}' is compressed", member.name),
                                   "pack it without compression");
  }
  return file_->bytes().subspan(member.data_at, member.compressed);
}

namespace {

void put16(std::string& out, uint64_t value) {
  out.append({static_cast<char>(value & 255), static_cast<char>(value >> 8 & 255)});
}
void put32(std::string& out, uint64_t value) { put16(out, value & kFull16), put16(out, value >> 16); }
void put64(std::string& out, uint64_t value) { put32(out, value & kFull32), put32(out, value >> 32); }

struct Written {
  const std::string* name;
  uint64_t size = 0, at = 0;
  uint32_t crc = 0;
  bool wide = false;  // needs ZIP64 fields
};

/// Version to extract, flags (names are UTF-8), method, time (1 January 1980), CRC, sizes: the same in both headers.
void put_common(std::string& out, const Written& member) {
  const uint64_t size = member.wide ? kFull32 : member.size;
  put16(out, member.wide ? 45 : 20), put16(out, 0x800), put16(out, 0), put16(out, 0), put16(out, 0x21);
  put32(out, member.crc), put32(out, size), put32(out, size), put16(out, member.name->size());
}

std::string local_header(const Written& member) {
  std::string extra;
  if (member.wide) put16(extra, kZip64Id), put16(extra, 16), put64(extra, member.size), put64(extra, member.size);
  const uint64_t unpadded = member.at + kLocalBytes + member.name->size() + extra.size() + 4;
  const uint64_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;
  put16(extra, kPaddingId), put16(extra, padding), extra.append(padding, '\0');
  std::string out;
  put32(out, kLocalMagic), put_common(out, member), put16(out, extra.size());
  return out + *member.name + extra;
}

std::string central_entry(const Written& member) {
  std::string extra, out;
  if (member.wide)
    put16(extra, kZip64Id), put16(extra, 24), put64(extra, member.size), put64(extra, member.size),
        put64(extra, member.at);
  put32(out, kCentralMagic), put16(out, 45), put_common(out, member), put16(out, extra.size());
  put16(out, 0), put16(out, 0), put16(out, 0), put32(out, 0), put32(out, member.wide ? kFull32 : member.at);
  return out + *member.name + extra;
}

std::string end_records(uint64_t count, uint64_t at, uint64_t size, bool wide) {
  std::string out;
  if (wide) {
    put32(out, kEnd64Magic), put64(out, kEnd64Bytes - 12), put16(out, 45), put16(out, 45), put32(out, 0), put32(out, 0);
    put64(out, count), put64(out, count), put64(out, size), put64(out, at);
    put32(out, kLocatorMagic), put32(out, 0), put64(out, at + size), put32(out, 1);
  }
  const uint64_t short_count = wide ? kFull16 : count;
  put32(out, kEndMagic), put16(out, 0), put16(out, 0), put16(out, short_count), put16(out, short_count);
  put32(out, wide ? kFull32 : size), put32(out, wide ? kFull32 : at), put16(out, 0);
  return out;
}

void check_names(const std::string& path, std::span<const ZipContent> contents) {
  std::unordered_set<std::string_view> names;
  for (const ZipContent& content : contents) {
    const bool fresh = names.insert(content.name).second;
    if (fresh && content.name.size() < kFull16) continue;
    throw Error(Code::kInvalidArgument, {.what = fresh ? "the name of a member is longer than 65534 bytes"
                                                       : fmt::format("two members are named '{}'", content.name),
                                         .details = {"file: " + path},
                                         .fix = fresh ? "shorten it" : "give each its own name"});
  }
}

}  // namespace

void write_zip(const std::string& path, std::span<const ZipContent> contents, Zip64 zip64) {
  check_names(path, contents);
  write_file_atomic(path, [&](FileWriter& writer) {
    std::string directory;
    for (const ZipContent& content : contents) {
      Written member{.name = &content.name, .at = writer.position()};
      for (const std::span<const std::byte> piece : content.pieces) {
        member.size += piece.size();
        member.crc = crc_of(member.crc, piece);
      }
      member.wide = zip64 == Zip64::kAlways || member.size >= kFull32 || member.at >= kFull32;
      writer.write(local_header(member));
      for (const std::span<const std::byte> piece : content.pieces) writer.write(piece.data(), piece.size());
      directory += central_entry(member);
    }
    const uint64_t at = writer.position();
    const bool wide =
        zip64 == Zip64::kAlways || contents.size() >= kFull16 || at >= kFull32 || directory.size() >= kFull32;
    writer.write(directory);
    writer.write(end_records(contents.size(), at, directory.size(), wide));
  });
}

}  // namespace hone::formats
