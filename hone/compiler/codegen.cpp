#include "hone/compiler/codegen.h"

#ifdef HONE_JIT_LIBDIR
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "hone/base/log.h"

namespace hone::codegen {
namespace {

constexpr const char* kLibrary = "libhone-jit.so";
std::atomic<bool> asked{false};

// The folder of the program or library that this code is part of, with a slash at the end.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || !info.dli_fname) return {};
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

// In the order in which they are tried; a name without a folder is the dynamic linker's to find.
std::vector<std::string> places() {
  if (const char* const told = std::getenv("HONE_JIT_LIBRARY")) return {told};
  return {own_folder() + kLibrary, kLibrary, fmt::format("{}/{}", HONE_JIT_LIBDIR, kLibrary)};
}

// Where the dynamic linker looks; none with HONE_JIT_LIBRARY.
std::vector<std::string> linker_folders() {
  void* const program = std::getenv("HONE_JIT_LIBRARY") ? nullptr : dlopen(nullptr, RTLD_LAZY);
  Dl_serinfo count{};
  if (!program || dlinfo(program, RTLD_DI_SERINFOSIZE, &count) != 0) return {};
  const std::unique_ptr<std::byte[]> memory(new std::byte[count.dls_size]);
  auto* const found = reinterpret_cast<Dl_serinfo*>(memory.get());
  dlinfo(program, RTLD_DI_SERINFOSIZE, found);
  std::vector<std::string> folders;
  if (dlinfo(program, RTLD_DI_SERINFO, found) != 0) return {};
  for (unsigned i = 0; i < found->dls_cnt; ++i) folders.emplace_back(found->dls_serpath[i].dls_name);
  return folders;
}

const Generator* load() {
  std::string reasons;
  const auto open = [&](const std::string& path) -> const Generator* {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      reasons += fmt::format("\n{}", dlerror());
      return nullptr;
    }
    const auto entry = reinterpret_cast<EntryFn>(dlsym(library, kEntry));
    const Generator* const found = entry ? entry(kVersion) : nullptr;
    if (found && std::strcmp(found->fingerprint, HONE_GENERATOR_FINGERPRINT) == 0) return found;
    reasons += fmt::format("\n{}: is of another version of Hone", path);
    dlclose(library);
    return nullptr;
  };
  for (const std::string& path : places()) {
    if (const Generator* found = open(path)) return found;
  }
  logging::warning(
      fmt::format("no machine code for fused calls: {} cannot be loaded; they run tile by tile{}\n"
                  "fix: set HONE_JIT_LIBRARY to its path, or settings.jit = false",
                  places().front(), reasons));
  return nullptr;
}

}  // namespace

const Generator* generator() {
  asked.store(true, std::memory_order_relaxed);
  static const Generator* const found = load();
  return found;
}
bool available() {
  std::vector<std::string> paths = places();
  for (const std::string& folder : linker_folders()) paths.push_back(fmt::format("{}/{}", folder, kLibrary));
  return std::ranges::any_of(paths, [](const std::string& path) {
    return path.find('/') != std::string::npos && ::access(path.c_str(), R_OK) == 0;
  });
}
bool generator_asked() { return asked.load(std::memory_order_relaxed); }
bool built() { return true; }

std::string fingerprint() {
  const char* const told = std::getenv("HONE_JIT_LIBRARY");
  struct stat status{};
  if (!told || ::stat(told, &status) != 0) return told ? fmt::format("missing {}", told) : HONE_GENERATOR_FINGERPRINT;
  return fmt::format("{} {} {} {}.{:09}", HONE_GENERATOR_FINGERPRINT, told, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

}  // namespace hone::codegen
#else
namespace hone::codegen {
const Generator* generator() { return nullptr; }
bool available() { return false; }
bool generator_asked() { return false; }
bool built() { return false; }
std::string fingerprint() { return {}; }
}  // namespace hone::codegen
#endif
