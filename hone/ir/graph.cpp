#include "hone/ir/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "hone/base/error.h"
#include "hone/base/hash.h"
#include "hone/tensor/interpreter.h"

namespace hone::ir {
namespace {

uint64_t hash_type(const TensorType& type) {
  uint64_t hash = static_cast<uint64_t>(type.dtype);
  for (Dim d : type.shape) hash = hash_combine(hash, static_cast<uint64_t>(d.key()));
  return hash_combine(hash, type.shape.size());
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (a.id() == b.id()) return true;
  return a.type() == b.type() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

constexpr size_t kMaxLines = 4;  // of one origin

}  // namespace

struct Context::Tables {
  std::deque<TensorType> types;
  std::deque<Attrs> attrs;
  std::deque<Origin> origins;
  std::unordered_multimap<uint64_t, const TensorType*> type_index;
  std::unordered_multimap<uint64_t, AttrRef> attr_index;
  std::unordered_multimap<uint64_t, uint32_t> origin_index;
  std::unordered_map<uint64_t, uint32_t> merged;
};

Context::Context(bool merges) : tables_(std::make_unique<Tables>()), merges_(merges) {
  tables_->origins.emplace_back();
}
Context::~Context() = default;

const TensorType* Context::intern(const TensorType& type) {
  const uint64_t hash = hash_type(type);
  const auto [first, last] = tables_->type_index.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    if (*at->second == type) return at->second;
  }
  const TensorType* const kept = &tables_->types.emplace_back(type);
  tables_->type_index.emplace(hash, kept);
  return kept;
}

namespace {

Graph detached(const Graph& graph, const Context& from, bool merges);

// Gives regions that share the context `from` one of their own: a context that kept them would keep itself.
class Detacher final : public AttrVisitor {
 public:
  explicit Detacher(const Context& from) : from_(from) {}
  void field(const char*, int64_t&) override {}
  void field(const char*, double&) override {}
  void field(const char*, bool&) override {}
  void field(const char*, DType&) override {}
  void field(const char*, Shape&) override {}
  void field(const char*, Ints&) override {}
  void field(const char*, std::string&) override {}
  void field(const char*, Regions& regions) override {
    for (auto& region : regions) {
      const auto& graph = static_cast<const Graph&>(*region);
      if (graph.shared_context().get() == &from_)
        region = std::make_shared<Graph>(detached(graph, from_, from_.merges()));
    }
  }

 private:
  const Context& from_;
};

Attrs detached(AttrRef attrs, const Context& from) {
  Attrs own(attrs);
  Detacher detacher(from);
  const AttrRef ref = own;
  ref.type()->visit(const_cast<void*>(ref.data()), detacher);
  return own;
}

bool has_regions(AttrRef attrs) { return attrs.type() && !attrs.type()->trivial && !regions_of(attrs).empty(); }

Graph detached(const Graph& graph, const Context& from, bool merges) {
  Builder builder(std::make_shared<Context>(merges));
  std::vector<ValueId> map(graph.values(), kNone);
  for (const Input& input : graph.inputs()) map[input.value] = builder.add_input(graph.type(input.value), input);
  for (const Node& node : graph.nodes()) {
    SmallVector<ValueId, 8> operands;
    for (const ValueId operand : graph.operands(node)) operands.push_back(map[operand]);
    const Attrs own = has_regions(node.attrs) ? detached(node.attrs, from) : Attrs();
    const uint32_t made =
        builder.add(*node.op, has_regions(node.attrs) ? AttrRef(own) : node.attrs, {operands.data(), operands.size()},
                    node.results, builder.context().add(graph.origin(node)), node.again);
    for (uint32_t i = 0; i < node.results; ++i)
      map[node.first_result + i] = builder.graph().nodes()[made].first_result + i;
  }
  std::vector<ValueId> outputs;
  for (const ValueId output : graph.outputs()) outputs.push_back(map[output]);
  Graph result = builder.finish(std::move(outputs));
  result.name = graph.name;
  return result;
}

}  // namespace

Graph merged(const Graph& graph) { return detached(graph, graph.context(), true); }

AttrRef Context::intern(AttrRef attrs) {
  if (!attrs.type()) return {};
  Attrs own;  // numbers its values anew, so it is what equal regions are found by
  const bool regions = has_regions(attrs);
  if (regions) own = detached(attrs, *this), attrs = AttrRef(own);
  const uint64_t hash = hone::hash(attrs);
  const auto [first, last] = tables_->attr_index.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    if (equal(at->second, attrs)) return at->second;
  }
  const AttrRef kept =
      regions ? AttrRef(tables_->attrs.emplace_back(std::move(own))) : AttrRef(tables_->attrs.emplace_back(attrs));
  tables_->attr_index.emplace(hash, kept);
  return kept;
}

uint32_t Context::add(Origin origin) {
  uint64_t hash = hash_of(origin.layer);
  for (const Location& line : origin.lines) hash = hash_combine(hash, hash_of(line.file, line.line));
  const auto equal_lines = [](const Location& a, const Location& b) {
    return a.line == b.line && std::string_view(a.file) == b.file;
  };
  const auto [first, last] = tables_->origin_index.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    const Origin& known = tables_->origins[at->second];
    if (known.layer == origin.layer && std::ranges::equal(known.lines, origin.lines, equal_lines)) return at->second;
  }
  const auto index = static_cast<uint32_t>(tables_->origins.size());
  tables_->origins.push_back(std::move(origin));
  tables_->origin_index.emplace(hash, index);
  return index;
}

const Origin& Context::origin(uint32_t index) const { return tables_->origins[index]; }

uint32_t Context::merge(uint32_t a, uint32_t b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  const uint64_t key = static_cast<uint64_t>(a) << 32 | b;
  if (const auto found = tables_->merged.find(key); found != tables_->merged.end()) return found->second;
  Origin both = origin(a);
  for (const Location& line : origin(b).lines) {
    const bool known = std::ranges::any_of(
        both.lines, [&](const Location& l) { return l.line == line.line && std::string_view(l.file) == line.file; });
    if (!known && both.lines.size() < kMaxLines) both.lines.push_back(line);
  }
  const uint32_t index = add(std::move(both));
  tables_->merged.emplace(key, index);
  return index;
}

bool Graph::is_static() const {
  return std::ranges::all_of(types_, [](const TensorType* type) { return type->shape.is_static(); });
}

uint64_t Graph::fingerprint() const {
  uint64_t hash = nodes_.size();
  for (const Input& input : inputs_) hash = hash_combine(hash, hash_type(type(input.value)));
  for (const Node& node : nodes_) {
    hash = hash_combine(hash, hash_of(node.op->name));
    hash = hash_combine(hash, hone::hash(node.attrs));
    hash = hash_combine(hash, hash_of(operands(node)));
  }
  return hash_combine(hash, hash_of(std::span<const ValueId>(outputs_)));
}

bool Graph::same(const Region& region) const {
  const auto& other = static_cast<const Graph&>(region);
  if (this == &other) return true;
  const auto same_input = [&](const Input& a, const Input& b) {
    return a.value == b.value && a.kind == b.kind && type(a.value) == other.type(b.value) &&
           (!a.tensor.defined() || !b.tensor.defined() || same_bytes(a.tensor, b.tensor));
  };
  const auto same_node = [&](const Node& a, const Node& b) {
    return a.op == b.op && equal(a.attrs, b.attrs) && a.first_result == b.first_result && a.results == b.results &&
           std::ranges::equal(operands(a), other.operands(b));
  };
  return std::ranges::equal(inputs_, other.inputs_, same_input) &&
         std::ranges::equal(nodes_, other.nodes_, same_node) && outputs_ == other.outputs_;
}

Cost cost_of(const Graph& graph, const Node& node) {
  if (!node.op->cost) return {};
  SmallVector<const TensorType*, 8> inputs;
  SmallVector<TensorType, 4> outputs;
  for (const ValueId operand : graph.operands(node)) inputs.push_back(&graph.type(operand));
  for (uint32_t i = 0; i < node.results; ++i) outputs.push_back(graph.type(node.first_result + i));
  return node.op->cost(node.attrs, {inputs.data(), inputs.size()}, {outputs.data(), outputs.size()});
}

bool has_effect(const Node& node) {
  if (node.op->op_class == OpClass::Effect) return !node.op->effects || node.op->effects(node.attrs);
  for (const auto& region : regions_of(node.attrs)) {
    if (std::ranges::any_of(static_cast<const Graph&>(*region).nodes(), has_effect)) return true;
  }
  return false;
}

Users::Users(const Graph& graph) : first(graph.values() + 1), outputs(graph.values()) {
  for (const Node& node : graph.nodes()) {
    for (const ValueId operand : graph.operands(node)) ++first[operand + 1];
  }
  for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  nodes.resize(first.back());
  std::vector<uint32_t> at(first.begin(), first.end() - 1);
  for (uint32_t n = 0; n < graph.nodes().size(); ++n) {
    for (const ValueId operand : graph.operands(graph.nodes()[n])) nodes[at[operand]++] = n;
  }
  for (const ValueId output : graph.outputs()) ++outputs[output];
}

// Pure nodes by what they compute; open addressing, grown at half.
struct Builder::Index {
  std::vector<uint32_t> slots = std::vector<uint32_t>(64, kNone);
  std::vector<uint64_t> hashes;  // by node
  size_t used = 0;

  void insert(uint64_t hash, uint32_t node) {
    if (2 * ++used > slots.size()) {
      std::vector<uint32_t> old(2 * slots.size(), kNone);
      old.swap(slots);
      for (const uint32_t each : old) {
        if (each != kNone) place(hashes[each], each);
      }
    }
    place(hash, node);
  }
  void place(uint64_t hash, uint32_t node) {
    size_t at = hash & (slots.size() - 1);
    while (slots[at] != kNone) at = (at + 1) & (slots.size() - 1);
    slots[at] = node;
  }
};

Builder::Builder(std::shared_ptr<Context> context) : graph_(std::move(context)), index_(std::make_unique<Index>()) {}
Builder::~Builder() = default;

ValueId Builder::add_input(const TensorType& type, Input input) {
  input.value = graph_.values();
  graph_.types_.push_back(graph_.context().intern(type));
  graph_.producers_.push_back(kNone);
  graph_.inputs_.push_back(std::move(input));
  return graph_.values() - 1;
}

uint32_t Builder::add(const Op& op, AttrRef attrs, std::span<const ValueId> operands, uint32_t results, uint32_t origin,
                      bool again) {
  Graph& g = graph_;
  Node node{&op,
            g.context().intern(attrs),
            static_cast<uint32_t>(g.operands_.size()),
            static_cast<uint32_t>(operands.size()),
            g.values(),
            results,
            origin};
  uint64_t hash = hash_combine(reinterpret_cast<uintptr_t>(&op), reinterpret_cast<uintptr_t>(node.attrs.data()));
  for (const ValueId operand : operands) hash = hash_combine(hash, operand);
  node.again = again;
  const bool pure = !again && g.context().merges() && !has_effect(node);
  if (pure) {
    for (size_t at = hash & (index_->slots.size() - 1); index_->slots[at] != kNone;
         at = (at + 1) & (index_->slots.size() - 1)) {
      const uint32_t found = index_->slots[at];
      Node& known = g.nodes_[found];
      if (index_->hashes[found] != hash || known.op != &op || known.attrs.data() != node.attrs.data() ||
          known.results != results || !std::ranges::equal(g.operands(known), operands))
        continue;
      known.origin = g.context().merge(known.origin, origin);
      return found;
    }
  }
  SmallVector<const TensorType*, 8> inputs;
  for (const ValueId operand : operands) inputs.push_back(g.types_[operand]);
  SmallVector<TensorType, 4> outputs(results);
  InferContext context(op, node.attrs, {inputs.data(), inputs.size()}, {outputs.data(), outputs.size()},
                       g.context().origin(origin).location());
  op.infer(context);
  const auto index = static_cast<uint32_t>(g.nodes_.size());
  g.operands_.insert(g.operands_.end(), operands.begin(), operands.end());
  for (const TensorType& type : outputs) {
    g.types_.push_back(g.context().intern(type));
    g.producers_.push_back(index);
  }
  g.nodes_.push_back(node);
  index_->hashes.push_back(hash);
  if (pure) index_->insert(hash, index);
  return index;
}

Graph Builder::finish(std::vector<ValueId> outputs) {
  graph_.outputs_ = std::move(outputs);
  return std::move(graph_);
}

Rewriter::Rewriter(const Graph& from) : from_(from), builder_(from.shared_context()), map_(from.values(), kNone) {
  for (const Input& input : from.inputs()) map_[input.value] = builder_.add_input(from.type(input.value), input);
}

SmallVector<ValueId, 8> Rewriter::operands(const Node& node) const {
  SmallVector<ValueId, 8> mapped;
  for (const ValueId operand : from_.operands(node)) mapped.push_back(map_[operand]);
  return mapped;
}

void Rewriter::copy(const Node& node) {
  const SmallVector<ValueId, 8> mapped = operands(node);
  const uint32_t made =
      builder_.add(*node.op, node.attrs, {mapped.data(), mapped.size()}, node.results, node.origin, node.again);
  const ValueId first = builder_.graph().nodes()[made].first_result;
  for (uint32_t i = 0; i < node.results; ++i) map_[node.first_result + i] = first + i;
}

Graph Rewriter::finish() {
  std::vector<ValueId> outputs;
  for (const ValueId output : from_.outputs()) outputs.push_back(map_[output]);
  Graph graph = builder_.finish(std::move(outputs));
  graph.name = from_.name;
  return graph;
}

Graph prune(const Graph& graph) {
  std::vector<bool> read(graph.values());
  for (const ValueId output : graph.outputs()) read[output] = true;
  std::vector<bool> kept(graph.nodes().size());
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    kept[i] = has_effect(node);
    for (uint32_t r = 0; r < node.results; ++r) kept[i] = kept[i] || read[node.first_result + r];
    if (!kept[i]) continue;
    for (const ValueId operand : graph.operands(node)) read[operand] = true;
  }
  Rewriter rewriter(graph);
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) rewriter.copy(graph.nodes()[i]);
  }
  return rewriter.finish();
}

namespace {

// Puts numbers for symbols into a copy of attributes.
class Binder final : public AttrVisitor {
 public:
  using Lookup = std::function<int64_t(std::string_view)>;
  explicit Binder(const Lookup& lookup) : lookup_(lookup) {}
  void field(const char*, int64_t&) override {}
  void field(const char*, double&) override {}
  void field(const char*, bool&) override {}
  void field(const char*, DType&) override {}
  void field(const char*, Ints&) override {}
  void field(const char*, std::string&) override {}
  void field(const char*, Shape& shape) override { shape = bound(shape); }
  void field(const char*, Regions& regions) override {
    for (auto& region : regions) region = std::make_shared<Graph>(bind(static_cast<const Graph&>(*region), lookup_));
  }
  Shape bound(const Shape& shape) const {
    Shape out;
    for (const Dim dim : shape)
      out.push_back(dim.evaluate([this](std::string_view symbol) { return lookup_(symbol); }));
    return out;
  }

 private:
  const Lookup& lookup_;
};

}  // namespace

Graph bind(const Graph& graph, const std::function<int64_t(std::string_view)>& lookup) {
  Binder binder(lookup);
  Builder builder(graph.shared_context());
  std::vector<ValueId> map(graph.values(), kNone);
  for (const Input& input : graph.inputs()) {
    const TensorType& type = graph.type(input.value);
    map[input.value] = builder.add_input({type.dtype, binder.bound(type.shape)}, input);
  }
  for (const Node& node : graph.nodes()) {
    Attrs attrs(node.attrs);
    const AttrRef ref = attrs;
    if (ref.type()) ref.type()->visit(const_cast<void*>(ref.data()), binder);
    SmallVector<ValueId, 8> operands;
    for (const ValueId operand : graph.operands(node)) operands.push_back(map[operand]);
    const uint32_t made =
        builder.add(*node.op, ref, {operands.data(), operands.size()}, node.results, node.origin, node.again);
    for (uint32_t i = 0; i < node.results; ++i)
      map[node.first_result + i] = builder.graph().nodes()[made].first_result + i;
  }
  std::vector<ValueId> outputs;
  for (const ValueId output : graph.outputs()) outputs.push_back(map[output]);
  Graph bound = builder.finish(std::move(outputs));
  bound.name = graph.name;
  return bound;
}

void dispatch_node(const Graph& graph, const Node& node, std::span<Tensor> operands, std::span<Tensor> values) {
  Call call{*node.op, node.attrs, operands, values.subspan(node.first_result, node.results),
            graph.origin(node).location()};
  dispatch(call);
}

void dispatch_node(const Graph& graph, const Node& node, std::span<Tensor> values) {
  SmallVector<Tensor, 8> operands;
  for (const ValueId operand : graph.operands(node)) operands.push_back(values[operand]);
  dispatch_node(graph, node, {operands.data(), operands.size()}, values);
}

std::vector<Tensor> interpret(const Graph& graph, std::span<const Tensor> inputs) {
  std::vector<uint32_t> reads(graph.values());
  for (const Node& node : graph.nodes()) {
    for (const ValueId operand : graph.operands(node)) ++reads[operand];
  }
  for (const ValueId output : graph.outputs()) ++reads[output];
  std::vector<Tensor> values(graph.values());
  for (size_t i = 0; i < graph.inputs().size(); ++i) values[graph.inputs()[i].value] = inputs[i];
  for (const Node& node : graph.nodes()) {
    SmallVector<Tensor, 8> operands;
    for (const ValueId operand : graph.operands(node))
      operands.push_back(--reads[operand] == 0 ? std::move(values[operand]) : values[operand]);
    dispatch_node(graph, node, {operands.data(), operands.size()}, values);
    for (uint32_t i = 0; i < node.results; ++i) {
      if (reads[node.first_result + i] == 0) values[node.first_result + i] = Tensor();
    }
  }
  std::vector<Tensor> outputs;
  for (const ValueId output : graph.outputs()) outputs.push_back(values[output]);
  return outputs;
}

void verify(const Graph& graph, std::string_view after) {
  const auto fail = [&](std::string what, const Node* node) {
    throw Error(Code::kInternal, {.what = fmt::format("the graph after {} is malformed: {}", after, what),
                                  .location = node ? graph.origin(*node).location() : Location{},
                                  .fix = "this is a defect of Hone: report it with the program"});
  };
  std::vector<bool> known(graph.values());
  for (const Input& input : graph.inputs()) known[input.value] = true;
  for (const Node& node : graph.nodes()) {
    SmallVector<const TensorType*, 8> inputs;
    for (const ValueId operand : graph.operands(node)) {
      if (operand >= graph.values() || !known[operand])
        fail(fmt::format("{} reads value {} before it is made", node.op->name, operand), &node);
      inputs.push_back(&graph.type(operand));
    }
    SmallVector<TensorType, 4> outputs(node.results);
    InferContext context(*node.op, node.attrs, {inputs.data(), inputs.size()}, {outputs.data(), outputs.size()},
                         graph.origin(node).location());
    node.op->infer(context);
    for (uint32_t i = 0; i < node.results; ++i) {
      if (!(outputs[i] == graph.type(node.first_result + i)))
        fail(fmt::format("{} gives {}, noted as {}", node.op->name, to_string(outputs[i]),
                         to_string(graph.type(node.first_result + i))),
             &node);
      known[node.first_result + i] = true;
    }
    for (const auto& region : regions_of(node.attrs)) verify(static_cast<const Graph&>(*region), after);
  }
  for (const ValueId output : graph.outputs()) {
    if (output >= graph.values() || !known[output]) fail(fmt::format("output {} is never made", output), nullptr);
  }
}

}  // namespace hone::ir
