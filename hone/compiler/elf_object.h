// Reading a relocatable ELF object of 64 bits.
#pragma once
#include <elf.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hone/base/error.h"

namespace hone::elf {

[[noreturn]] inline void damaged(std::string_view what) {
  throw Error(Code::kDataLoss, fmt::format("cannot load machine code: {}", what));
}
[[noreturn]] inline void unsupported(std::string what) {
  throw Error(Code::kUnsupported, "cannot load machine code: " + std::move(what));
}

// The bytes of an object, whose every number may be wrong.
class ObjectFile {
 public:
  explicit ObjectFile(std::span<const std::byte> bytes) : bytes_(bytes) {
    const auto header = at<Elf64_Ehdr>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) damaged("it is no ELF object");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL)
      unsupported("it is no relocatable object of 64 bits");
    machine = header.e_machine;
    if (header.e_shentsize != sizeof(Elf64_Shdr)) damaged("its section headers have another size");
    for (size_t i = 0; i < header.e_shnum; ++i) sections.push_back(at<Elf64_Shdr>(header.e_shoff, i));
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type != SHT_SYMTAB) continue;
      if (symbols_) damaged("it has two symbol tables");
      if (section.sh_entsize != sizeof(Elf64_Sym)) damaged("its symbols have another size");
      symbols_ = &section;
    }
    if (!symbols_) damaged("it has no symbols");
    names_ = text_of(section(symbols_->sh_link));
  }

  template <class T>
  T at(size_t offset, size_t index = 0) const {
    T value;
    if (offset > bytes_.size() || (bytes_.size() - offset) / sizeof(T) <= index) damaged("it ends too early");
    std::memcpy(&value, bytes_.data() + offset + index * sizeof(T), sizeof(T));
    return value;
  }
  std::span<const std::byte> content(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS) return {};
    if (section.sh_offset > bytes_.size() || bytes_.size() - section.sh_offset < section.sh_size)
      damaged("a section ends too late");
    return bytes_.subspan(section.sh_offset, section.sh_size);
  }
  const Elf64_Shdr& section(size_t index) const {
    if (index >= sections.size()) damaged("it names a section that it does not have");
    return sections[index];
  }
  size_t symbol_count() const { return content(*symbols_).size() / sizeof(Elf64_Sym); }
  Elf64_Sym symbol(size_t index) const {
    if (index >= symbol_count()) damaged("it names a symbol that it does not have");
    return at<Elf64_Sym>(symbols_->sh_offset, index);
  }
  std::string_view name_of(const Elf64_Sym& symbol) const {
    if (symbol.st_name >= names_.size()) damaged("a symbol has no name");
    const std::string_view rest = names_.substr(symbol.st_name);
    return rest.substr(0, rest.find('\0'));
  }

  std::vector<Elf64_Shdr> sections;
  uint16_t machine = EM_NONE;

 private:
  std::string_view text_of(const Elf64_Shdr& section) const {
    const auto bytes = content(section);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::span<const std::byte> bytes_;
  const Elf64_Shdr* symbols_ = nullptr;
  std::string_view names_;
};

}  // namespace hone::elf
