#include "hone/compiler/object_loader.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "hone/base/error.h"
#include "hone/compiler/elf_object.h"

namespace hone {
namespace {

using elf::damaged;
using elf::ObjectFile;
using elf::unsupported;

constexpr size_t kPage = 4096, kLargest = size_t{1} << 28;
// An undefined symbol's address, then a jump to it: code is further from the program than a call reaches.
constexpr size_t kSlot = 16, kJump = 8;
constexpr uint8_t kJumpToAddress[] = {0xff, 0x25, 0xf2, 0xff, 0xff, 0xff};  // jmp *-14(%rip)

constexpr size_t rounded(size_t n, size_t to) { return (n + to - 1) / to * to; }

const char* name_of_relocation(uint32_t type) {
  constexpr const char* kNames[] = {"NONE",     "64",       "PC32", "GOT32", "PLT32", "COPY", "GLOB_DAT", "JUMP_SLOT",
                                    "RELATIVE", "GOTPCREL", "32",   "32S",   "16",    "PC16", "8",        "PC8"};
  return type < std::size(kNames) ? kNames[type] : "";
}

}  // namespace

// An object on its way into memory: code and slots in the first pages, constants behind, variables in the last.
class ObjectImage {
 public:
  ObjectImage(std::span<const std::byte> object, SymbolResolver resolve)
      : object_(object), resolve_(resolve), places_(object_.sections.size(), kNowhere) {
    if (object_.machine != EM_X86_64) unsupported("it is not for x86-64");
    place(Code);
    slots_ = rounded(end_, kSlot);
    slot_of_.resize(object_.symbol_count(), kNowhere);
    for (size_t i = 1; i < slot_of_.size(); ++i) undefined_ += object_.symbol(i).st_shndx == SHN_UNDEF;
    end_ = code_end_ = rounded(slots_ + undefined_ * kSlot, kPage);
    place(Constants);
    end_ = constants_end_ = rounded(end_, kPage);
    place(Variables);
    loaded_.size_ = rounded(end_, kPage);
    void* const memory = ::mmap(nullptr, loaded_.size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error(Code::kResourceExhausted, "no memory for machine code", "free memory");
    loaded_.memory_ = memory;
    for (size_t i = 0; i < places_.size(); ++i) {
      const auto content = object_.content(object_.sections[i]);
      if (places_[i] != kNowhere && !content.empty()) std::memcpy(base() + places_[i], content.data(), content.size());
    }
  }

  LoadedCode finish(std::string_view entry) {
    for (const Elf64_Shdr& section : object_.sections) relocate(section);
    find(entry);
    if (::mprotect(base(), code_end_, PROT_READ | PROT_EXEC) != 0 ||
        (constants_end_ > code_end_ && ::mprotect(base() + code_end_, constants_end_ - code_end_, PROT_READ) != 0))
      throw Error(Code::kResourceExhausted, "memory cannot be made executable",
                  "allow it (SELinux's execmem, systemd's MemoryDenyWriteExecute), or settings.jit = false");
    return std::move(loaded_);
  }

 private:
  static constexpr size_t kNowhere = std::numeric_limits<size_t>::max();

  std::byte* base() { return static_cast<std::byte*>(loaded_.memory_); }

  enum Pages { Code, Constants, Variables };

  void place(Pages pages) {
    for (size_t i = 0; i < places_.size(); ++i) {
      const Elf64_Shdr& section = object_.sections[i];
      const Pages own = (section.sh_flags & SHF_EXECINSTR) != 0 ? Code
                        : (section.sh_flags & SHF_WRITE) != 0   ? Variables
                                                                : Constants;
      if ((section.sh_flags & SHF_ALLOC) == 0 || own != pages) continue;
      if ((section.sh_flags & SHF_TLS) != 0) unsupported("it has variables of threads");
      if (own == Code && (section.sh_flags & SHF_WRITE) != 0) unsupported("it has code that is written");
      const size_t alignment = std::max<size_t>(section.sh_addralign, 1);
      if (alignment > kPage || (alignment & (alignment - 1)) != 0) damaged("a section has an impossible alignment");
      if (section.sh_size > kLargest || end_ > kLargest) damaged("a section is too large");
      object_.content(section);
      places_[i] = rounded(end_, alignment);
      end_ = places_[i] + section.sh_size;
    }
  }

  // The slot of an undefined symbol.
  std::byte* slot(size_t index, const Elf64_Sym& symbol) {
    if (slot_of_[index] == kNowhere) {
      const std::string_view name = object_.name_of(symbol);
      const void* const address = resolve_(name);
      if (!address) unsupported(fmt::format("nothing is known by the name '{}'", name));
      if (used_ == undefined_) damaged("its symbols are not what they were");
      slot_of_[index] = slots_ + kSlot * used_++;
      std::memcpy(base() + slot_of_[index], &address, sizeof address);
      std::memcpy(base() + slot_of_[index] + kJump, kJumpToAddress, sizeof kJumpToAddress);
    }
    return base() + slot_of_[index];
  }

  uint64_t address(size_t index, const Elf64_Sym& symbol, bool called) {
    if (symbol.st_shndx == SHN_UNDEF) {
      if (index == 0) return 0;
      std::byte* const mine = slot(index, symbol);
      if (called) return reinterpret_cast<uint64_t>(mine + kJump);
      uint64_t there = 0;
      std::memcpy(&there, mine, sizeof there);
      return there;
    }
    return reinterpret_cast<uint64_t>(defined(symbol));
  }
  std::byte* defined(const Elf64_Sym& symbol) {
    if (symbol.st_shndx >= places_.size() || places_[symbol.st_shndx] == kNowhere ||
        symbol.st_value > object_.section(symbol.st_shndx).sh_size)
      damaged(fmt::format("the symbol '{}' lies nowhere", object_.name_of(symbol)));
    return base() + places_[symbol.st_shndx] + symbol.st_value;
  }

  void relocate(const Elf64_Shdr& table) {
    if (table.sh_type == SHT_REL) unsupported("it has relocations without addends");
    if (table.sh_type != SHT_RELA) return;
    const Elf64_Shdr& target = object_.section(table.sh_info);
    const size_t place = places_[table.sh_info];
    if (place == kNowhere) return;
    if (target.sh_type == SHT_NOBITS || table.sh_entsize != sizeof(Elf64_Rela)) damaged("relocations of no content");
    const size_t count = object_.content(table).size() / sizeof(Elf64_Rela);
    for (size_t i = 0; i < count; ++i) {
      const auto entry = object_.at<Elf64_Rela>(table.sh_offset, i);
      const size_t width =
          ELF64_R_TYPE(entry.r_info) == R_X86_64_64 || ELF64_R_TYPE(entry.r_info) == R_X86_64_PC64 ? 8 : 4;
      if (entry.r_offset > target.sh_size || target.sh_size - entry.r_offset < width)
        damaged("a relocation lies outside of its section");
      relocate(entry, base() + place + entry.r_offset, width);
    }
  }

  void relocate(const Elf64_Rela& entry, std::byte* at, size_t width) {
    const size_t index = ELF64_R_SYM(entry.r_info);
    const auto type = static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info));
    const Elf64_Sym symbol = object_.symbol(index);
    const auto addend = static_cast<uint64_t>(entry.r_addend), here = reinterpret_cast<uint64_t>(at);
    uint64_t value = 0;
    bool fits = true;
    switch (type) {
      case R_X86_64_NONE:
        return;
      case R_X86_64_64:
        value = address(index, symbol, false) + addend;
        break;
      case R_X86_64_PC64:
        value = address(index, symbol, false) + addend - here;
        break;
      case R_X86_64_32:
        value = address(index, symbol, false) + addend;
        fits = value <= std::numeric_limits<uint32_t>::max();
        break;
      case R_X86_64_32S:
        value = address(index, symbol, false) + addend;
        fits = fits_32(value);
        break;
      case R_X86_64_PC32:
      case R_X86_64_PLT32:
        value = address(index, symbol, true) + addend - here;
        fits = fits_32(value);
        break;
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX:
        if (symbol.st_shndx != SHN_UNDEF || index == 0) unsupported("it asks for the address of its own symbol");
        value = reinterpret_cast<uint64_t>(slot(index, symbol)) + addend - here;
        fits = fits_32(value);
        break;
      default:
        unsupported(fmt::format("relocation {} (R_X86_64_{}) is not known here", type, name_of_relocation(type)));
    }
    if (!fits) damaged(fmt::format("a relocation to '{}' does not reach", object_.name_of(symbol)));
    std::memcpy(at, &value, width);
  }
  static bool fits_32(uint64_t value) { return static_cast<int64_t>(value) == static_cast<int32_t>(value); }

  void find(std::string_view entry) {
    for (size_t i = 1; i < object_.symbol_count(); ++i) {
      const Elf64_Sym symbol = object_.symbol(i);
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ||
          ELF64_ST_TYPE(symbol.st_info) != STT_FUNC)
        continue;
      const std::byte* const where = defined(symbol);
      const Elf64_Shdr& section = object_.section(symbol.st_shndx);
      if ((section.sh_flags & SHF_EXECINSTR) == 0 || symbol.st_size > section.sh_size - symbol.st_value ||
          symbol.st_value == section.sh_size)
        damaged(fmt::format("'{}' is no code", object_.name_of(symbol)));
      if (object_.name_of(symbol) != entry) {
        loaded_.functions_.emplace_back(object_.name_of(symbol), where);
        continue;
      }
      loaded_.entry_ = where;
      loaded_.entry_size_ = symbol.st_size;
    }
    if (!loaded_.entry_) damaged(fmt::format("it has no symbol '{}'", entry));
  }

  ObjectFile object_;
  SymbolResolver resolve_;
  std::vector<size_t> places_;   // of sections
  std::vector<size_t> slot_of_;  // by symbol
  size_t slots_ = 0, undefined_ = 0, used_ = 0, end_ = 0, code_end_ = 0, constants_end_ = 0;
  LoadedCode loaded_;
};

const void* LoadedCode::find(std::string_view name) const {
  for (const auto& [own, where] : functions_) {
    if (own == name) return where;
  }
  return nullptr;
}

LoadedCode load_object(std::span<const std::byte> object, std::string_view entry, SymbolResolver resolve) {
  return ObjectImage(object, resolve).finish(entry);
}

}  // namespace hone
