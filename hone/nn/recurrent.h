// Recurrent layers.
#pragma once
#include "hone/nn/activation.h"
#include "hone/nn/layer.h"

namespace hone::nn {

struct LSTMOptions {
  bool use_bias = true;
  bool unit_forget_bias = true;  ///< the forget gate's bias starts at 1
  bool return_sequences = false;
  bool go_backwards = false;
  /// h and c are kept from one call to the next, each example's its own: calls take batches of one size, and
  /// reset_states() begins again at zero. Gradients end where a call begins.
  bool stateful = false;
  int64_t batch_size = 0;  ///< of a stateful layer; 0: that of the first input
  Initializer kernel_initializer = GlorotUniform();
  Initializer recurrent_initializer = Orthogonal();
  Initializer bias_initializer = Zeros();
  std::string name{};
};
/// Long short-term memory (Hochreiter and Schmidhuber, 1997), Keras' gate order i f g o: [n, t, d] -> [n, units], or
/// [n, t, units] with return_sequences. CallOptions::mask [n, t]: where false the state is kept. Error kInvalidArgument
/// where a stateful layer gets another batch size, or none that is a number when it is built.
class LSTM : public Layer {
 public:
  explicit LSTM(int64_t units, LSTMOptions options = {});
};

}  // namespace hone::nn
