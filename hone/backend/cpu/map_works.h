// Works of elementwise calls and clusters of them.
#pragma once
#include "hone/compiler/works.h"

namespace hone {

Works map_works(const KernelQuery& query);
/// Of a dense array that is not empty, to another dtype.
Work convert_work(const TensorType& type, DType to, WorkMemory source, WorkMemory target);

}  // namespace hone
