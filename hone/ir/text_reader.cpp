#include "hone/ir/text_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <unordered_set>

#include "hone/base/error.h"

namespace hone::ir {
namespace {

using text::Attribute;
using Kind = Attribute::Kind;
constexpr int kMaxDepth = 100;               // of calls and regions
constexpr int64_t kMaxOperations = 4 << 20;  // with calls inlined
constexpr size_t kListed = 50;               // unsupported things in one message

// Locations point to static storage; there are few files.
const char* kept(const std::string& file) {
  static std::mutex mutex;
  static auto* files = new std::unordered_set<std::string>;
  const std::lock_guard lock(mutex);
  return files->insert(file).first->c_str();
}

}  // namespace

// A builder: of the program, or of a region in it, which takes what it reads from around as inputs.
struct Reader::Level {
  Level(std::shared_ptr<Context> context, Level* parent) : builder(std::move(context)), parent(parent) {}
  Builder builder;
  Level* parent;
  std::vector<std::pair<ValueId, ValueId>> captures;  // value around, input here
  std::unordered_map<uint64_t, ValueId> constants;    // by the tensor's id
};

// What a name stands for.
struct Reader::Bound {
  enum class Kind : uint8_t { Poison, Value, Literal } kind = Kind::Poison;
  ValueId value = kNone;
  Level* level = nullptr;
  Tensor elements;
  TensorType type;
  uint32_t origin = 0;
};

// The names of a function or region.
struct Reader::Frame {
  explicit Frame(const Frame* parent) : parent(parent) {}
  const Frame* parent;
  std::unordered_map<std::string, std::vector<Bound>> names;
};

Reader::Reader(const text::Module& module, const Dialect& dialect)
    : module_(module), dialect_(dialect), context_(std::make_shared<Context>()) {}
Reader::~Reader() = default;

void Reader::fail(text::Place place, std::string_view what) const {
  throw Error(Code::kInvalidArgument, fmt::format("{}:{}:{}: {}", module_.file, place.line, place.column, what));
}
void Reader::fail(std::string_view what) const {
  fail(operation_->place, fmt::format("{}: {}", operation_->name, what));
}

void Reader::note(text::Place place, std::string what) { unsupported_.emplace(place, std::move(what)); }
void Reader::unsupported(std::string what) {
  note(operation_->place, std::move(what));
  throw Skip();
}

void Reader::enter(text::Place place) {
  if (depth_ <= kMaxDepth) return;
  throw Error(Code::kInvalidArgument,
              fmt::format("{}:{}:{}: more than {} calls and regions in each other", module_.file, place.line,
                          place.column, kMaxDepth),
              "a function that calls itself has no end here: repeat with stablehlo.while");
}

const text::Operation& Reader::find_function(std::string_view name) const {
  for (const text::Operation& function : module_.functions) {
    const Attribute* const symbol = function.find("sym_name");
    if (symbol && symbol->text == name && !function.regions.empty()) return function;
  }
  std::string there;
  for (const text::Operation& function : module_.functions) {
    if (const Attribute* const symbol = function.find("sym_name"); symbol && !function.regions.empty())
      there += (there.empty() ? "@" : ", @") + symbol->text;
  }
  throw Error(Code::kInvalidArgument, {.what = fmt::format("{}: there is no function @{}", module_.file, name),
                                       .details = {"functions with a body: " + (there.empty() ? "none" : there)},
                                       .fix = name == "main" ? "call the function to run @main" : ""});
}

Graph Reader::read() {
  const bool single = module_.functions.size() == 1 && !module_.functions[0].regions.empty();
  const text::Operation& main = single ? module_.functions[0] : find_function("main");
  Level level(context_, nullptr);
  Frame frame(nullptr);
  level_ = &level;
  operation_ = &main;
  read_symbols(main);
  const text::Region& body = main.regions[0];
  const Attribute* const attributes = main.find("arg_attrs");
  std::vector<Bound> inputs;
  for (size_t i = 0; i < body.arguments.size(); ++i) {
    text::Argument argument = body.arguments[i];
    if (attributes && i < attributes->items.size()) argument.attributes = attributes->items[i].fields;
    inputs.push_back(input(argument));
  }
  arguments(body, inputs, frame);
  const std::vector<Bound> returned = block(body, frame);
  if (!unsupported_.empty()) {
    ErrorParts parts{.what = fmt::format("{} uses what Hone does not support", module_.file)};
    for (const auto& [place, what] : unsupported_) {
      if (parts.details.size() < kListed)
        parts.details.push_back(fmt::format("{}:{}: {}", place.line, place.column, what));
    }
    if (unsupported_.size() > kListed)
      parts.details.push_back(fmt::format("and {} more", unsupported_.size() - kListed));
    parts.fix =
        "write these parts with other ops, and the types with numbers of known extents; docs/ir-text.md says "
        "what is read";
    throw Error(Code::kUnsupported, std::move(parts));
  }
  std::vector<ValueId> outputs;
  for (const Bound& bound : returned) outputs.push_back(materialize(bound, level));
  for (size_t i = 0; i < outputs.size() && i < main.result_types.size(); ++i)
    check_type(level.builder.graph().type(outputs[i]), main.result_types[i], main.place);
  for (uint32_t i = 0; i < level.builder.graph().inputs().size(); ++i) {
    Input& given = level.builder.input(i);
    if (given.new_value != kNone && given.new_value >= outputs.size())
      fail(main.place, fmt::format("hone.new_value {} of argument {} is no output", given.new_value, i));
  }
  return prune(level.builder.finish(std::move(outputs)));
}

void Reader::read_symbols(const text::Operation& function) {
  const Attribute* const symbols = function.find("hone.symbols");
  if (!symbols) return;
  for (const auto& [name, bounds] : symbols->fields) {
    const std::vector<int64_t> range = integers(bounds);
    if (range.size() != 2) fail(bounds.place, fmt::format("hone.symbols: {} needs [min, max]", name));
    Dim(name, range[0], range[1]);
  }
}

TensorType Reader::input_type(const text::Argument& argument) {
  if (!argument.type.known) {
    note(argument.place, fmt::format("the type {}", argument.type.spelling));
    throw Skip();
  }
  if (argument.type.is_static()) return argument.type.tensor();
  const Attribute* const given = text::find(argument.attributes, "hone.shape");
  if (!given) {
    note(argument.place, fmt::format("the type {}: ? without the attribute hone.shape", argument.type.spelling));
    throw Skip();
  }
  TensorType type{argument.type.dtype, {}};
  if (!text::parse_shape(given->text, type.shape))
    fail(given->place, fmt::format("hone.shape: \"{}\" is no shape over hone.symbols", given->text));
  check_type(type, argument.type, argument.place);
  return type;
}

Reader::Bound Reader::input(const text::Argument& argument) {
  Bound bound;
  Input input;
  if (const Attribute* name = text::find(argument.attributes, "hone.name")) input.name = name->text;
  if (const Attribute* kind = text::find(argument.attributes, "hone.kind")) {
    if (kind->text == "capture") input.kind = InputKind::Capture;
    if (kind->text == "variable") input.kind = InputKind::Variable;
  }
  if (const Attribute* at = text::find(argument.attributes, "hone.new_value"))
    input.new_value = static_cast<uint32_t>(at->integer);
  try {
    bound.type = input_type(argument);
  } catch (const Skip&) {
    return bound;
  }
  bound.kind = Bound::Kind::Value;
  bound.level = level_;
  bound.value = level_->builder.add_input(bound.type, std::move(input));
  return bound;
}

void Reader::arguments(const text::Region& region, std::span<const Bound> values, Frame& frame) {
  for (size_t i = 0; i < region.arguments.size(); ++i) {
    if (!frame.names.emplace(region.arguments[i].name, std::vector<Bound>{values[i]}).second)
      fail(region.arguments[i].place, fmt::format("%{} is defined twice", region.arguments[i].name));
  }
}

std::vector<Reader::Bound> Reader::block(const text::Region& region, Frame& frame) {
  std::vector<Bound> returned;
  Frame* const outer_frame = std::exchange(frame_, &frame);
  const text::Operation* const outer = operation_;
  const uint32_t outer_origin = origin_;
  std::vector<Bound>* const outer_results = results_;
  for (size_t i = 0; i < region.operations.size(); ++i)
    read_operation(region.operations[i], frame, i + 1 == region.operations.size() ? &returned : nullptr);
  frame_ = outer_frame;
  operation_ = outer;
  origin_ = outer_origin;
  results_ = outer_results;
  return returned;
}

uint32_t Reader::origin_of(const text::Operation& operation) {
  const text::Origin* from = &operation.origin;
  std::string name;
  for (int hop = 0; hop < kMaxDepth; ++hop) {
    if (name.empty()) name = from->name;
    if (from->alias.empty()) break;
    const auto found = module_.origins.find(from->alias);
    if (found == module_.origins.end()) break;
    from = &found->second;
  }
  Origin origin;
  origin.layer = name;
  const Location line =
      from->line ? Location{kept(from->file), "", from->line} : Location{kept(module_.file), "", operation.place.line};
  origin.lines.push_back(line);
  return context_->add(std::move(origin));
}

void Reader::read_operation(const text::Operation& operation, Frame& frame, std::vector<Bound>* returned) {
  operation_ = &operation;
  if (++read_ > kMaxOperations) fail(fmt::format("the program has more than {} operations", kMaxOperations));
  if (operation.name == "return" || operation.name == "func.return" || operation.name == "stablehlo.return") {
    if (!returned) fail("not at the end of its region");
    for (const text::Use& use : operation.operands) returned->push_back(look_up(use));
    return;
  }
  origin_ = origin_of(operation);
  std::vector<Bound> results;
  results_ = &results;
  try {
    for (const text::Type& type : operation.result_types) {
      if (!type.known && type.spelling != "a function")
        unsupported(fmt::format("{} gives {}", operation.name, type.spelling));
    }
    if (!dialect_.read(*this, operation)) unsupported(operation.name);
    bind_results(operation, frame);
  } catch (const Skip&) {
    poison(operation, frame);
  }
}

void Reader::bind_results(const text::Operation& operation, Frame& frame) {
  std::vector<Bound>& results = *results_;
  size_t wanted = 0;
  for (const auto& [name, count] : operation.results) wanted += count;
  if (wanted > 0 && wanted != results.size())
    fail(fmt::format("gives {} results, the text names {}", results.size(), wanted));
  if (operation.result_types.size() == results.size()) {
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].kind != Bound::Kind::Poison)
        check_type(results[i].type, operation.result_types[i], operation.place);
    }
  }
  size_t at = 0;
  for (const auto& [name, count] : operation.results) {
    std::vector<Bound> bound(results.begin() + static_cast<ptrdiff_t>(at),
                             results.begin() + static_cast<ptrdiff_t>(at + count));
    at += count;
    if (!frame.names.emplace(name, std::move(bound)).second) fail(fmt::format("%{} is defined twice", name));
  }
}

void Reader::poison(const text::Operation& operation, Frame& frame) {
  for (const auto& [name, count] : operation.results) frame.names.emplace(name, std::vector<Bound>(count));
}

void Reader::check_type(const TensorType& type, const text::Type& declared, text::Place place) const {
  bool same = declared.known && declared.dtype == type.dtype && declared.dims.size() == type.shape.size();
  for (size_t i = 0; same && i < declared.dims.size(); ++i)
    same = declared.dims[i] == text::kUnknown || type.shape[i] == Dim(declared.dims[i]);
  if (!same)
    fail(place, fmt::format("{} gives {}, the text says {}", operation_->name, to_string(type), declared.spelling));
}

const Reader::Bound& Reader::look_up(const text::Use& use) const {
  for (const Frame* frame = frame_; frame; frame = frame->parent) {
    const auto found = frame->names.find(use.name);
    if (found == frame->names.end()) continue;
    if (use.index >= found->second.size())
      fail(use.place, fmt::format("%{} has {} results", use.name, found->second.size()));
    return found->second[use.index];
  }
  fail(use.place, fmt::format("%{} is not defined", use.name));
}

ValueId Reader::capture(const Bound& bound, Level& level) {
  const ValueId outer = materialize(bound, *level.parent);
  for (const auto& [value, input] : level.captures) {
    if (value == outer) return input;
  }
  const ValueId input = level.builder.add_input(level.parent->builder.graph().type(outer), {});
  level.captures.emplace_back(outer, input);
  return input;
}

ValueId Reader::materialize(const Bound& bound, Level& level) {
  if (bound.kind == Bound::Kind::Poison) throw Skip();
  if (bound.kind == Bound::Kind::Value) return bound.level == &level ? bound.value : capture(bound, level);
  if (bound.elements.rank() == 0) return dialect_.splat(level.builder, bound.elements, bound.type, bound.origin);
  if (level.parent) return capture(bound, level);
  const auto [at, fresh] = level.constants.try_emplace(bound.elements.id(), kNone);
  if (fresh) {
    Input input;
    input.kind = InputKind::Constant;
    input.tensor = bound.elements;
    at->second = level.builder.add_input(bound.type, std::move(input));
  }
  return at->second;
}

Builder& Reader::builder() { return level_->builder; }
const TensorType& Reader::type(ValueId value) const { return level_->builder.graph().type(value); }

ValueId Reader::operand(size_t i) {
  if (i >= operands()) fail(fmt::format("operand {} is missing", i));
  return materialize(look_up(operation_->operands[i]), *level_);
}

std::vector<ValueId> Reader::all_operands() {
  std::vector<ValueId> values;
  for (size_t i = 0; i < operands(); ++i) values.push_back(operand(i));
  return values;
}

Tensor Reader::literal(size_t i) {
  if (i >= operands()) fail(fmt::format("operand {} is missing", i));
  const Bound& bound = look_up(operation_->operands[i]);
  return bound.kind == Bound::Kind::Literal ? bound.elements : Tensor();
}

const text::Type& Reader::declared(size_t i) const {
  if (i >= operation_->result_types.size()) fail("the types of its results are missing");
  return operation_->result_types[i];
}
TensorType Reader::declared_tensor(size_t i) const {
  const text::Type& type = declared(i);
  if (!type.known || !type.is_static())
    const_cast<Reader*>(this)->unsupported(fmt::format("{} to {}", operation_->name, type.spelling));
  return type.tensor();
}

ValueId Reader::add(const Op& op, AttrRef attrs, std::span<const ValueId> operands) {
  const auto n = static_cast<int>(operands.size());
  if (n < op.min_inputs || (op.max_inputs >= 0 && n > op.max_inputs))
    fail(fmt::format("{} operands where {} takes {} to {}", n, op.name, op.min_inputs, op.max_inputs));
  return level_->builder.add_one(op, attrs, operands, origin_);
}

ValueId Reader::splat(const Tensor& element, const TensorType& type) {
  return dialect_.splat(level_->builder, element, type, origin_);
}

ValueId Reader::literal(const Tensor& elements, const TensorType& type) {
  Bound bound;
  bound.kind = Bound::Kind::Literal;
  bound.elements = elements;
  bound.type = type;
  return materialize(bound, *level_);
}

void Reader::result(ValueId value) {
  Bound bound;
  bound.kind = Bound::Kind::Value;
  bound.value = value;
  bound.level = level_;
  bound.type = type(value);
  results_->push_back(std::move(bound));
}

void Reader::result(Tensor elements, const TensorType& type) {
  Bound bound;
  bound.kind = Bound::Kind::Literal;
  bound.elements = std::move(elements);
  bound.type = type;
  bound.origin = origin_;
  results_->push_back(std::move(bound));
}

Regions Reader::regions(std::vector<ValueId>& captured, std::span<const TensorType> given, std::vector<bool> pass) {
  enter(operation_->place);
  std::deque<Level> levels;
  std::vector<std::vector<Bound>> returned;
  Level* const around = level_;
  const text::Operation& operation = *operation_;
  struct Restore {
    Reader& reader;
    Level* level;
    ~Restore() { reader.level_ = level, --reader.depth_; }
  } restore{*this, around};
  ++depth_;
  for (const text::Region& region : operation.regions) {
    Level& level = levels.emplace_back(context_, around);
    level_ = &level;
    Frame frame(frame_);
    if (!region.arguments.empty() && region.arguments.size() != given.size())
      fail(region.place, fmt::format("a region of {} needs {} arguments, has {}", operation.name, given.size(),
                                     region.arguments.size()));
    std::vector<Bound> values;
    for (const TensorType& type : given) {
      Bound bound;
      bound.kind = Bound::Kind::Value;
      bound.type = type;
      bound.level = &level;
      bound.value = level.builder.add_input(type, {});
      values.push_back(std::move(bound));
    }
    for (size_t i = 0; i < region.arguments.size(); ++i)
      check_type(given[i], region.arguments[i].type, region.arguments[i].place);
    if (levels.size() > 1) {  // what earlier regions read comes first
      for (const auto& [value, input] : levels[levels.size() - 2].captures)
        level.captures.emplace_back(value, level.builder.add_input(around->builder.graph().type(value), {}));
    }
    arguments(region, values, frame);
    returned.push_back(block(region, frame));
    std::vector<ValueId> now;
    for (const Bound& bound : returned.back()) now.push_back(materialize(bound, level));
    returned.back().clear();
    for (const ValueId value : now) {
      Bound bound;
      bound.value = value;
      returned.back().push_back(std::move(bound));
    }
  }
  Regions out;
  if (levels.empty()) return out;
  for (const auto& [value, input] : levels.back().captures) captured.push_back(value);
  for (size_t i = 0; i < levels.size(); ++i) {
    Level& level = levels[i];
    for (size_t c = level.captures.size(); c < captured.size(); ++c)
      level.captures.emplace_back(captured[c], level.builder.add_input(around->builder.graph().type(captured[c]), {}));
    std::vector<ValueId> outputs;
    for (const Bound& bound : returned[i]) outputs.push_back(bound.value);
    if (i < pass.size() && pass[i]) {
      for (const auto& [value, input] : level.captures) outputs.push_back(input);
    }
    out.push_back(std::make_shared<Graph>(prune(level.builder.finish(std::move(outputs)))));
  }
  return out;
}

std::shared_ptr<const Graph> Reader::function(std::string_view name, std::span<const TensorType> given) {
  const text::Operation& found = find_function(name);
  const text::Region& body = found.regions[0];
  if (body.arguments.size() != given.size())
    fail(fmt::format("@{} takes {} arguments, got {}", name, body.arguments.size(), given.size()));
  enter(operation_->place);
  ++depth_;
  Level level(context_, nullptr);
  Level* const around = std::exchange(level_, &level);
  struct Restore {
    Reader& reader;
    Level* level;
    ~Restore() { reader.level_ = level, --reader.depth_; }
  } restore{*this, around};
  Frame frame(nullptr);
  std::vector<Bound> values;
  for (const TensorType& type : given) {
    Bound bound;
    bound.kind = Bound::Kind::Value;
    bound.type = type;
    bound.level = &level;
    bound.value = level.builder.add_input(type, {});
    values.push_back(std::move(bound));
  }
  arguments(body, values, frame);
  std::vector<ValueId> outputs;
  for (const Bound& bound : block(body, frame)) outputs.push_back(materialize(bound, level));
  return std::make_shared<Graph>(prune(level.builder.finish(std::move(outputs))));
}

void Reader::call(std::string_view name) {
  const text::Operation& function = find_function(name);
  const text::Region& body = function.regions[0];
  if (body.arguments.size() != operands())
    fail(fmt::format("@{} takes {} arguments, got {}", name, body.arguments.size(), operands()));
  enter(operation_->place);
  std::vector<Bound> values;
  for (const text::Use& use : operation_->operands) values.push_back(look_up(use));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].kind != Bound::Kind::Poison) check_type(values[i].type, body.arguments[i].type, operation_->place);
  }
  Frame frame(nullptr);
  arguments(body, values, frame);
  ++depth_;
  std::vector<Bound> returned = block(body, frame);
  --depth_;
  for (Bound& bound : returned) results_->push_back(std::move(bound));
}

std::vector<ValueId> Reader::inlined(const Graph& graph, std::span<const ValueId> operands) {
  std::vector<ValueId> map(graph.values(), kNone);
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Input& input = graph.inputs()[i];
    map[input.value] = i < operands.size() ? operands[i] : level_->builder.add_input(graph.type(input.value), input);
  }
  for (const Node& node : graph.nodes()) {
    SmallVector<ValueId, 8> mapped;
    for (const ValueId value : graph.operands(node)) mapped.push_back(map[value]);
    const uint32_t made =
        level_->builder.add(*node.op, node.attrs, {mapped.data(), mapped.size()}, node.results, origin_);
    for (uint32_t i = 0; i < node.results; ++i)
      map[node.first_result + i] = level_->builder.graph().nodes()[made].first_result + i;
  }
  std::vector<ValueId> outputs;
  for (const ValueId value : graph.outputs()) outputs.push_back(map[value]);
  return outputs;
}

}  // namespace hone::ir
