// docs/numerics.md prints the op table; HONE_UPDATE_GOLDEN=1 writes it anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "hone/base/file.h"
#include "tests/conformance/cases.h"

namespace hone::conformance {
namespace {

constexpr const char* kFile = "docs/numerics.md";  // tests run at the root
constexpr std::string_view kBegin = "<!-- op table -->\n", kEnd = "<!-- end of op table -->\n";

// Runs of types by their set's name: "floats", "floats i8 i16", ...
std::string dtypes_of(const Op& op) {
  uint32_t left = op.dtypes & kAnyType;
  if (left == kAnyType) return "any";
  std::string text;
  const auto take = [&](uint32_t set, std::string_view name) {
    if ((left & set) != set) return;
    left &= ~set;
    text += (text.empty() ? "" : " ") + std::string(name);
  };
  take(kNumbers, "numbers");
  take(kFloats, "floats");
  take(kInts, "ints");
  take(kSigned, "signed");
  take(kUnsigned, "unsigned");
  for (int i = 0; i < kDTypes; ++i) take(bit(static_cast<DType>(i)), name(static_cast<DType>(i)));
  return text;
}

std::string_view bits_of(const Op& op) {
  switch (op.numerics) {
    case NumericsClass::Exact:
      return "exact";
    case NumericsClass::Approximate:
      return "ulp bound";
    case NumericsClass::Accumulating:
      return "order of sums";
  }
  return "";
}

std::string_view precision_of(const Op& op) {
  switch (op.precision) {
    case PrecisionClass::Low:
      return "low";
    case PrecisionClass::Full:
      return "full";
    case PrecisionClass::Follow:
      return "follows";
  }
  return "";
}

std::string op_table_text() {
  std::string text = fmt::format(
      "{} ops.\n\n| op | computes | operand 0 | bits | mixed precision | gradient |\n|---|---|---|---|---|---|\n",
      op_table().size());
  for (const Op* op : op_table()) {
    const std::string_view gradient = op->vjp ? "rule" : op->decompose ? "by its parts" : "none";
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", op->name, op->doc, dtypes_of(*op), bits_of(*op),
                        precision_of(*op), gradient);
  }
  return text;
}

TEST(Document, NumericsPrintsTheOpTable) {
  std::ifstream file(kFile);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const size_t begin = page.find(kBegin), end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::string wanted = page.substr(0, begin + kBegin.size()) + op_table_text() + page.substr(end);
  if (std::getenv("HONE_UPDATE_GOLDEN")) write_file_atomic(kFile, wanted);
  EXPECT_EQ(page, wanted) << "HONE_UPDATE_GOLDEN=1 writes the table anew";
}

}  // namespace
}  // namespace hone::conformance
