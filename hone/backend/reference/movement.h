// The files behind install_reference_movement().
#pragma once

namespace hone {

void install_reference_sorting();
void install_reference_creation();

}  // namespace hone
