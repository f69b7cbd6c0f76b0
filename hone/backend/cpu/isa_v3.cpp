// Kernels for x86-64-v3; CMake compiles this file for it.
#include "hone/backend/cpu/isa_table.h"
