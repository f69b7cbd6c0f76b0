#include "hone/compiler/stablehlo_probe.h"

#include <cmath>

#include "hone/compiler/stablehlo_forms.h"
#include "hone/tensor/interpreter.h"

namespace hone::compiler {
namespace {

using ir::Graph;
using ir::Node;
using ir::ValueId;

constexpr const Op* kOrderOnly[] = {&ops::equal,   &ops::not_equal,     &ops::less,     &ops::less_equal,
                                    &ops::greater, &ops::greater_equal, &ops::select,   &ops::and_,
                                    &ops::or_,     &ops::not_,          &ops::constant, &ops::xor_};
// Of a float's total order: its bits as an integer.
constexpr const Op* kBits[] = {&ops::bitcast_convert, &ops::shift_right_arithmetic, &ops::shift_right_logical};

bool only_orders(const Graph& region) {
  for (ValueId value = 0; value < region.values(); ++value) {
    if (!region.type(value).shape.empty()) return false;
  }
  return std::ranges::all_of(region.nodes(), [](const Node& node) {
    return std::ranges::find(kOrderOnly, node.op) != std::end(kOrderOnly) ||
           std::ranges::find(kBits, node.op) != std::end(kBits);
  });
}

std::vector<double> points(DType dtype) {
  if (dtype == bool_) return {0, 1};
  if (!is_floating(dtype)) return {0, 1, 2, 5, 100};
  return {-HUGE_VAL, -2.5, -1, -0.0, 0.0, 0.75, 1, 3, HUGE_VAL, NAN};
}

std::vector<Tensor> run(const Graph& region, std::vector<Tensor> inputs) {
  const InterpreterScope scope(nullptr);
  return ir::interpret(region, inputs);
}

}  // namespace

const Op* comparator(const Graph& region) {
  if (region.nodes().size() != 1 || region.outputs().size() != 1 || region.inputs().size() != 2) return nullptr;
  const Node& node = region.nodes()[0];
  const std::span<const ValueId> operands = region.operands(node);
  const bool ordered = operands.size() == 2 && operands[0] == region.inputs()[0].value &&
                       operands[1] == region.inputs()[1].value && region.outputs()[0] == node.first_result;
  return ordered && region.type(node.first_result).dtype == bool_ ? node.op : nullptr;
}

std::optional<bool> picks_extremum(const Graph& region, DType value, DType index) {
  if (!only_orders(region) || region.inputs().size() != 4 || region.outputs().size() != 2) return {};
  const std::vector<double> values = points(value);
  bool can_max = true, can_min = true;
  for (const double a : values) {
    for (const double b : values) {
      for (const auto& [i, j] : {std::pair{0, 1}, std::pair{1, 0}, std::pair{3, 7}}) {
        const std::vector<Tensor> out =
            run(region, {scalar(a, value), scalar(i, index), scalar(b, value), scalar(j, index)});
        const double picked = out[0].item<double>();
        const auto at = out[1].item<int64_t>();
        const auto fits = [&](bool largest) {
          const bool nan_a = std::isnan(a), nan_b = std::isnan(b);
          if (nan_a && nan_b) return std::isnan(picked) && at == i;
          const bool first = nan_a || (!nan_b && (a == b ? i < j : largest ? a > b : a < b));
          const double expected = nan_a || nan_b ? NAN : first ? a : b;
          return at == (first ? i : j) && (picked == expected || (std::isnan(picked) && std::isnan(expected)));
        };
        can_max = can_max && fits(true);
        can_min = can_min && fits(false);
        if (!can_max && !can_min) return {};
      }
    }
  }
  return can_max;
}

std::optional<bool> sorts(const Graph& region, DType key) {
  if (!only_orders(region) || region.inputs().size() < 2 || region.outputs().size() != 1) return {};
  for (const Node& node : region.nodes()) {
    for (const ValueId operand : region.operands(node)) {
      for (size_t i = 2; i < region.inputs().size(); ++i) {
        if (operand == region.inputs()[i].value) return {};
      }
    }
  }
  std::vector<Tensor> inputs;
  for (const ir::Input& input : region.inputs()) inputs.push_back(scalar(0, region.type(input.value).dtype));
  bool up = true, down = true;
  for (const double a : points(key)) {
    for (const double b : points(key)) {
      inputs[0] = scalar(a, key), inputs[1] = scalar(b, key);
      const bool before = run(region, inputs)[0].item<bool>();
      const bool nan = std::isnan(b) && !std::isnan(a);
      up = up && before == (nan || a < b);
      down = down && before == (nan || a > b);
      if (!up && !down) return {};
    }
  }
  return down;
}

const Op* combiner(const Graph& region) {
  if (region.nodes().size() != 1 || region.outputs().size() != 1 || region.inputs().size() != 2) return nullptr;
  const Node& node = region.nodes()[0];
  const std::span<const ValueId> operands = region.operands(node);
  const ValueId a = region.inputs()[0].value, b = region.inputs()[1].value;
  const bool both =
      operands.size() == 2 && ((operands[0] == a && operands[1] == b) || (operands[0] == b && operands[1] == a));
  return both && region.outputs()[0] == node.first_result ? node.op : nullptr;
}

bool returns(const Graph& region, size_t index) {
  return region.outputs().size() == 1 && region.inputs().size() > index &&
         region.outputs()[0] == region.inputs()[index].value;
}

std::vector<std::shared_ptr<const Graph>> scalar_regions(ir::Reader& reader, std::span<const DType> dtypes) {
  std::vector<TensorType> types;
  for (const DType dtype : dtypes) types.push_back({dtype, {}});
  std::vector<ValueId> captured;
  const Regions regions = reader.regions(captured, types);
  if (regions.empty()) reader.fail("its region is missing");
  if (!captured.empty()) reader.unsupported(reader.operation().name + " by a region that reads values around it");
  std::vector<std::shared_ptr<const Graph>> out;
  for (const auto& region : regions) out.push_back(std::static_pointer_cast<const Graph>(region));
  return out;
}

}  // namespace hone::compiler
