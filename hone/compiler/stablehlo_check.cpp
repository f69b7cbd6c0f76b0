// The check dialect of StableHLO's own tests: programs that say what they expect.
#include <fmt/format.h>

#include "hone/compiler/stablehlo_forms.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/misc.h"
#include "hone/ops/reduction.h"

namespace hone::compiler {
namespace {

using ir::Reader;
using ir::ValueId;
using ir::text::Attribute;

Tensor both_nan(const Tensor& a, const Tensor& b) { return (a != a) & (b != b); }

Tensor is_equal(const Tensor& a, const Tensor& b) {
  const Tensor same = a == b;
  return is_floating(a.dtype()) ? same | both_nan(a, b) : same;
}

// Steps between floats; -0 and 0 are one number.
Tensor steps(const Tensor& x) {
  constexpr DType kBits[] = {i32, i64, i16, i16};
  constexpr int64_t kSign[] = {INT32_MIN, INT64_MIN, INT16_MIN, INT16_MIN};
  const auto type = static_cast<int>(x.dtype());
  const Tensor bits = cast(bitcast(x, kBits[type]), i64);
  return where(bits < 0, kSign[type] - bits, bits);
}

Tensor is_near(const Tensor& a, const Tensor& b, double tolerance) {
  if (!is_floating(a.dtype())) return is_equal(a, b);
  return is_equal(a, b) | (abs(a - b) <= tolerance);
}

Tensor is_close(const Tensor& a, const Tensor& b, double min_steps, double max_steps) {
  if (!is_floating(a.dtype())) return is_equal(a, b);
  const Tensor distance = abs(cast(steps(a), f64) - cast(steps(b), f64));
  const Tensor close = (distance >= min_steps) & (distance <= max_steps) & is_finite(a) & is_finite(b);
  return min_steps > 0 ? close : close | is_equal(a, b);
}

double number(Reader& reader, std::string_view name, double otherwise) {
  const Attribute* const found = reader.attribute(name);
  return found ? found->number : otherwise;
}

}  // namespace

bool read_check(Reader& reader, std::string_view name) {
  constexpr std::string_view kPrefix = "check.", kConstant = "_const";
  if (!name.starts_with(kPrefix)) return false;
  std::string_view kind = name.substr(kPrefix.size());
  std::vector<ValueId> values = reader.all_operands();
  if (kind.ends_with(kConstant)) {
    kind.remove_suffix(kConstant.size());
    const Attribute* given = reader.attribute("value");
    if (!given && !reader.operation().values.empty()) given = &reader.operation().values[0];
    if (!given || !given->tensor.defined()) reader.fail("dense<...> expected");
    const TensorType type = given->type.tensor();
    if (given->tensor.rank() == 0)
      values.push_back(reader.splat(given->tensor, type));
    else
      values.push_back(reader.literal(given->tensor, type));
  }
  if (values.size() != 2) reader.fail("two tensors to compare expected");
  if (!(reader.type(values[0]) == reader.type(values[1])))
    reader.fail(
        fmt::format("compares {} with {}", to_string(reader.type(values[0])), to_string(reader.type(values[1]))));
  if (kind == "eq") {  // of older texts: the answer is a result
    const auto all_equal = [](std::span<const Tensor> in) { return std::vector{all(is_equal(in[0], in[1]))}; };
    reader.result(apply(reader, values, all_equal)[0]);
    return true;
  }
  std::function<Tensor(const Tensor&, const Tensor&)> holds;
  const double tolerance = number(reader, "tolerance", 1e-4), most = number(reader, "max_ulp_difference", 3),
               least = number(reader, "min_ulp_difference", 0);
  if (kind == "expect_eq")
    holds = is_equal;
  else if (kind == "expect_almost_eq")
    holds = [=](const Tensor& a, const Tensor& b) { return is_near(a, b, tolerance); };
  else if (kind == "expect_close")
    holds = [=](const Tensor& a, const Tensor& b) { return is_close(a, b, least, most); };
  else
    return false;
  const ir::text::Place place = reader.operation().place;
  const std::string text = fmt::format("{} at line {}", name, place.line);
  apply(reader, values, [&](std::span<const Tensor> in) { return std::vector{check(holds(in[0], in[1]), text)}; });
  return true;
}

namespace {

void read_check_operation(Reader& reader) {
  if (!read_check(reader, reader.operation().name)) reader.unsupported(reader.operation().name);
}

constexpr ReadForm kRead[] = {
    {"check.expect_eq", read_check_operation},        {"check.expect_eq_const", read_check_operation},
    {"check.expect_almost_eq", read_check_operation}, {"check.expect_almost_eq_const", read_check_operation},
    {"check.expect_close", read_check_operation},     {"check.expect_close_const", read_check_operation}};

}  // namespace

Forms check_forms() { return {{}, kRead}; }

}  // namespace hone::compiler
