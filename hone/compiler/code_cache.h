// Machine code on disk, for the next process: a folder with one file an entry.
//
// An entry has a key, text that says all that the code depends on, whose first line is its title for people. Files are
// named by a hash of the key, which they contain, with the code and a checksum over all; whoever reads another key,
// version or checksum finds nothing. They are written beside and renamed, so that processes may share the folder and be
// killed at any time. What is not the user's own, or others may write to, is not read: it would be run.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hone/compiler/object_loader.h"

namespace hone::code_cache {

/// settings.code_cache_folder, else HONE_CACHE_DIR, else $XDG_CACHE_HOME/hone, else ~/.cache/hone; empty where there is
/// none of these, or HONE_CACHE_DIR is set and empty: nothing is cached.
std::string folder();

/// The code that is stored under the key. Never throws: what cannot be read is not there.
std::optional<std::string> find(std::string_view key);
/// Stores it, and removes the entries that were used longest ago where they are more than settings.code_cache_bytes.
/// Never throws: what cannot be stored (a full disk, a folder that is read-only) is not, which is logged as
/// information.
void store(std::string_view key, std::string_view code);

/// Code of a program of any kind: from the cache, else what `generate` gives (an object; empty: none), which is stored.
/// `identity` says all that it depends on beside codegen::fingerprint(); `title`, one line of printable text, what it
/// is: for list(), perf and gdb. Throws what `generate` and load_object throw. With HONE_DUMP always generates.
LoadedCode load(std::string_view title, std::string_view identity, FunctionRef<std::string()> generate,
                SymbolResolver resolve);

struct Entry {
  std::string title;
  std::string path;
  uint64_t bytes = 0;
  double age = 0;  ///< seconds since it was stored or used, known to an hour
};
/// What is in the folder, what was used last first. Error kFailedPrecondition, kDataLoss (base/file.h) where it cannot
/// be read; a folder that is missing is empty.
std::vector<Entry> list();
/// Removes all entries, and says which. Errors as list().
std::vector<Entry> clear();

}  // namespace hone::code_cache
