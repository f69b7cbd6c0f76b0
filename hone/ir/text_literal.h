// Elements as text: dense<...>, and what to_text writes.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "hone/ir/text.h"

namespace hone::ir::text {

/// Puts the element that `text` spells at `out`: a decimal number, true, false, or 0x and the bits. False if it is
/// none.
bool parse_element(std::string_view text, DType dtype, std::byte* out);
/// "1.5", "0x7FC00000" (no decimal number), "true": reads back to the same bits.
std::string print_element(const std::byte* element, DType dtype);
/// "dense<[[1, 2], [3, 4]]>"; hexadecimal bytes for large tensors; without the type.
std::string print_elements(const Tensor& tensor);
/// Elements of `type` from the bytes that hexadecimal digits spell. False if their number does not fit; `splat`: they
/// spell one element.
bool parse_bytes(std::string_view digits, const TensorType& type, Tensor& out, bool& splat);

}  // namespace hone::ir::text
