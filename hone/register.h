// What the installed back ends say about themselves.
#pragma once

namespace hone {

/// The instruction-set level of Hone's own kernels on this CPU: "v2", "v3" or "v4" (x86-64's psABI levels). HONE_ISA
/// lowers it.
const char* instruction_set();

}  // namespace hone
