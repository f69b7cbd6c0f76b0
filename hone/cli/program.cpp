#include "hone/cli/program.h"

#include <fmt/format.h>

#include "hone/base/file.h"
#include "hone/cli/output.h"
#include "hone/compiler/stablehlo.h"
#include "hone/formats/npy.h"
#include "hone/ops/creation.h"

namespace hone::cli {
namespace {

[[noreturn]] void wrong(const std::string& path, std::string what, std::vector<std::string> details, std::string fix) {
  details.insert(details.begin(), "file: " + path);
  throw InputError(Code::kInvalidArgument,
                   {.what = std::move(what), .details = std::move(details), .fix = std::move(fix)});
}

struct Files {
  const std::string &program, &npz;
};

std::vector<Tensor> arrays_for(const ir::Graph& graph, const Files& files) {
  formats::NamedTensors arrays;
  if (!files.npz.empty()) arrays = formats::read_npz(files.npz);
  std::vector<Tensor> inputs;
  std::vector<std::string> missing;
  size_t number = 0;
  for (const ir::Input& input : graph.inputs()) {
    if (input.kind == ir::InputKind::Constant) {
      inputs.push_back(input.tensor);
      continue;
    }
    const std::string name = fmt::format("arg{}", number++);
    const TensorType& type = graph.type(input.value);
    const auto found = std::ranges::find(arrays, name, [](const auto& array) { return array.first; });
    if (found == arrays.end()) {
      missing.push_back(fmt::format("{}: {}", name, to_string(type)));
      continue;
    }
    inputs.push_back(found->second);
    if (!(found->second.type() == type) && type.shape.is_static())
      wrong(files.npz, fmt::format("{} does not fit the program", name),
            {"expected: " + to_string(type), "got: " + to_string(found->second.type())},
            "store the array in this type");
  }
  if (missing.empty()) return inputs;
  if (!files.npz.empty()) wrong(files.npz, "arrays are missing", missing, "store them under these names");
  wrong(files.program, "the program takes inputs", missing, "give them: --inputs X.npz with arrays arg0, arg1, ...");
}

// Numbers for the symbols of a program, from the inputs' shapes.
ir::Graph bound(const ir::Graph& graph, const std::vector<Tensor>& inputs, const Files& files) {
  if (graph.is_static()) return graph;
  std::map<std::string, int64_t, std::less<>> symbols;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = graph.type(graph.inputs()[i].value).shape;
    if (shape.rank() != inputs[i].rank())
      wrong(files.npz, fmt::format("arg{} does not fit the program", i),
            {"expected: " + to_string(graph.type(graph.inputs()[i].value)), "got: " + to_string(inputs[i].type())}, "");
    for (int axis = 0; axis < shape.rank(); ++axis) {
      Dim symbol;
      if (!shape[axis].is_number() && find_symbol(to_string(shape[axis]), symbol))
        symbols.emplace(to_string(symbol), inputs[i].dim(axis));
    }
  }
  ir::Graph out = ir::bind(graph, [&](std::string_view name) {
    const auto found = symbols.find(name);
    if (found == symbols.end())
      wrong(files.program, fmt::format("no input says what the dimension {} is", name), {}, "");
    return found->second;
  });
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!(out.type(out.inputs()[i].value) == inputs[i].type()))
      wrong(files.npz, fmt::format("arg{} does not fit the program", i),
            {"expected: " + to_string(graph.type(graph.inputs()[i].value)), "got: " + to_string(inputs[i].type())}, "");
  }
  return out;
}

}  // namespace

ir::Graph read_program(const std::string& file) {
  ir::Graph graph(std::make_shared<ir::Context>());
  reading_input([&] { graph = compiler::parse_text(read_file(file), file); });
  return graph;
}

std::vector<Tensor> read_inputs(ir::Graph& graph, const std::string& file, const std::string& npz) {
  std::vector<Tensor> inputs;
  reading_input([&] {
    inputs = arrays_for(graph, {file, npz});
    graph = bound(graph, inputs, {file, npz});
  });
  return inputs;
}

std::vector<Tensor> draw_inputs(const ir::Graph& graph, const std::string& file, uint64_t seed) {
  std::vector<Tensor> inputs;
  Tensor state = random::state(seed);
  for (const ir::Input& input : graph.inputs()) {
    if (input.kind == ir::InputKind::Constant) {
      inputs.push_back(input.tensor);
      continue;
    }
    const auto& [dtype, shape] = graph.type(input.value);
    if (!shape.is_static())
      wrong(file, "the program has symbolic dimensions", {to_string(graph.type(input.value))},
            "say which numbers they are: --inputs X.npz with arrays arg0, arg1, ...");
    const double low = is_floating(dtype) ? -2 : 0, high = is_floating(dtype) ? 2 : dtype == bool_ ? 2 : 4;
    auto [next, drawn] = random::uniform(state, shape, low, high);
    state = std::move(next);
    inputs.push_back(dtype == bool_ ? cast(cast(drawn, i32), bool_) : cast(drawn, dtype));
  }
  return inputs;
}

}  // namespace hone::cli
