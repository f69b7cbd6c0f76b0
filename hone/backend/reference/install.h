// One function a file: each appends its kernels to the ops' lists, after those of faster back ends. Called by
// install_defaults().
#pragma once

namespace hone {

void install_reference_elementwise();
void install_reference_movement();
void install_reference_contraction();
void install_reference_reductions();
void install_reference_windows();
void install_reference_control();

}  // namespace hone
