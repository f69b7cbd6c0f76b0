// All functions of works of one instruction-set level.
#pragma once
#include "hone/math/attention_works.h"
#include "hone/math/box_copy.h"
#include "hone/math/channel_works.h"
#include "hone/math/direct_convolution.h"
#include "hone/math/index_works.h"
#include "hone/math/map_rows.h"
#include "hone/math/nn_works.h"
#include "hone/math/packed_contraction.h"
#include "hone/math/plain_contraction.h"
#include "hone/math/reduce_work.h"
#include "hone/math/sort_works.h"
#include "hone/math/window_works.h"
