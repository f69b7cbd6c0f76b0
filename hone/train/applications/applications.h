// Networks that ship with Hone, as builders: untrained, compiled by the caller. Inputs are f32 unless said.
#pragma once
#include "hone/train/model.h"

namespace hone::nn::applications {

/// 784-512-512-classes with ReLU (workload w1; 669,706 parameters for 10 classes).
Sequential mlp(int64_t classes = 10, int64_t hidden = 512);

/// LeCun et al., 1998, with ReLU and max pooling, for 28x28x1 (w2; 61,706 parameters).
Sequential lenet(int64_t classes = 10);

/// He et al., 2016, section 4.2, with projection shortcuts, for 32x32x3 (w3; 272,474 parameters).
Sequential resnet20(int64_t classes = 10);

/// He et al., 2016, with 50 layers and the stride in the 3x3 convolutions (version 1.5), for 224x224x3 (r50; 25,610,152
/// parameters).
Sequential resnet50(int64_t classes = 1000);

struct MobileNetOptions {
  double alpha = 1;  ///< width multiplier
  int64_t classes = 1000;
};
/// Howard et al., 2017: depthwise separable convolutions with batch norm and ReLU6 (w4: alpha 0.5; 1,331,592
/// parameters).
Sequential mobilenet_v1(MobileNetOptions options = {});

struct GptOptions {
  int64_t vocabulary = 1024, width = 256, layers = 4, heads = 4, context = 128;
};
/// Pre-norm transformer with erf GELU and an untied head: token ids [n, t] -> logits [n, t, vocabulary] (w5; 3,717,632
/// parameters).
Model gpt(GptOptions options = {});

/// The library's LSTM layer and a dense head (w6 fused): [n, t, d] -> [n, classes].
Sequential lstm_classifier(int64_t units = 128, int64_t classes = 10);
/// The same with the cell written out over time (w6 loop).
Model lstm_loop(int64_t units = 128, int64_t classes = 10);

}  // namespace hone::nn::applications
