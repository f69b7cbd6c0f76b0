#include "hone/compiler/code_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>

#include "hone/base/error.h"
#include "hone/base/file.h"
#include "hone/base/hash.h"
#include "hone/base/log.h"
#include "hone/base/settings.h"
#include "hone/compiler/codegen.h"
#include "hone/compiler/pipeline.h"

namespace hone::code_cache {
namespace {

constexpr char kMagic[8] = {'H', 'O', 'N', 'E', 'C', 'O', 'D', 'E'};
constexpr uint32_t kFormat = 1;
constexpr uint64_t kLargest = uint64_t{1} << 28;
constexpr std::string_view kEnding = ".code", kTemporary = ".tmp-";
constexpr double kTouchAfter = 3600, kAbandonedAfter = 3600;  // seconds

struct Header {
  char magic[8];
  uint32_t format, key_size;
  uint64_t code_size;
  uint64_t checksum;  // of all before, and key and code behind it
};
static_assert(sizeof(Header) == 32);

uint64_t checksum_of(const Header& header, std::string_view content) {
  return hash_of(content, hash_bytes(&header, offsetof(Header, checksum)));
}

std::string path_of(const std::string& folder, std::string_view key) {
  return fmt::format("{}/{:016x}{:016x}{}", folder, hash_of(key), hash_of(key, 1), kEnding);
}

struct File {
  int number;
  ~File() {
    if (number >= 0) ::close(number);
  }
};

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}
double age_of(const struct stat& status) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::max(0.0, seconds(now) - seconds(status.st_mtim));
}

// The user's own, or root's, and nobody else may write to it.
bool trusted(const struct stat& status) {
  return (status.st_uid == ::geteuid() || status.st_uid == 0) && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool read_all(int file, char* to, size_t size) {
  while (size > 0) {
    const ssize_t count = ::read(file, to, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    to += count, size -= static_cast<size_t>(count);
  }
  return true;
}
bool write_all(int file, const char* from, size_t size) {
  while (size > 0) {
    const ssize_t count = ::write(file, from, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    from += count, size -= static_cast<size_t>(count);
  }
  return true;
}

// A write beyond RLIMIT_FSIZE is an error meanwhile, not a signal that ends the process.
class QuietLimit {
 public:
  QuietLimit() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~QuietLimit() {
    if (sigismember(&before_, SIGXFSZ) != 1) {
      constexpr timespec kNow{};
      ::sigtimedwait(&signal_, nullptr, &kNow);
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  QuietLimit(const QuietLimit&) = delete;
  QuietLimit& operator=(const QuietLimit&) = delete;

 private:
  sigset_t signal_, before_;
};

bool make_folders(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    ::mkdir(path.substr(0, slash).c_str(), 0700);
  struct stat status{};
  return (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) && ::stat(path.c_str(), &status) == 0 && trusted(status);
}

void say_not_stored(const std::string& where, int error) {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  logging::info(fmt::format("machine code is not cached in {}: {}\nfix: set HONE_CACHE_DIR to a folder of your own",
                            where, error == 0 ? "others may write there" : std::generic_category().message(error)));
}

struct Found {
  std::string path;
  struct stat status;
  bool temporary;
};
std::vector<Found> scan(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()), ::closedir);
  if (!directory) {
    if (errno == ENOENT) return {};
    throw_file_error("read", folder, errno);
  }
  std::vector<Found> found;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    const bool temporary = name.starts_with(kTemporary);
    if (!temporary && !name.ends_with(kEnding)) continue;
    Found each{folder + "/" + std::string(name), {}, temporary};
    if (::lstat(each.path.c_str(), &each.status) == 0 && S_ISREG(each.status.st_mode)) found.push_back(std::move(each));
  }
  std::ranges::sort(found, {}, [](const Found& each) { return age_of(each.status); });
  return found;
}

// Removes what was used longest ago until what is left has room to grow; gives its size.
uint64_t evict(const std::string& folder, uint64_t bound) {
  std::vector<Found> found = scan(folder);
  uint64_t total = 0;
  for (const Found& each : found) {
    if (each.temporary && age_of(each.status) > kAbandonedAfter) ::unlink(each.path.c_str());
    if (!each.temporary) total += static_cast<uint64_t>(each.status.st_size);
  }
  if (total <= bound) return total;
  for (; !found.empty() && total > bound - bound / 8; found.pop_back()) {
    if (found.back().temporary) continue;
    ::unlink(found.back().path.c_str());
    total -= static_cast<uint64_t>(found.back().status.st_size);
  }
  return total;
}

// Keeps the folder within its bound, as far as this process knows: others may fill it, too, so it looks again at times.
void keep_within_bound(const std::string& folder, uint64_t added) {
  static std::mutex& mutex = *new std::mutex;
  static std::string& known_folder = *new std::string;
  static uint64_t total = 0;
  static int stored = 0;
  constexpr int kLookAgain = 64;
  const std::lock_guard lock(mutex);
  total += added;
  if (known_folder == folder && total <= settings.code_cache_bytes && ++stored % kLookAgain != 0) return;
  known_folder = folder;
  total = evict(folder, settings.code_cache_bytes);
}

std::string read_title(const std::string& path) {
  const File file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  char text[sizeof(Header) + 400];
  const ssize_t size = ::read(file.number, text, sizeof text);
  if (size <= static_cast<ssize_t>(sizeof(Header)) || std::memcmp(text, kMagic, sizeof kMagic) != 0) return "(damaged)";
  const std::string_view line(text + sizeof(Header), static_cast<size_t>(size) - sizeof(Header));
  std::string title(line.substr(0, line.find('\n')));
  std::ranges::replace_if(title, [](char c) { return c < ' ' || c > '~'; }, '?');  // who knows whose bytes these are
  return title;
}

std::vector<Entry> entries_of(const std::vector<Found>& found) {
  std::vector<Entry> entries;
  for (const Found& each : found) {
    if (!each.temporary)
      entries.push_back(
          {read_title(each.path), each.path, static_cast<uint64_t>(each.status.st_size), age_of(each.status)});
  }
  return entries;
}

}  // namespace

std::string folder() {
  if (!settings.code_cache_folder.empty()) return settings.code_cache_folder;
  if (const char* const told = std::getenv("HONE_CACHE_DIR")) return told;
  const char* const caches = std::getenv("XDG_CACHE_HOME");
  if (caches && caches[0] == '/') return std::string(caches) + "/hone";  // the specification ignores relative ones
  const char* const home = std::getenv("HOME");
  return home && home[0] == '/' ? std::string(home) + "/.cache/hone" : std::string();
}

std::optional<std::string> find(std::string_view key) {
  const std::string where = folder();
  if (where.empty() || settings.code_cache_bytes == 0) return std::nullopt;
  struct stat status{};
  if (::stat(where.c_str(), &status) != 0 || !trusted(status)) return std::nullopt;
  const File file{::open(path_of(where, key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  if (file.number < 0 || ::fstat(file.number, &status) != 0 || !S_ISREG(status.st_mode) || !trusted(status))
    return std::nullopt;
  const auto size = static_cast<uint64_t>(status.st_size);
  Header header;
  if (size < sizeof header || size > kLargest ||
      !read_all(file.number, reinterpret_cast<char*>(&header), sizeof header) ||
      std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 || header.format != kFormat ||
      header.key_size != key.size() || header.code_size > kLargest ||
      size != sizeof header + header.key_size + header.code_size)
    return std::nullopt;
  std::string content(size - sizeof header, '\0');
  if (!read_all(file.number, content.data(), content.size()) || !content.starts_with(key) ||
      header.checksum != checksum_of(header, content))
    return std::nullopt;
  if (age_of(status) > kTouchAfter) ::futimens(file.number, nullptr);
  content.erase(0, key.size());
  return content;
}

void store(std::string_view key, std::string_view code) {
  const std::string where = folder();
  const uint64_t size = sizeof(Header) + key.size() + code.size();
  if (where.empty() || size > settings.code_cache_bytes || size > kLargest) return;
  errno = 0;
  if (!make_folders(where)) return say_not_stored(where, errno == EEXIST ? 0 : errno);
  Header header{{}, kFormat, static_cast<uint32_t>(key.size()), code.size(), 0};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  const std::string content = std::string(key).append(code);
  header.checksum = checksum_of(header, content);
  static std::atomic<uint64_t> counter{0};
  const std::string temporary = fmt::format("{}/{}{}-{}", where, kTemporary, ::getpid(), counter++);
  bool written = false;
  {
    const QuietLimit quiet;
    ::unlink(temporary.c_str());  // of a killed process with our id
    const File file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
    // Not synced: what a crash of the machine leaves has no valid checksum.
    written = file.number >= 0 && write_all(file.number, reinterpret_cast<const char*>(&header), sizeof header) &&
              write_all(file.number, content.data(), content.size());
  }
  if (!written || ::rename(temporary.c_str(), path_of(where, key).c_str()) != 0) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return say_not_stored(where, error);
  }
  try {
    keep_within_bound(where, size);
  } catch (const std::exception&) {  // a folder that may be written but not read keeps what it has
  }
}

LoadedCode load(std::string_view title, std::string_view identity, FunctionRef<std::string()> generate,
                SymbolResolver resolve) {
  const std::string key = fmt::format("{}\n{}\n{}", title, codegen::fingerprint(), identity);
  const auto loaded = [&](std::string_view object) {
    LoadedCode code = load_object(std::as_bytes(std::span(object)), codegen::kEntrySymbol, resolve);
    announce(code, title);
    return code;
  };
  if (compiler::dump_directory().empty()) {
    try {
      if (const std::optional<std::string> known = find(key)) return loaded(*known);
    } catch (const Error& unusable) {
      logging::info(fmt::format("cached machine code is made anew: {}", unusable.what()));
    }
  }
  const std::string object = generate();
  if (object.empty()) return {};
  LoadedCode code = loaded(object);
  store(key, object);
  return code;
}

std::vector<Entry> list() {
  const std::string where = folder();
  return where.empty() ? std::vector<Entry>() : entries_of(scan(where));
}

std::vector<Entry> clear() {
  const std::string where = folder();
  if (where.empty()) return {};
  const std::vector<Found> found = scan(where);
  std::vector<Entry> entries = entries_of(found);
  for (const Found& each : found) {
    if (::unlink(each.path.c_str()) != 0 && errno != ENOENT) throw_file_error("remove", each.path, errno);
  }
  return entries;
}

}  // namespace hone::code_cache
