#include "hone/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "hone/base/error.h"

namespace hone {
namespace {

constexpr size_t kBuffer = size_t{1} << 16;
constexpr size_t kLargestRequest = size_t{1} << 30;  // Linux moves at most 2 GiB - 4 KiB a call

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return number_; }  // NOLINT: a file descriptor is an int
  int close() { return ::close(std::exchange(number_, -1)); }

 private:
  int number_;
};

template <class Call>
auto retried(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

int open_for_reading(const std::string& path) {
  const int file = retried([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (file < 0) throw_file_error("read", path, errno);
  return file;
}

struct stat status_of(int file, const std::string& path) {
  struct stat status = {};
  if (::fstat(file, &status) != 0) throw_file_error("read", path, errno);
  if (S_ISDIR(status.st_mode)) throw_file_error("read", path, EISDIR);
  return status;
}

[[noreturn]] void throw_too_large(const std::string& path, size_t limit) {
  throw Error(Code::kResourceExhausted, {.what = "cannot read " + path + ": the file is too large",
                                         .details = {"expected at most " + std::to_string(limit) + " bytes"}});
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// The file that a symbolic link stands for, even if that file does not exist yet.
std::string target_of(std::string path) {
  for (int links = 0; links < 40; ++links) {
    char text[4096];
    const ssize_t size = ::readlink(path.c_str(), text, sizeof text);
    if (size < 0 || size == sizeof text) return path;
    const std::string link(text, static_cast<size_t>(size));
    path = link.front() == '/' ? link : folder_of(path) + "/" + link;
  }
  throw_file_error("write", path, ELOOP);
}

/// A new file in the folder of `path`, removed unless kept.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path) : path_(name_for(path)), file_(create(path)) {}
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int file() const { return file_; }
  void rename_to(const std::string& path) {
    if (file_.close() != 0 && errno != EINTR) throw_file_error("write", path, errno);
    if (::rename(path_.c_str(), path.c_str()) != 0) throw_file_error("write", path, errno);
    path_.clear();
  }

 private:
  static std::string name_for(const std::string& path) {
    static std::atomic<uint64_t> counter{0};
    const size_t slash = path.find_last_of('/');
    const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1).substr(0, 200);
    return folder_of(path) + "/." + name + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
  }
  int create(const std::string& path) {
    const auto open = [this] { return ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); };
    int file = retried(open);
    if (file < 0 && errno == EEXIST && ::unlink(path_.c_str()) == 0)
      file = retried(open);  // a killed process with our id
    if (file < 0) {
      const int error = errno;
      path_.clear();
      throw_file_error("write", path, error);
    }
    return file;
  }

  std::string path_;
  Descriptor file_;
};

void sync(int file, const std::string& path) {
  // Some file systems have no fsync; what they can do is done.
  if (retried([&] { return ::fsync(file); }) != 0 && errno != EINVAL && errno != ENOTSUP) {
    throw_file_error("write", path, errno);
  }
}

}  // namespace

void throw_file_error(std::string_view verb, const std::string& path, int error) {
  Code code = Code::kDataLoss;
  std::string fix;
  switch (error) {
    case ENOENT:
      code = Code::kNotFound;
      fix = verb == "write" ? "create the folder " + folder_of(path) : "check the path";
      break;
    case ENOTDIR:
      code = Code::kNotFound;
      fix = "check the path: a part of it that should be a folder is a file";
      break;
    case EISDIR:
      code = Code::kInvalidArgument;
      fix = "name a file, not a folder";
      break;
    case ENAMETOOLONG:
    case ELOOP:
      code = Code::kInvalidArgument;
      fix = "choose another path";
      break;
    case ENOSPC:
    case EDQUOT:
      code = Code::kResourceExhausted;
      fix = "free space in " + folder_of(path) + " or choose another folder";
      break;
    case EFBIG:
      code = Code::kResourceExhausted;
      fix = "raise the limit of file sizes (ulimit -f) or choose another file system";
      break;
    case EMFILE:
    case ENFILE:
      code = Code::kResourceExhausted;
      fix = "close files or raise the limit of open files (ulimit -n)";
      break;
    case ENOMEM:
      code = Code::kResourceExhausted;
      fix = "free memory";
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = Code::kFailedPrecondition;
      fix = verb == "write" ? "make the folder " + folder_of(path) + " writable or choose another one"
                            : "give yourself the permission to read it";
      break;
    default:
      break;
  }
  throw Error(code, "cannot " + std::string(verb) + " " + path + ": " + std::generic_category().message(error), fix);
}

std::string read_file(const std::string& path, size_t limit) {
  const Descriptor file(open_for_reading(path));
  const struct stat status = status_of(file, path);
  if (static_cast<uint64_t>(std::max<off_t>(status.st_size, 0)) > limit) throw_too_large(path, limit);
  std::string content(static_cast<size_t>(status.st_size), '\0');
  size_t size = 0;
  while (true) {
    if (size == content.size()) {  // the expected end, or a file without a known size
      char more[4096];
      const ssize_t count = retried([&] { return ::read(file, more, sizeof more); });
      if (count < 0) throw_file_error("read", path, errno);
      if (count == 0) break;
      if (static_cast<size_t>(count) > limit - size) throw_too_large(path, limit);
      content.append(more, static_cast<size_t>(count));
      size = content.size();
      continue;
    }
    const ssize_t count =
        retried([&] { return ::read(file, content.data() + size, std::min(content.size() - size, kLargestRequest)); });
    if (count < 0) throw_file_error("read", path, errno);
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  content.resize(size);
  return content;
}

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file(open_for_reading(path));
  const struct stat status = status_of(file, path);
  if (!S_ISREG(status.st_mode)) {
    throw Error(Code::kInvalidArgument, "cannot map " + path + ": it is not a regular file", "copy it to a file first");
  }
  if (status.st_size == 0) return;
  void* const mapping = ::mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  if (mapping == MAP_FAILED) throw_file_error("map", path, errno);
  data_ = static_cast<const std::byte*>(mapping);
  size_ = static_cast<size_t>(status.st_size);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void FileWriter::write(const void* data, size_t size) {
  position_ += size;
  if (buffer_.size() + size > kBuffer) flush();
  if (size > kBuffer) return write_through(static_cast<const char*>(data), size);
  buffer_.append(static_cast<const char*>(data), size);
}

void FileWriter::flush() {
  write_through(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void FileWriter::write_through(const char* data, size_t size) {
  while (size > 0) {
    const ssize_t count = retried([&] { return ::write(file_, data, std::min(size, kLargestRequest)); });
    if (count < 0) throw_file_error("write", path_, errno);
    data += count;
    size -= static_cast<size_t>(count);
  }
}

void write_file_atomic(const std::string& path, FunctionRef<void(FileWriter&)> content) {
  const std::string target = target_of(path);
  struct stat old = {};
  const bool replaces = ::stat(target.c_str(), &old) == 0;
  if (replaces && S_ISDIR(old.st_mode)) throw_file_error("write", path, EISDIR);
  if (replaces && !S_ISREG(old.st_mode)) {
    throw Error(Code::kInvalidArgument, "cannot write " + path + ": it is not a regular file", "name a file");
  }
  TemporaryFile temporary(target);
  FileWriter writer(temporary.file(), path);
  content(writer);
  writer.flush();
  if (replaces && ::fchmod(temporary.file(), old.st_mode & 07777) != 0) throw_file_error("write", path, errno);
  sync(temporary.file(), path);
  temporary.rename_to(target);
  const std::string folder = folder_of(target);
  const Descriptor directory(retried([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (directory >= 0) sync(directory, path);  // a folder that may be written but not read cannot be synced
}

void write_file_atomic(const std::string& path, std::span<const std::byte> bytes) {
  write_file_atomic(path, [&](FileWriter& writer) { writer.write(bytes.data(), bytes.size()); });
}

void write_file_atomic(const std::string& path, std::string_view bytes) {
  write_file_atomic(path, [&](FileWriter& writer) { writer.write(bytes); });
}

}  // namespace hone
