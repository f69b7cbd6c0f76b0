// One function a file: each appends its kernels to the ops' lists, after those of faster back ends. Called by install_defaults().
#pragma once

namespace hone {

void install_reference_elementwise();

}  // namespace hone
