// error: loss: no loss is named 'sparse_categorical_crossentropi'
//   known: mean_squared_error, mean_absolute_error, binary_crossentropy, categorical_crossentropy, sparse_categorical_crossentropy
//   fix: did you mean 'sparse_categorical_crossentropy'?
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_loss_name(__FILE__,
                                 [](const std::string&) { const nn::Loss loss("sparse_categorical_crossentropi"); });
}  // namespace hone::test
