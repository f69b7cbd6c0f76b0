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
  Initializer kernel_initializer = GlorotUniform();
  Initializer recurrent_initializer = Orthogonal();
  Initializer bias_initializer = Zeros();
  std::string name{};
};
/// Long short-term memory (Hochreiter and Schmidhuber, 1997), Keras' gate order i f g o: [n, t, d] -> [n, units], or
/// [n, t, units] with return_sequences. CallOptions::mask [n, t]: where false the state is kept.
class LSTM : public Layer {
 public:
  explicit LSTM(int64_t units, LSTMOptions options = {});
};

}  // namespace hone::nn
