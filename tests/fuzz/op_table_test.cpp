// Every op of the table with its samples bent: other shapes, dtypes and attributes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "hone/base/hash.h"
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

}  // namespace
}  // namespace hone::fuzz
