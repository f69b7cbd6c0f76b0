// Functions of works for x86-64-v3; CMake compiles this file for it.
#include "hone/backend/cpu/works_table.h"
