// Kernels of control flow: programs that ops carry, compiled once and run on the operands.
#pragma once

namespace hone {

/// For install_defaults().
void install_control();

}  // namespace hone
