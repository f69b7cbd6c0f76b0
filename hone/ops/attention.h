// Scaled dot-product attention.
#pragma once
#include <optional>

#include "hone/tensor/tensor.h"

namespace hone {

struct AttentionOptions {
  Tensor mask{};                  ///< bool [b or 1, h or 1, t, s]; true = attend
  std::optional<double> scale{};  ///< of the scores; 1 / sqrt(d) if left out
  bool causal = false;            ///< query i attends to keys 0 to i
};

/// softmax(scale q k^T) v for each batch and head: q [b, t, h, d], k and v [b, s, h, d]; the result has q's shape. A
/// query that may attend to nothing gives 0. Scores, softmax and sums are f32 for 16-bit floats. Error kInvalidArgument
/// where shapes do not fit.
Tensor scaled_dot_product_attention(Operand q, Operand k, Operand v, const AttentionOptions& options = {});

}  // namespace hone
