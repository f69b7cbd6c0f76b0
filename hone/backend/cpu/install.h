// One function a file: each appends its kernels to the ops' lists. Called by install_defaults().
#pragma once

namespace hone {

void install_cpu_elementwise();

}  // namespace hone
