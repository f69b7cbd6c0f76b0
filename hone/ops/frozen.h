// Frozen ops: a library op with bias, residual and activation inside the call. Made by freeze (hone/compiler/freeze.h);
// programs do not call them.
#pragma once
#include <span>

#include "hone/ops/attrs.h"
#include "hone/ops/table.h"
#include "hone/tensor/tensor.h"

namespace hone {

struct ActivationRow {
  Activation activation;
  const Op* op;
};
/// The ops that frozen ops apply.
std::span<const ActivationRow> activations();

/// What a call of `op` with these attributes is as the end of a frozen op; None if it is no activation.
FrozenAttrs as_activation(const Op& op, AttrRef attrs);

/// act(x) by the op itself.
Tensor activate(const FrozenAttrs& attrs, const Tensor& x);

}  // namespace hone
