#include "hone/compiler/codegen.h"

#ifdef HONE_JIT_LIBDIR
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "hone/base/log.h"

namespace hone::codegen {
namespace {

constexpr const char* kLibrary = "libhone-jit.so";

// The folder of the program or library that this code is part of, with a slash at the end.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || !info.dli_fname) return {};
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
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
    if (const Generator* found = entry ? entry(kVersion) : nullptr) return found;
    reasons += fmt::format("\n{}: is of another version of Hone", path);
    dlclose(library);
    return nullptr;
  };
  const char* const told = std::getenv("HONE_JIT_LIBRARY");
  const std::string folder = own_folder();
  for (const std::string& path :
       told ? std::vector<std::string>{told}
            : std::vector<std::string>{folder + kLibrary, kLibrary, fmt::format("{}/{}", HONE_JIT_LIBDIR, kLibrary)}) {
    if (const Generator* found = open(path)) return found;
  }
  logging::warning(
      fmt::format("no machine code for fused calls: {} cannot be loaded; they run tile by tile{}\n"
                  "fix: set HONE_JIT_LIBRARY to its path, or settings.jit = false",
                  told ? told : kLibrary, reasons));
  return nullptr;
}

}  // namespace

const Generator* generator() {
  static const Generator* const found = load();
  return found;
}
bool built() { return true; }

}  // namespace hone::codegen
#else
namespace hone::codegen {
const Generator* generator() { return nullptr; }
bool built() { return false; }
}  // namespace hone::codegen
#endif
