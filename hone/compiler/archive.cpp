// Form: ar(5), "System V R4" with GNU's symbol index; https://refspecs.linuxfoundation.org/elf/gabi41.pdf, chapter 7.
#include "hone/compiler/archive.h"

#include <fmt/format.h>

#include <vector>

#include "hone/compiler/elf_object.h"

namespace hone::compiler {
namespace {

constexpr std::string_view kMagic = "!<arch>\n";
constexpr size_t kHeader = 60, kLongestName = 15;

std::string member(std::string_view name, std::string_view content) {
  std::string text = fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", name, 0, 0, 0, "100644", content.size());
  text += content;
  if (content.size() % 2 != 0) text += '\n';  // members begin at even places
  return text;
}

std::string big_endian(uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift);
  return text;
}

// What other objects can call or read.
std::vector<std::string_view> defined_symbols(const elf::ObjectFile& object) {
  std::vector<std::string_view> names;
  for (size_t i = 1; i < object.symbol_count(); ++i) {
    const Elf64_Sym symbol = object.symbol(i);
    if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL)
      names.push_back(object.name_of(symbol));
  }
  return names;
}

}  // namespace

std::string static_library(std::string_view object, std::string_view name) {
  const elf::ObjectFile file(std::as_bytes(std::span(object)));
  const std::vector<std::string_view> symbols = defined_symbols(file);
  size_t index_bytes = 4 + 4 * symbols.size();
  for (const std::string_view symbol : symbols) index_bytes += symbol.size() + 1;
  const size_t place = kMagic.size() + kHeader + index_bytes + index_bytes % 2;  // of the object's header
  std::string index = big_endian(static_cast<uint32_t>(symbols.size()));
  for (size_t i = 0; i < symbols.size(); ++i) index += big_endian(static_cast<uint32_t>(place));
  for (const std::string_view symbol : symbols) {
    index += symbol;
    index += '\0';
  }
  return std::string(kMagic) + member("/", index) + member(std::string(name.substr(0, kLongestName)) + "/", object);
}

}  // namespace hone::compiler
