// The public functions with random arguments, forwards and backwards.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hone/base/hash.h"
#include "hone/function/tape.h"
#include "tests/fuzz/functions.h"

namespace hone::fuzz {
namespace {

void run(const std::vector<Entry>& entries, int count) {
  const BoundedMemory limit;
  for (const Entry& entry : entries) {
    int served = 0;
    for (int round = 0; round < count; ++round) {
      const std::string label = fmt::format("{}, round {}", entry.name, round);
      trace(label);
      const Call counted = [&](Draw& draw) {
        Results results = entry.call(draw);
        ++served;
        return results;
      };
      const uint64_t seed = hash_bytes(entry.name.data(), entry.name.size()) + static_cast<uint64_t>(round);
      EXPECT_EQ(check(counted, seed, 5e-5), "") << label;
    }
    EXPECT_GT(served, count / 8) << entry.name << ": the fuzzer meets checks only";
  }
}

TEST(Fuzz, ElementwiseFunctions) { run(elementwise_functions(), rounds(40)); }
TEST(Fuzz, ShapeFunctions) { run(shape_functions(), rounds(60)); }
TEST(Fuzz, NetworkFunctions) { run(network_functions(), rounds(40)); }

// Every tensor of floating dtype that a call draws is watched; whatever its gradient is, it is no crash.
class Watching final : public Interpreter {
 public:
  explicit Watching(GradientTape& tape) : tape_(tape) { push(); }
  void process(hone::Call& call) override {
    for (const Tensor& input : call.inputs) {
      if (!is_floating(input.dtype()) || sources.size() > 8) continue;
      tape_.watch(input);
      sources.push_back(input);
    }
    pass_on(call);
  }
  std::vector<Tensor> sources;

 private:
  GradientTape& tape_;
};

TEST(Fuzz, Gradients) {
  const BoundedMemory limit;
  std::vector<Entry> entries = elementwise_functions();
  for (auto* more : {shape_functions, network_functions}) {
    for (Entry& entry : more()) entries.push_back(std::move(entry));
  }
  int defined = 0;
  for (const Entry& entry : entries) {
    for (int round = 0; round < rounds(8); ++round) {
      const std::string label = fmt::format("gradient of {}, round {}", entry.name, round);
      trace(label);
      const Call backwards = [&](Draw& draw) {
        GradientTape tape({.persistent = true});
        Results results;
        std::vector<Tensor> sources;
        {
          Watching watching(tape);
          results = entry.call(draw);
          sources = std::move(watching.sources);
        }
        Results gradients;
        for (const Tensor& result : results) {
          if (!result.defined() || !is_floating(result.dtype())) continue;
          for (Tensor& gradient : tape.gradient(result, sources)) {
            defined += gradient.defined();
            gradients.push_back(std::move(gradient));
          }
        }
        return gradients;
      };
      const uint64_t seed = hash_bytes(entry.name.data(), entry.name.size()) + 977 * static_cast<uint64_t>(round);
      EXPECT_EQ(check(backwards, seed, 1e-3), "") << label;
    }
  }
  EXPECT_GT(defined, 1000);
}

}  // namespace
}  // namespace hone::fuzz
