// settings.reproducible = Portable through the whole library: eager, graph and machine code, training, freezing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "hone/base/hash.h"
#include "hone/base/parallel.h"
#include "hone/base/settings.h"
#include "hone/function/function.h"
#include "hone/nn/convolution.h"
#include "hone/nn/core.h"
#include "hone/nn/loss.h"
#include "hone/nn/normalization.h"
#include "hone/nn/recurrent.h"
#include "hone/ops/contraction.h"
#include "hone/ops/creation.h"
#include "hone/train/freeze.h"
#include "hone/train/model.h"
#include "hone/train/sequential.h"
#include "tests/conformance/cases.h"

namespace hone::conformance {
namespace {

struct Portable {
  Portable() { settings.reproducible = Reproducible::Portable; }
  ~Portable() { settings.reproducible = Reproducible::Off; }
};

Tensor floats(const Shape& shape, uint64_t key) { return cast(noise(shape, key), f32); }
bool same_bits(const Tensor& a, const Tensor& b) { return difference({&a, 1}, {&b, 1}).empty(); }

TEST(Portable, TheSettingTakesEffectInFunctionsThatWereCompiledBefore) {
  const Tensor a = floats({90, 700}, 1), b = floats({700, 80}, 2);
  const auto multiply = function([](const Tensor& x, const Tensor& y) { return matmul(x, y); });
  const Tensor library = multiply(a, b);
  EXPECT_TRUE(same_bits(library, matmul(a, b)));
  {
    const Portable scope;
    const Tensor portable = matmul(a, b);
    EXPECT_FALSE(same_bits(portable, library));
    EXPECT_TRUE(same_bits(multiply(a, b), portable));
  }
  EXPECT_TRUE(same_bits(multiply(a, b), library));
}

nn::Sequential convolutional() {
  return nn::Sequential{nn::Conv2D(8, 3, {.padding = "same", .activation = "relu"}),
                        nn::BatchNormalization(),
                        nn::DepthwiseConv2D(3, {.strides = 2, .padding = "same"}),
                        nn::Conv2D(12, 1, {.activation = "relu"}),
                        nn::MaxPooling2D(2),
                        nn::Flatten(),
                        nn::Dense(10)};
}
nn::Sequential recurrent() { return nn::Sequential{nn::LSTM(20), nn::Dense(10)}; }

enum class Mode { Eager, Graph, Jit };

// Five steps; the hash of all weights.
uint64_t trained(nn::Sequential model, const Shape& shape, Mode mode) {
  nn::set_random_seed(5);
  const Tensor x = floats(shape, 11), y = cast(random::uniform(random::state(12), {shape[0]}, 0, 10).second, i32);
  model.compile({.optimizer = "sgd",
                 .loss = nn::SparseCategoricalCrossentropy({.from_logits = true}),
                 .run_eagerly = mode == Mode::Eager,
                 .jit_compile = mode == Mode::Jit});
  for (int step = 0; step < 5; ++step) model.train_on_batch(x, y);
  uint64_t hash = 0;
  for (const Variable& each : model.variables()) {
    const Tensor value = each.value();
    hash = hash_bytes(value.raw(), value.bytes(), hash);
  }
  return hash;
}

// Of weights after five steps, on any x86-64: change them only with the definition of an op.
constexpr uint64_t kConvolutional = 16408711315345068434U, kRecurrent = 16657747163480747047U;

TEST(PortableTraining, WeightsAreTheSameBitsInEveryModeAndOnAnyNumberOfThreads) {
  const Portable scope;
  const int before = threads();
  for (const int count : {1, 2, 3, 7}) {
    set_threads(count);
    for (const Mode mode : {Mode::Eager, Mode::Graph, Mode::Jit}) {
      EXPECT_EQ(trained(convolutional(), {19, 12, 12, 3}, mode), kConvolutional)
          << count << " " << static_cast<int>(mode);
      EXPECT_EQ(trained(recurrent(), {9, 7, 16}, mode), kRecurrent) << count << " " << static_cast<int>(mode);
    }
  }
  set_threads(before);
}

TEST(PortableLevels, WeightsAreTheSameBitsAtEveryInstructionSetLevel) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  for (const std::string level : {"v2", "v3"}) {
    const std::string command = "HONE_ISA=" + level + " '" + self + "' --gtest_filter='PortableTraining.*' >/dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0) << level;
  }
}

TEST(Portable, FrozenModelsFollowTheSettingAndHaveTheSameBitsOnAnyNumberOfThreads) {
  nn::Sequential model = convolutional();
  const Tensor x = floats({4, 12, 12, 3}, 3);
  model(x);
  const nn::FrozenModel frozen = nn::freeze(model, {.sample = x});
  const Tensor library = frozen(x);
  const int before = threads();
  {
    const Portable scope;
    Tensor first;
    for (const int count : {1, 2, 3}) {
      set_threads(count);
      const Tensor now = frozen(x);
      EXPECT_TRUE(!first.defined() || same_bits(now, first)) << count;
      first = now;
    }
  }
  set_threads(before);
  EXPECT_TRUE(same_bits(frozen(x), library));
}

}  // namespace
}  // namespace hone::conformance
