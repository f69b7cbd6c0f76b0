// Static libraries, as `ar` writes them.
#pragma once
#include <string>
#include <string_view>

namespace hone::compiler {

/// A static library (System V and GNU form) of one relocatable object, with the index that linkers ask for. The same
/// object gives the same bytes: owner and time are zero. `name` is the member's, of at most 15 characters; more are cut
/// off. Error kDataLoss for an object that is damaged, kUnsupported for one that is no ELF of 64 bits.
std::string static_library(std::string_view object, std::string_view name);

}  // namespace hone::compiler
