// Every op of the table with its samples bent: other shapes, dtypes and attributes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "hone/base/error.h"
#include "hone/base/hash.h"
#include "hone/function/vmap.h"
#include "hone/ops/movement.h"
#include "hone/ops/table.h"
#include "tests/conformance/cases.h"
#include "tests/fuzz/draw.h"

namespace hone::fuzz {
namespace {

using conformance::Case;

// Changes fields of an attribute struct, each with some chance.
class Bend final : public AttrVisitor {
 public:
  explicit Bend(Draw& draw) : draw_(draw) {}
  void field(const char*, int64_t& value) override {
    if (hit()) value = number();
  }
  void field(const char*, double& value) override {
    if (hit()) value = draw_.among({0.0, 1.0, -1.0, 0.5, 1e-3, 2.0, 8.0, 1e300, -1e300, std::nan("")});
  }
  void field(const char*, bool& value) override {
    if (hit()) value = !value;
  }
  void field(const char*, DType& value) override {
    if (hit()) value = draw_.dtype();
  }
  void field(const char*, Shape& value) override { list(value); }
  void field(const char*, Ints& value) override { list(value); }
  void field(const char*, std::string& value) override {
    if (hit()) value += 'x';
  }

 private:
  bool hit() { return draw_.chance(0.15); }
  int64_t number() {
    return draw_.chance(0.05) ? draw_.among({INT64_MIN, INT64_MAX, int64_t{1} << 40, int64_t{-100}})
                              : draw_.integer(-2, 6);
  }
  template <class List>
  void list(List& values) {
    for (auto& value : values) {
      if (hit()) value = number();
    }
    if (draw_.chance(0.05) && values.size() < 8) values.push_back(number());
    if (draw_.chance(0.05) && !values.empty()) values.erase(values.size() - 1);
  }
  Draw& draw_;
};

void bend(TensorType& type, Draw& draw) {
  if (draw.chance(0.1)) type.dtype = draw.dtype();
  for (Dim& d : type.shape) {
    if (draw.chance(0.1)) d = draw.integer(0, 5);
  }
  if (draw.chance(0.05) && type.shape.rank() < 6) type.shape.push_back(draw.integer(0, 3));
  if (draw.chance(0.05) && !type.shape.empty()) type.shape.erase(0);
}

// Bends a case; the sample's number keys the values that are drawn for it.
Case bent(const Case& c, int round, Draw& draw) {
  Case out{c.op, c.number * 1000 + round, c.sample};
  const bool one_dtype = draw.chance(0.3);
  const DType dtype = draw.dtype();
  for (TensorType& type : out.sample.inputs) {
    bend(type, draw);
    if (one_dtype && is_floating(type.dtype)) type.dtype = dtype;
  }
  const AttrRef attrs = out.sample.attrs;
  if (attrs.type() && draw.chance(0.7)) {
    Bend visitor(draw);
    attrs.type()->visit(const_cast<void*>(attrs.data()), visitor);
  }
  return out;
}

TEST(Fuzz, BentSamplesOfTheOpTable) {
  const BoundedMemory limit;
  int served = 0, refused = 0;
  for (int round = 0; round < rounds(3); ++round) {
    for (const Case& c : conformance::cases()) {
      int64_t elements = 0;
      for (const TensorType& type : c.sample.inputs) elements = std::max(elements, type.shape.count());
      if (elements > 5000) continue;
      Draw draw(hash_bytes(c.op.name.data(), c.op.name.size()) + static_cast<uint64_t>(c.number * 100003 + round));
      const Case changed = bent(c, round, draw);
      const std::string label = fmt::format("round {} of {}", round, changed.label());
      trace(label);
      bool done = false;
      const std::string fault = check(
          [&](Draw&) {
            Results results = conformance::run(changed, conformance::draw(changed));
            done = true;
            return results;
          },
          0, 2e-5);
      EXPECT_EQ(fault, "") << label;
      (done ? served : refused)++;
    }
  }
  EXPECT_GT(served, refused / 10);  // the fuzzer meets kernels, not only checks
  EXPECT_GT(refused, served / 10);
}

// Some operands get an axis of examples, wherever: vmap gives what a loop over them gives, or both refuse.
std::string vmap_fault(const Case& c, Draw& draw, bool& done) {
  constexpr int64_t kExamples = 2;
  std::vector<TensorType> types = c.sample.inputs;
  std::vector<std::optional<int>> axes;
  bool narrow = false;
  for (TensorType& type : types) {
    const bool last = draw.chance(0.3);
    axes.push_back(draw.chance(0.7) ? std::optional(last ? type.shape.rank() : 0) : std::nullopt);
    if (axes.back()) type.shape.insert(static_cast<size_t>(*axes.back()), kExamples);
    narrow = narrow || (is_floating(type.dtype) && size_of(type.dtype) == 2);
  }
  Results expected, got;
  std::string refusal;
  try {
    const Results inputs = conformance::draw(c, types);
    std::vector<Results> parts;
    try {
      for (int64_t e = 0; e < kExamples; ++e) {
        Results example = inputs;
        for (size_t i = 0; i < inputs.size(); ++i) {
          if (axes[i]) example[i] = unstack(inputs[i], *axes[i])[static_cast<size_t>(e)];
        }
        const Results results = conformance::run(c, example);
        parts.resize(results.size());
        for (size_t i = 0; i < results.size(); ++i) parts[i].push_back(results[i]);
      }
      for (const Results& each : parts) expected.push_back(stack(each));
    } catch (const Error& error) {
      if (error.code() == Code::kResourceExhausted) return "";
      refusal = error.what();
    }
    const VmapOptions options{.in_axes = axes, .axis_size = kExamples};
    got = vmap([&](const Results& example) { return conformance::run(c, example); }, options)(inputs);
  } catch (const Error& error) {
    if (error.code() == Code::kResourceExhausted) return "";
    return refusal.empty() || error.code() == Code::kInternal ? std::string("vmap fails: ") + error.what() : "";
  }
  if (!refusal.empty()) return "the loop fails: " + refusal;
  done = true;
  return conformance::difference(got, expected, narrow ? 1e-2 : 2e-5);
}

TEST(Fuzz, BentSamplesUnderVmap) {
  const BoundedMemory limit;
  int served = 0, refused = 0;
  for (int round = 0; round < rounds(2); ++round) {
    for (const Case& c : conformance::cases()) {
      int64_t elements = 0;
      for (const TensorType& type : c.sample.inputs) elements = std::max(elements, type.shape.count());
      if (elements > 2000 || c.reads_values()) continue;
      Draw draw(hash_bytes(c.op.name.data(), c.op.name.size()) + static_cast<uint64_t>(c.number * 100019 + round));
      const Case changed = bent(c, round, draw);
      const std::string label = fmt::format("round {} of {}", round, changed.label());
      trace(label);
      bool done = false;
      EXPECT_EQ(vmap_fault(changed, draw, done), "") << label;
      (done ? served : refused)++;
    }
  }
  EXPECT_GT(served, refused / 10);
  EXPECT_GT(refused, served / 10);
}

}  // namespace
}  // namespace hone::fuzz
