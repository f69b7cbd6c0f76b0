// Works of elementwise calls and clusters of them.
#pragma once
#include "hone/compiler/works.h"

namespace hone {

Works map_works(const KernelQuery& query);

}  // namespace hone
