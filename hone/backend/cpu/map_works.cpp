#include "hone/backend/cpu/map_works.h"

#include <algorithm>
#include <optional>

#include "hone/compiler/plan.h"
#include "hone/compiler/row_space.h"
#include "hone/ir/region.h"
#include "hone/math/map_rows.h"
#include "hone/ops/attrs.h"
#include "hone/ops/box.h"
#include "hone/ops/table.h"
#include "hone/ops/views.h"

namespace hone {
namespace {

using math::MapRows;

constexpr int64_t kGrain = 32768;  // calls times elements that are worth a thread
constexpr int64_t kShortRow = 32;  // elements: copying what is broadcast costs less than rows of so few

// Axes of a loop over several arrays, outermost first; steps in elements.
struct Axes {
  std::vector<int64_t> size;
  std::vector<std::vector<int64_t>> steps;  // by axis, by array
};

// Neighbours that run on in all arrays become one.
Axes merged(const Shape& shape, const std::vector<Ints>& strides) {
  Axes axes;
  for (int i = 0; i < shape.rank(); ++i) {
    const int64_t n = shape[i].number();
    if (n == 1) continue;
    std::vector<int64_t> steps;
    for (const Ints& each : strides) steps.push_back(each[static_cast<size_t>(i)]);
    bool joins = !axes.size.empty();
    for (size_t k = 0; joins && k < steps.size(); ++k) joins = axes.steps.back()[k] == steps[k] * n;
    if (joins) {
      axes.size.back() *= n;
      axes.steps.back() = steps;
    } else {
      axes.size.push_back(n);
      axes.steps.push_back(steps);
    }
  }
  if (axes.size.empty()) axes.size.push_back(1), axes.steps.emplace_back(strides.size(), 0);
  return axes;
}

// Elements from one row of n to the next, if rows lie in one piece and evenly.
std::optional<int64_t> row_step(const Shape& shape, const Ints& strides, int64_t n) {
  const Axes axes = merged(shape, {strides});
  const int64_t inner = axes.size.back(), step = axes.steps.back()[0];
  if (axes.size.size() == 1 && (step == 1 || n == 1)) return step * n;
  if (axes.size.size() == 2 && inner == n && step == 1) return axes.steps[0][0];
  return {};
}

// What a cluster folds, as calls of reductions behind it: each reads a value that the cluster then gives as well.
struct Unfolded {
  FusionAttrs cluster;
  std::vector<TensorType> types;   // its results: the query's that are not folded, then what is folded
  std::vector<WorkMemory> memory;  // where they go
  std::vector<int64_t> temporaries;
  struct Fold {
    const ir::Node* node;
    size_t result;  // of the cluster
    int32_t output;
  };
  std::vector<Fold> folds;
};

Unfolded unfolded(const ir::Graph& body, const compiler::RowSpace& space) {
  Unfolded to;
  ir::Builder builder(body.shared_context());
  std::vector<ir::ValueId> made(body.values()), outputs;
  std::vector<size_t> given(body.values(), SIZE_MAX);  // which result a value is
  for (const ir::Input& input : body.inputs()) made[input.value] = builder.add_input(body.type(input.value), {});
  for (const ir::Node& node : body.nodes()) {
    if (space.is_fold[node.first_result] != 0) continue;
    SmallVector<ir::ValueId, 4> operands;
    for (const ir::ValueId operand : body.operands(node)) operands.push_back(made[operand]);
    made[node.first_result] = builder.add_one(*node.op, node.attrs, {operands.data(), operands.size()}, node.origin);
  }
  const auto give = [&](ir::ValueId value, WorkMemory memory) {
    given[value] = outputs.size();
    outputs.push_back(made[value]);
    to.types.push_back(body.type(value));
    to.memory.push_back(memory);
  };
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    if (space.is_fold[body.outputs()[i]] == 0) give(body.outputs()[i], {WorkMemory::Output, static_cast<int32_t>(i)});
  }
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    if (space.is_fold[body.outputs()[i]] == 0) continue;
    const ir::Node& node = body.nodes()[body.producer(body.outputs()[i])];
    const ir::ValueId x = body.operands(node)[0];
    if (given[x] == SIZE_MAX) {
      const TensorType& type = body.type(x);
      give(x, {WorkMemory::Temporary, static_cast<int32_t>(to.temporaries.size())});
      to.temporaries.push_back(type.shape.count() * static_cast<int64_t>(size_of(type.dtype)));
    }
    to.folds.push_back({&node, given[x], static_cast<int32_t>(i)});
  }
  to.cluster.body.push_back(std::make_shared<ir::Graph>(builder.finish(std::move(outputs))));
  return to;
}

// `from`'s works behind those of `to`, on other operands and results.
void append(Works& to, Works from, std::span<const WorkMemory> inputs, std::span<const WorkMemory> outputs) {
  const auto first = static_cast<int32_t>(to.temporaries.size());
  for (Work& work : from.works) {
    for (WorkMemory& m : work.memory) {
      const auto index = static_cast<size_t>(m.index);
      const int64_t offset = m.offset;
      m = m.kind == WorkMemory::Input    ? inputs[index]
          : m.kind == WorkMemory::Output ? outputs[index]
                                         : WorkMemory{WorkMemory::Temporary, first + m.index};
      m.offset += offset;
    }
    to.works.push_back(std::move(work));
  }
  to.temporaries.insert(to.temporaries.end(), from.temporaries.begin(), from.temporaries.end());
}

Works folding_works(const KernelQuery& query, const ir::Graph& body, const compiler::RowSpace& space) {
  const Unfolded parts = unfolded(body, space);
  Works works;
  works.temporaries = parts.temporaries;
  SmallVector<WorkMemory, 8> inputs;
  for (size_t i = 0; i < query.inputs.size(); ++i) inputs.push_back({WorkMemory::Input, static_cast<int32_t>(i)});
  append(works, map_works({ops::fusion, parts.cluster, query.inputs, parts.types}), {inputs.data(), inputs.size()},
         parts.memory);
  for (const auto& [node, result, output] : parts.folds) {
    const Tensor x = compiler::placeholder(body.type(body.operands(*node)[0]));
    const TensorType& type = query.outputs[static_cast<size_t>(output)];
    const WorkMemory to{WorkMemory::Output, output};
    append(works, kernels(*node->op)[0].works({*node->op, node->attrs, {&x, 1}, {&type, 1}}),
           {&parts.memory[result], 1}, {&to, 1});
  }
  return works;
}

}  // namespace

Works map_works(const KernelQuery& query) {
  if (&query.op == &ops::fusion) {
    const ir::Graph& body = ir::graph_of(query.attrs.as<FusionAttrs>().body[0]);
    const compiler::RowSpace space(body);
    if (space.fold.extent > 0) return folding_works(query, body, space);
  }
  Works works;
  const Shape& shape = query.outputs[0].shape;
  if (shape.count() == 0) return works;
  auto cluster = std::make_shared<compiler::MapDescription>(query);
  const size_t operands = query.inputs.size();
  std::vector<Ints> strides;
  for (const Tensor& input : query.inputs) strides.push_back(strides_of(input));
  for (const TensorType& output : query.outputs) strides.push_back(dense_strides(output.shape));
  SmallVector<WorkMemory, 4> memory;
  for (size_t i = 0; i < operands; ++i) memory.push_back({WorkMemory::Input, static_cast<int32_t>(i)});
  for (size_t i = 0; i < query.outputs.size(); ++i) memory.push_back({WorkMemory::Output, static_cast<int32_t>(i)});

  // A dense copy of what code cannot read where it lies.
  const auto pack = [&](size_t i) {
    const auto item = static_cast<size_t>(size_of(query.inputs[i].dtype()));
    const Shape& own = query.inputs[i].shape();
    const WorkMemory packed{WorkMemory::Temporary, static_cast<int32_t>(works.temporaries.size())};
    works.works.push_back(box_work({own.numbers(), dense_strides(own), strides[i]}, item, memory[i], packed));
    works.temporaries.push_back(own.count() * static_cast<int64_t>(item));
    memory[i] = packed;
    strides[i] = dense_strides(own);
  };
  if (cluster->length > 1) {
    math::ReducedRows rows;
    rows.length = cluster->length;
    rows.arrays = static_cast<int32_t>(memory.size()), rows.kept = static_cast<int32_t>(cluster->kept.size());
    for (size_t i = 0; i < memory.size(); ++i) {
      const bool operand = i < operands;
      const Shape& own = operand ? query.inputs[i].shape() : query.outputs[i - operands].shape;
      const int64_t n = own.count() / cluster->rows;  // elements of a row
      const std::optional<int64_t> step = operand ? row_step(own, strides[i], n) : n;
      if (!step) pack(i);
      rows.step[i] = step.value_or(n) * cluster->items[i];
    }
    Work work = Work::of(math::WorkId::MapReduced, rows);
    work.memory = std::move(memory);
    work.count = cluster->rows;
    work.grain = std::max<int64_t>(kGrain / std::max<int64_t>(std::ssize(cluster->steps), 1) / cluster->length, 1);
    work.scratch = std::ssize(cluster->kept) * math::kept_bytes(cluster->length);
    work.cluster = std::move(cluster);
    works.works.push_back(std::move(work));
    return works;
  }
  for (size_t i = 0; i < operands; ++i) {
    const int64_t step = merged(shape, {strides[i]}).steps.back()[0];
    if (step != 0 && step != 1) pack(i);
  }
  Axes axes = merged(shape, strides);
  const bool too_many = axes.size.size() > MapRows::kMaxOuter + 1;
  if (axes.size.size() > 1 && (axes.size.back() < kShortRow || too_many)) {
    for (size_t i = 0; i < operands; ++i) {
      if (merged(shape, {strides[i], dense_strides(shape)}).size.size() > 1) pack(i);
    }
    axes = merged(shape, strides);
  }

  MapRows rows;
  rows.row = axes.size.back();
  rows.arrays = static_cast<int32_t>(strides.size()), rows.operands = static_cast<int32_t>(operands);
  rows.outer_rank = static_cast<int32_t>(axes.size.size()) - 1;
  for (size_t i = 0; i < strides.size(); ++i) {
    rows.item[i] = cluster->items[i];
    rows.one[i] = i < operands && axes.steps.back()[i] == 0 && rows.row > 1;
    if (rows.one[i]) cluster->splats |= uint64_t{1} << i;
    for (int32_t axis = 0; axis < rows.outer_rank; ++axis)
      rows.outer_step[axis][i] = axes.steps[static_cast<size_t>(axis)][i] * rows.item[i];
  }
  for (int32_t axis = 0; axis < rows.outer_rank; ++axis) rows.outer_size[axis] = axes.size[static_cast<size_t>(axis)];
  Work work = Work::of(math::WorkId::Map, rows);
  work.memory = std::move(memory);
  work.count = shape.count();
  work.grain = std::max<int64_t>(kGrain / std::max<int64_t>(std::ssize(cluster->steps), 1), 1024);
  work.scratch = static_cast<int64_t>(strides.size()) * codegen::kVectorBytes;
  work.cluster = std::move(cluster);
  works.works.push_back(std::move(work));
  return works;
}

Work convert_work(const TensorType& type, DType to, WorkMemory source, WorkMemory target) {
  const Tensor from = compiler::placeholder(type);
  const TensorType result{to, type.shape};
  const DTypeAttrs attrs{to};
  Works works = map_works({ops::convert, attrs, {&from, 1}, {&result, 1}});
  works.works[0].memory = {source, target};
  return std::move(works.works[0]);
}

}  // namespace hone
