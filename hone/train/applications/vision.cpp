#include "hone/nn/convolution.h"
#include "hone/nn/core.h"
#include "hone/nn/normalization.h"
#include "hone/ops/elementwise.h"
#include "hone/train/applications/applications.h"

namespace hone::nn::applications {
namespace {

// Two 3x3 convolutions and a shortcut; the first may stride.
class BasicBlock final : public Module {
 public:
  BasicBlock(int64_t filters, int64_t strides, bool project)
      : conv1_(child("conv1", Conv2D(filters, 3, {.strides = strides, .padding = "same", .use_bias = false}))),
        bn1_(child("bn1", BatchNormalization())),
        conv2_(child("conv2", Conv2D(filters, 3, {.padding = "same", .use_bias = false}))),
        bn2_(child("bn2", BatchNormalization())) {
    if (!project) return;
    cut_ = child("cut", Conv2D(filters, 1, {.strides = strides, .padding = "same", .use_bias = false}));
    cut_bn_ = child("cut_bn", BatchNormalization());
  }
  std::string type() const override { return "BasicBlock"; }
  Tensor call(const Tensor& x, const CallOptions& o) override {
    const Tensor y = bn2_(conv2_(relu(bn1_(conv1_(x), o))), o);
    return relu(y + (cut_.defined() ? cut_bn_(cut_(x), o) : x));
  }

 private:
  Layer conv1_, bn1_, conv2_, bn2_, cut_, cut_bn_;
};

// 1x1, 3x3 and 1x1 convolutions and a shortcut; the second may stride.
class BottleneckBlock final : public Module {
 public:
  BottleneckBlock(int64_t filters, int64_t strides, bool project)
      : conv1_(child("conv1", Conv2D(filters, 1, {.use_bias = false}))),
        bn1_(child("bn1", BatchNormalization())),
        conv2_(child("conv2", Conv2D(filters, 3, {.strides = strides, .padding = "same", .use_bias = false}))),
        bn2_(child("bn2", BatchNormalization())),
        conv3_(child("conv3", Conv2D(4 * filters, 1, {.use_bias = false}))),
        bn3_(child("bn3", BatchNormalization())) {
    if (!project) return;
    cut_ = child("cut", Conv2D(4 * filters, 1, {.strides = strides, .use_bias = false}));
    cut_bn_ = child("cut_bn", BatchNormalization());
  }
  std::string type() const override { return "BottleneckBlock"; }
  Tensor call(const Tensor& x, const CallOptions& o) override {
    const Tensor y = relu(bn2_(conv2_(relu(bn1_(conv1_(x), o))), o));
    return relu(bn3_(conv3_(y), o) + (cut_.defined() ? cut_bn_(cut_(x), o) : x));
  }

 private:
  Layer conv1_, bn1_, conv2_, bn2_, conv3_, bn3_, cut_, cut_bn_;
};

}  // namespace

Sequential mlp(int64_t classes, int64_t hidden) {
  return Sequential{Dense(hidden, {.activation = "relu"}), Dense(hidden, {.activation = "relu"}), Dense(classes)};
}

Sequential lenet(int64_t classes) {
  return Sequential{Conv2D(6, 5, {.padding = "same", .activation = "relu"}),
                    MaxPooling2D(2),
                    Conv2D(16, 5, {.activation = "relu"}),
                    MaxPooling2D(2),
                    Flatten(),
                    Dense(120, {.activation = "relu"}),
                    Dense(84, {.activation = "relu"}),
                    Dense(classes)};
}

Sequential resnet20(int64_t classes) {
  std::vector<Layer> layers{Conv2D(16, 3, {.padding = "same", .use_bias = false}), BatchNormalization(), ReLU()};
  int64_t channels = 16;
  for (const int64_t filters : {16, 32, 64}) {
    for (int i = 0; i < 3; ++i) {
      layers.push_back(make<BasicBlock>(filters, i == 0 && filters > 16 ? 2 : 1, filters != channels));
      channels = filters;
    }
  }
  layers.push_back(GlobalAveragePooling2D());
  layers.push_back(Dense(classes));
  return Sequential(std::move(layers));
}

Sequential resnet50(int64_t classes) {
  std::vector<Layer> layers{Conv2D(64, 7, {.strides = 2, .padding = "same", .use_bias = false}), BatchNormalization(),
                            ReLU(), MaxPooling2D(3, {.strides = 2, .padding = "same"})};
  constexpr std::pair<int64_t, int> kStages[] = {{64, 3}, {128, 4}, {256, 6}, {512, 3}};
  for (const auto& [filters, blocks] : kStages) {
    for (int i = 0; i < blocks; ++i)
      layers.push_back(make<BottleneckBlock>(filters, i == 0 && filters > 64 ? 2 : 1, i == 0));
  }
  layers.push_back(GlobalAveragePooling2D());
  layers.push_back(Dense(classes));
  return Sequential(std::move(layers));
}

Sequential mobilenet_v1(MobileNetOptions options) {
  const auto width = [&](int64_t channels) {
    return static_cast<int64_t>(static_cast<double>(channels) * options.alpha);
  };
  std::vector<Layer> layers;
  const auto normalized = [&](const Layer& convolution) {
    layers.push_back(convolution);
    layers.push_back(BatchNormalization());
    layers.push_back(ActivationLayer("relu6"));
  };
  normalized(Conv2D(width(32), 3, {.strides = 2, .padding = "same", .use_bias = false}));
  constexpr std::pair<int64_t, int64_t> kPlan[] = {{64, 1},  {128, 2},  {128, 1}, {256, 2}, {256, 1},
                                                   {512, 2}, {512, 1},  {512, 1}, {512, 1}, {512, 1},
                                                   {512, 1}, {1024, 2}, {1024, 1}};
  for (const auto& [channels, strides] : kPlan) {
    normalized(DepthwiseConv2D(3, {.strides = strides, .padding = "same", .use_bias = false}));
    normalized(Conv2D(width(channels), 1, {.use_bias = false}));
  }
  layers.push_back(GlobalAveragePooling2D());
  layers.push_back(Dense(options.classes));
  return Sequential(std::move(layers));
}

}  // namespace hone::nn::applications
