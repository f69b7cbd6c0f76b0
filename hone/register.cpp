// The only place that names concrete back ends.
#include "hone/register.h"
#include "hone/backend/cpu/install.h"
#include "hone/backend/cpu/isa.h"
#include "hone/backend/reference/install.h"
#include "hone/compiler/control_kernels.h"
#include "hone/function/auto_jit.h"
#include "hone/function/evaluate.h"
#include "hone/tensor/interpreter.h"

namespace hone {

// The order of an op's kernels is the order of these calls.
void install_defaults() {
  install_cpu_elementwise();
  install_cpu_movement();
  install_cpu_convert();
  install_cpu_portable();
  install_cpu_contraction();
  install_onednn_contraction();
  install_onednn_convolution();
  install_cpu_plain_convolution();
  install_onednn_frozen();
  install_cpu_attention();
  install_cpu_reductions();
  install_cpu_windows();
  install_cpu_rows();
  install_cpu_batch_norm();
  install_cpu_pooling();
  install_cpu_updates();
  install_cpu_fusion();
  install_cpu_loops();  // before control, which runs what has no code
  install_control();
  install_reference_elementwise();
  install_reference_movement();
  install_reference_contraction();
  install_reference_reductions();
  install_reference_windows();
  install_reference_control();
  read_auto_jit_environment();
  set_evaluator(evaluate);  // last: who sees it sees all lists
}

const char* instruction_set() { return name(isa_level()); }

}  // namespace hone
