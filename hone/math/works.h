// All functions of works of one instruction-set level.
#pragma once
#include "hone/math/box_copy.h"
