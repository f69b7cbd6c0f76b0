// One function a file: each appends its kernels to the ops' lists. Called by install_defaults().
#pragma once

namespace hone {

void install_cpu_elementwise();
void install_cpu_movement();
void install_cpu_convert();
void install_cpu_portable();  ///< before all other kernels of products and convolutions
void install_onednn_contraction();
void install_onednn_convolution();
void install_cpu_plain_convolution();  ///< behind it: takes what it refuses
void install_cpu_contraction();        ///< before install_onednn_contraction(): takes the small and the odd
void install_onednn_frozen();
void install_cpu_attention();
void install_cpu_reductions();
void install_cpu_windows();
void install_cpu_rows();
void install_cpu_batch_norm();
void install_cpu_pooling();
void install_cpu_updates();
void install_cpu_fusion();
void install_cpu_loops();

}  // namespace hone
