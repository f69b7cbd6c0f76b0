// Where StableHLO spells a call otherwise than by the op's name and fields: one entry an op or spelling, by family.
#pragma once
#include <functional>
#include <span>
#include <string_view>

#include "hone/ir/text_writer.h"
#include "hone/ops/attrs.h"
#include "hone/ops/table.h"

namespace hone::compiler {

/// Writes calls of an op; false where this call does not fit (the default or a composite does).
struct WriteForm {
  const Op* op;
  bool (*write)(ir::Writer& writer, const ir::Node& node);
};

/// Reads operations of this name.
struct ReadForm {
  std::string_view name;
  void (*read)(ir::Reader& reader);
};

/// A family's entries.
struct Forms {
  std::span<const WriteForm> write;
  std::span<const ReadForm> read;
};
Forms elementwise_forms();
Forms movement_forms();
Forms indexing_forms();
Forms reduction_forms();
Forms sorting_forms();
Forms contraction_forms();
Forms control_forms();
Forms check_forms();

/// Reads check.expect_eq and its kin, also as targets of custom calls; false for other names.
bool read_check(ir::Reader& reader, std::string_view name);

/// A program in public ops, recorded over values of these types.
using Formula = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
ir::Graph record(const std::shared_ptr<ir::Context>& context, std::span<const TensorType> types,
                 const Formula& formula);
/// The operation at hand is this formula of its operands (of these values).
void read_formula(ir::Reader& reader, const Formula& formula);
std::vector<ir::ValueId> apply(ir::Reader& reader, std::span<const ir::ValueId> values, const Formula& formula);

/// stablehlo.composite "hone.NAME" with this decomposition.
bool write_composite(ir::Writer& writer, const ir::Node& node, const Formula& formula);

/// True if all operands and results have static shapes.
bool is_static(const ir::Writer& writer, const ir::Node& node);
/// A tensor of one element, rank 0.
Tensor scalar(double value, DType dtype);
/// "a, b"
std::string joined(const std::vector<std::string>& parts);
/// x in another shape, each axis of x at `dimensions`.
ir::ValueId broadcast(ir::Reader& reader, ir::ValueId x, const Shape& shape, const Ints& dimensions = {});

/// What a region of two scalars combines with: the op of its only node, over both arguments; null for other programs.
const Op* combiner(const ir::Graph& region);
/// True if the region returns its argument `index`.
bool returns(const ir::Graph& region, size_t index);
/// What does not change what `combine` combines it with, rank 0.
Tensor identity(const Op& combine, DType dtype);
/// The regions of the operation at hand over scalars of these dtypes; they may not read values around.
std::vector<std::shared_ptr<const ir::Graph>> scalar_regions(ir::Reader& reader, std::span<const DType> dtypes);

}  // namespace hone::compiler
