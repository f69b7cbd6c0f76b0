// Whole files: reading, mapping, and writing so that a reader sees the old or the new content and never a part of it.
//
// Errors (hone/base/error.h) name the file: kNotFound (missing file or folder), kResourceExhausted (full disk, quota,
// size limit), kFailedPrecondition (no permission, read-only), kInvalidArgument (a folder where a file is expected),
// kDataLoss (the device failed).
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "hone/base/function_ref.h"

namespace hone {

/// Throws the Error for a failed system call: "cannot read FILE: No such file or directory", with a fix. `error` is
/// errno.
[[noreturn]] void throw_file_error(std::string_view verb, const std::string& path, int error);

/// The bytes of a file; pipes and devices are read to their end. kResourceExhausted if there are more than `limit`.
std::string read_file(const std::string& path, size_t limit = std::numeric_limits<size_t>::max());

/// A file mapped for reading. The file must not be truncated while it is mapped (the kernel answers with SIGBUS);
/// replacing it by rename, as write_file_atomic does, is safe.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

/// Where write_file_atomic's caller puts the content; buffered.
class FileWriter {
 public:
  FileWriter(int file, const std::string& path) : file_(file), path_(path) {}
  void write(const void* data, size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Bytes written so far.
  uint64_t position() const { return position_; }
  void flush();

 private:
  void write_through(const char* data, size_t size);
  int file_;
  const std::string& path_;
  uint64_t position_ = 0;
  std::string buffer_;
};

/// Writes a file in whole: into a temporary file of the same folder, then fsync, rename, fsync of the folder. On any
/// error, also one thrown by `content`, the temporary file is removed and an old file at `path` is as it was. A
/// symbolic link is followed; an old file's permissions are kept. Two writers at once: the last rename wins.
void write_file_atomic(const std::string& path, FunctionRef<void(FileWriter&)> content);
void write_file_atomic(const std::string& path, std::span<const std::byte> bytes);
void write_file_atomic(const std::string& path, std::string_view bytes);

}  // namespace hone
