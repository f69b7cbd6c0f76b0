// Names of loaded code for perf and gdb.
#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "hone/compiler/object_loader.h"

// gdb's JIT interface ("JIT Compilation Interface" of its manual): a breakpoint on the function, and a list. Weak, for
// other compilers in the process have them, too.
extern "C" {
struct jit_code_entry {
  jit_code_entry* next;
  jit_code_entry* previous;
  const char* object;
  uint64_t size;
};
struct jit_descriptor {
  uint32_t version;
  uint32_t action;  // 1: registered, 2: unregistered
  jit_code_entry* relevant;
  jit_code_entry* first;
};
[[gnu::weak]] jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};  // NOLINT(bugprone-reserved-identifier)
[[gnu::weak, gnu::noinline]] void __jit_debug_register_code() { asm volatile("" ::: "memory"); }  // NOLINT
}

namespace hone {
namespace {

bool wanted(const char* variable) {
  const char* const value = std::getenv(variable);
  return value && *value && std::strcmp(value, "0") != 0;
}

std::mutex& mutex() {
  static std::mutex& only = *new std::mutex;
  return only;
}

// An object of one symbol, which says that its code lies elsewhere.
struct Symbols {
  Elf64_Ehdr header{};
  Elf64_Shdr sections[4]{};
  Elf64_Sym symbols[2]{};
};
struct DebugEntry : jit_code_entry {
  std::string bytes;
};

std::string symbols_of(const void* entry, size_t size, std::string_view name) {
  const std::string names = fmt::format("{}.text{}.symtab{}.strtab{}hone:{}{}", '\0', '\0', '\0', '\0', name, '\0');
  Symbols s;
  std::memcpy(s.header.e_ident, ELFMAG, SELFMAG);
  s.header.e_ident[EI_CLASS] = ELFCLASS64, s.header.e_ident[EI_DATA] = ELFDATA2LSB;
  s.header.e_ident[EI_VERSION] = EV_CURRENT;
  s.header.e_type = ET_REL, s.header.e_machine = EM_X86_64, s.header.e_version = EV_CURRENT;
  s.header.e_ehsize = sizeof(Elf64_Ehdr), s.header.e_shoff = offsetof(Symbols, sections);
  s.header.e_shentsize = sizeof(Elf64_Shdr), s.header.e_shnum = 4, s.header.e_shstrndx = 3;
  Elf64_Shdr& text = s.sections[1];
  text.sh_name = 1, text.sh_type = SHT_NOBITS, text.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  text.sh_addr = reinterpret_cast<uint64_t>(entry), text.sh_size = size, text.sh_addralign = 16;
  Elf64_Shdr& symbols = s.sections[2];
  symbols.sh_name = 7, symbols.sh_type = SHT_SYMTAB, symbols.sh_offset = offsetof(Symbols, symbols);
  symbols.sh_size = sizeof s.symbols, symbols.sh_link = 3, symbols.sh_info = 1, symbols.sh_entsize = sizeof(Elf64_Sym);
  Elf64_Shdr& strings = s.sections[3];
  strings.sh_name = 15, strings.sh_type = SHT_STRTAB, strings.sh_offset = sizeof s, strings.sh_size = names.size();
  s.symbols[1] = {23, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0, size};
  return std::string(reinterpret_cast<const char*>(&s), sizeof s) + names;
}

void tell_perf(const void* entry, size_t size, std::string_view name) {
  const std::lock_guard lock(mutex());
  std::FILE* const file = std::fopen(fmt::format("/tmp/perf-{}.map", ::getpid()).c_str(), "ae");
  if (!file) return;
  const std::string line = fmt::format("{:x} {:x} hone:{}\n", reinterpret_cast<uint64_t>(entry), size, name);
  std::fwrite(line.data(), 1, line.size(), file);
  std::fclose(file);
}

void* tell_gdb(const void* entry, size_t size, std::string_view name) {
  auto* const mine = new DebugEntry{};
  mine->bytes = symbols_of(entry, size, name);
  mine->object = mine->bytes.data();
  mine->size = mine->bytes.size();
  const std::lock_guard lock(mutex());
  mine->next = __jit_debug_descriptor.first;
  if (mine->next) mine->next->previous = mine;
  __jit_debug_descriptor.first = __jit_debug_descriptor.relevant = mine;
  __jit_debug_descriptor.action = 1;
  __jit_debug_register_code();
  return mine;
}

void forget(void* debug_entry) {
  auto* const mine = static_cast<DebugEntry*>(debug_entry);
  {
    const std::lock_guard lock(mutex());
    (mine->previous ? mine->previous->next : __jit_debug_descriptor.first) = mine->next;
    if (mine->next) mine->next->previous = mine->previous;
    __jit_debug_descriptor.relevant = mine;
    __jit_debug_descriptor.action = 2;
    __jit_debug_register_code();
  }
  delete mine;
}

}  // namespace

LoadedCode::~LoadedCode() {
  if (debug_entry_) forget(debug_entry_);
  if (memory_) ::munmap(memory_, size_);
}

void announce(LoadedCode& code, std::string_view name) {
  static const bool perf = wanted("HONE_PERF"), gdb = wanted("HONE_GDB");
  if (perf) tell_perf(code.entry_, code.entry_size_, name);
  if (gdb && !code.debug_entry_) code.debug_entry_ = tell_gdb(code.entry_, code.entry_size_, name);
}

}  // namespace hone
