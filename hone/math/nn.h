// Fused f32 loops of networks, for one instruction-set level: rows here, channels in nn_channels.h.
#pragma once
#include "hone/math/exp_log.h"
#include "hone/math/nn_channels.h"
#include "hone/math/nn_rows.h"

namespace hone::math::HONE_LEVEL {

constexpr void fill_nn(Kernels& kernels) {
  fill_nn_rows(kernels.nn);
  fill_nn_channels(kernels.nn);
}

}  // namespace hone::math::HONE_LEVEL
