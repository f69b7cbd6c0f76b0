// Machine code from a relocatable ELF object into memory: what a linker and a dynamic linker do, for the few things
// that the code generator leaves to them.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hone/base/function_ref.h"

namespace hone {

/// Executable memory with code in it; freed with this object, when nobody may run it any more. Valid after fork.
class LoadedCode {
 public:
  LoadedCode() = default;
  LoadedCode(LoadedCode&& other) noexcept { *this = std::move(other); }
  LoadedCode& operator=(LoadedCode&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    std::swap(entry_, other.entry_);
    std::swap(entry_size_, other.entry_size_);
    std::swap(debug_entry_, other.debug_entry_);
    std::swap(functions_, other.functions_);
    return *this;
  }
  ~LoadedCode();
  explicit operator bool() const { return entry_ != nullptr; }
  /// Where the entry symbol begins.
  const void* entry() const { return entry_; }
  template <class Function>
  Function function() const {
    return reinterpret_cast<Function>(const_cast<void*>(entry_));
  }
  /// Bytes of the entry symbol's code.
  size_t entry_size() const { return entry_size_; }
  /// Where another function that the object offers begins; null for one that it does not.
  const void* find(std::string_view name) const;

 private:
  friend class ObjectImage;
  friend void announce(LoadedCode& code, std::string_view name);
  void* memory_ = nullptr;
  size_t size_ = 0;
  const void* entry_ = nullptr;
  size_t entry_size_ = 0;
  void* debug_entry_ = nullptr;                                 // of gdb's list
  std::vector<std::pair<std::string, const void*>> functions_;  // beside the entry
};

/// Address of a symbol that the object takes from the program; null where there is none of that name.
using SymbolResolver = FunctionRef<const void*(std::string_view name)>;

/// Loads an x86-64 object (ELF64, ET_REL) of code and constants, and finds its symbol `entry`. Pages are writable
/// first, executable or read-only afterwards, never writable and executable. Thread-safe. Error kDataLoss: the bytes
/// are no object, or a damaged one (any bytes are safe to give); kUnsupported: it has a relocation, section or symbol
/// that is not served, which the message names; kResourceExhausted: no memory.
LoadedCode load_object(std::span<const std::byte> object, std::string_view entry, SymbolResolver resolve);

/// Tells what listens about loaded code under a name: perf, which reads /tmp/perf-PID.map, with HONE_PERF=1; gdb,
/// through its JIT interface, with HONE_GDB=1. Else does nothing. Thread-safe.
void announce(LoadedCode& code, std::string_view name);

}  // namespace hone
