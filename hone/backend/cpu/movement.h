// The files behind install_cpu_movement().
#pragma once

namespace hone {

void install_cpu_indexed();
void install_cpu_sorting();
void install_cpu_creation();

}  // namespace hone
