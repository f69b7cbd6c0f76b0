// hone compile
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <optional>

#include "hone/base/file.h"
#include "hone/cli/output.h"
#include "hone/cli/program.h"
#include "hone/cli/verbs.h"
#include "hone/compiler/archive.h"
#include "hone/compiler/object.h"
#include "hone/compiler/pipeline.h"
#include "hone/function/function.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/reduction.h"
#include "hone/tensor/half.h"
#include "hone/train/freeze.h"

namespace hone::cli {
namespace {

constexpr int64_t kSeveralParts = 75;  // a batch of any size is computed in parts of 64, 8 and 1

struct Arguments {
  std::string file, output, header, name, weights = "embed", target = "native";
  std::vector<std::string> isa = {"v2", "v3", "v4"};
  int64_t batch = 0;  // any
  uint64_t seed = 0;
  bool static_lib = false, json = false;
};

// Sample data, and what Hone gives on them.
struct Sample {
  std::vector<Tensor> inputs, expected;
};
// What is compiled.
struct Source {
  std::function<compiler::ObjectFiles(const compiler::ObjectOptions&)> compile;
  std::vector<Sample> samples;
  int calls = 1;        // that a sample expects the last result of
  std::string comment;  // for the header
};

Lowered stateful_program(const nn::Model& model, const TensorType& type) {
  return function([model](Tensor in) { return model(in, {.training = false}); }).lower(Spec{type.dtype, type.shape});
}

// `batch` 0: any.
Lowered program_of(const nn::Model& model, const TensorType& type, int64_t batch) {
  const nn::FrozenModel frozen = nn::freeze(model, {.input = type});
  if (batch > 0) return frozen.lower(type);
  if (!frozen.input_type().shape.is_static()) return frozen.lower(frozen.input_type());
  throw Error(Code::kUnsupported, "the model computes with its batch size, so an object is for one batch size",
              "say which: --batch N");
}

Source model_source(const Arguments& arguments) {
  std::optional<nn::Model> loaded;
  reading_input([&] { loaded = nn::Model::load(arguments.file); });
  nn::Model& model = *loaded;
  TensorType type = model.input_type();
  if (type.shape.rank() == 0)
    throw Error(Code::kFailedPrecondition, "the model does not know its input",
                "call it once, or fit it, before it is saved");
  const bool stateful = model.batch_size() > 0;
  const int64_t batch = stateful ? model.batch_size() : arguments.batch;
  Source source;
  if (stateful) source.calls = 2;
  for (const int64_t n : batch > 0 ? std::vector{batch} : std::vector<int64_t>{1, kSeveralParts}) {
    type.shape[0] = n;
    const Tensor drawn =
        random::uniform(random::state(arguments.seed), type.shape, 0, is_floating(type.dtype) ? 1 : 2).second;
    const Tensor x = cast(drawn, type.dtype);
    Sample sample{{x.dense()}, {}};
    model.reset_states();
    for (int i = 0; i < source.calls; ++i) sample.expected = {model.predict(x, n).dense()};
    model.reset_states();
    source.samples.push_back(std::move(sample));
  }
  const auto lowered =
      std::make_shared<Lowered>(stateful ? stateful_program(model, type) : program_of(model, type, batch));
  source.compile = [lowered](const compiler::ObjectOptions& options) { return lowered->object(options); };
  const nn::Preprocessing& how = model.preprocessing();
  type.shape[0] = batch > 0 ? Dim(batch) : Dim("batch");
  source.comment = fmt::format("input: {}, channels last", to_string(type));
  if (how.rescale != 1) source.comment += fmt::format(", raw values times {:.9g}", how.rescale);
  if (how.channels > 0) source.comment += fmt::format(", {} channels", how.channels);
  if (how.size) source.comment += fmt::format(", scaled to {} x {} (height x width)", (*how.size)[0], (*how.size)[1]);
  source.comment += '\n';
  if (!model.class_names().empty()) {
    source.comment += "classes:";
    for (const std::string& each : model.class_names()) {
      std::string clean = each;
      std::ranges::replace(clean, '/', '|');  // the comment ends where its author says
      std::ranges::replace(clean, '\n', ' ');
      source.comment += " " + clean + ",";
    }
    source.comment.back() = '\n';
  }
  return source;
}

Source program_source(const Arguments& arguments) {
  const auto graph = std::make_shared<ir::Graph>(read_program(arguments.file));
  Source source;
  Sample sample;
  const std::vector<Tensor> all = draw_inputs(*graph, arguments.file, arguments.seed);
  for (size_t i = 0; i < all.size(); ++i) {
    if (graph->inputs()[i].kind == ir::InputKind::Argument) sample.inputs.push_back(all[i]);
  }
  sample.expected = compiler::run_once(*graph, all);
  source.samples = {sample};
  source.compile = [graph](const compiler::ObjectOptions& options) {
    return compiler::compile_object(*graph, {}, graph->outputs().size(), options);
  };
  return source;
}

// How far an object's results lie from those of Hone.
struct Difference {
  double largest = 0, relative = 0, argmax_agreement = 1;
  bool within = true;
};

void compare(const std::vector<Tensor>& object, const std::vector<Tensor>& expected, Difference& d) {
  int64_t rows = 0, same = 0;
  for (size_t i = 0; i < object.size(); ++i) {
    const Tensor a = object[i], b = expected[i].dense();
    if (!is_floating(a.dtype())) {
      d.within = d.within && all(a == b).item<bool>();
      continue;
    }
    const Tensor x = cast(a, f64).dense(), y = cast(b, f64).dense();
    const std::span<const double> p = x.data<double>(), q = y.data<double>();
    double largest = 0, scale = 0;
    for (size_t k = 0; k < p.size(); ++k) {
      if (std::isnan(p[k]) != std::isnan(q[k])) d.within = false;
      if (std::isfinite(q[k])) scale = std::max(scale, std::abs(q[k]));
      if (p[k] != q[k] && !std::isnan(p[k])) largest = std::max(largest, std::abs(p[k] - q[k]));
    }
    const double bound = a.dtype() == f16 ? 2.0 / 1024 : a.dtype() == bf16 ? 2.0 / 128 : 1e-5;
    if (largest > bound * scale) d.within = false;
    d.largest = std::max(d.largest, largest);
    if (scale > 0) d.relative = std::max(d.relative, largest / scale);
    const auto n = static_cast<size_t>(a.rank() > 0 ? a.dim(-1) : 1);
    for (size_t row = 0; n > 0 && row < p.size(); row += n) {
      const auto best = [&](std::span<const double> v) {
        const auto begin = v.begin() + static_cast<ptrdiff_t>(row);
        return std::max_element(begin, begin + static_cast<ptrdiff_t>(n)) - begin;
      };
      ++rows;
      same += best(p) == best(q) ? 1 : 0;
    }
  }
  if (rows > 0)
    d.argmax_agreement = std::min(d.argmax_agreement, static_cast<double>(same) / static_cast<double>(rows));
}

uint32_t levels_of(const std::vector<std::string>& names) {
  uint32_t levels = 0;
  for (const std::string& each : names) levels |= 1U << (each[1] - '2');
  return levels;
}

std::string identifier(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ? "model_" + name : name;
}

int compile(const Arguments& arguments) {
  const bool is_program = arguments.file.ends_with(".mlir");
  const Source source = is_program ? program_source(arguments) : model_source(arguments);
  compiler::ObjectOptions options;
  options.name = arguments.name.empty() ? identifier(arguments.file) : arguments.name;
  options.levels = levels_of(arguments.isa);
  options.embed_weights = arguments.weights == "embed";

  // Checked on this processor; an object for another one has the same bits.
  const compiler::ObjectFiles here = source.compile(options);
  Difference d;
  for (const Sample& sample : source.samples) {
    std::vector<TensorType> types;
    for (const Tensor& each : sample.expected) types.push_back(each.type());
    compare(compiler::run_object(here, options, sample.inputs, types, source.calls), sample.expected, d);
  }
  if (!d.within) {
    throw Error(
        Code::kNumerical,
        {.what = "the object does not compute what the model does",
         .details = {fmt::format("largest difference: {:.3g}, {:.3g} of the largest output", d.largest, d.relative),
                     "allowed: 1e-5 of it, 2 units in the last place for f16 and bf16"},
         .fix = "look for sums that cancel, or compile from f64; please report it with the model"});
  }
  options.arm64 = arguments.target == "aarch64-linux-gnu";
  const compiler::ObjectFiles files = options.arm64 ? source.compile(options) : here;
  const std::string checked = fmt::format(
      "checked on sample data: largest difference to the model {:.3g} ({:.3g} of the largest output), the\n"
      "same largest output in {:.4g} % of rows\n",
      d.largest, d.relative, 100 * d.argmax_agreement);
  const std::string output =
      arguments.static_lib ? compiler::static_library(files.object, options.name + ".o") : files.object;
  write_file_atomic(arguments.output, output);
  write_file_atomic(arguments.header, compiler::with_comment(files.header, source.comment + checked));
  if (!options.embed_weights) write_file_atomic(arguments.weights, files.weights);
  const double kib = static_cast<double>(output.size());
  if (arguments.json) {
    print_json({{"object", arguments.output},
                {"header", arguments.header},
                {"name", options.name},
                {"bytes", static_cast<int64_t>(output.size())},
                {"largest_difference", d.largest},
                {"relative_difference", d.relative},
                {"argmax_agreement", d.argmax_agreement}});
    return kOk;
  }
  print(fmt::format("{}: {}, {}\n{}", arguments.output, bytes_text(kib),
                    options.arm64 ? "aarch64" : fmt::format("x86-64 {}", fmt::join(arguments.isa, ", ")), checked));
  note(fmt::format("next: cc main.c {} -lm", arguments.output));
  return kOk;
}

}  // namespace

void add_compile(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("compile", "Compile a model ahead of time: an object file and a C header");
  verb->add_option("file", arguments->file, "Trained model, or program in StableHLO text (FILE.mlir)")
      ->required()
      ->type_name("MODEL.hone");
  verb->add_option("-o,--output", arguments->output, "The object; link it with -lm")->required()->type_name("MODEL.o");
  verb->add_option("--header", arguments->header, "The C header")->required()->type_name("MODEL.h");
  verb->add_option("--name", arguments->name, "What its functions begin with; the file's name if left out")
      ->type_name("NAME");
  verb->add_option("--batch", arguments->batch,
                   "Examples of one run of a model; left out: each run is told how many it gets")
      ->check(CLI::PositiveNumber);
  verb->add_option("--weights", arguments->weights, "embed, or a file to write them to, for NAME_load_weights")
      ->type_name("embed|FILE")
      ->capture_default_str();
  verb->add_option("--isa", arguments->isa, "Instruction sets of x86-64, of which one is chosen at run time")
      ->delimiter(',')
      ->check(CLI::IsMember({"v2", "v3", "v4"}))
      ->default_str("v2,v3,v4");
  verb->add_option("--target", arguments->target, "The processor")
      ->check(CLI::IsMember({"native", "x86_64-linux-gnu", "aarch64-linux-gnu"}))
      ->capture_default_str();
  verb->add_flag("--static-lib", arguments->static_lib, "The output is a static library (libNAME.a) of the object");
  verb->add_option("--seed", arguments->seed, "Of the sample data of the check")->type_name("N")->capture_default_str();
  verb->add_flag("--json", arguments->json, "One JSON document instead of text");
  verb->footer(
      "The object needs libc and libm alone. It computes with kernels of fixed order, so that it gives the same bits "
      "on\n"
      "every processor; the check prints how far they lie from the model's, and fails above 1e-5 of the largest "
      "output.\n"
      "The header says how to call it. A model that mixes the examples of a batch needs --batch; one with state has a\n"
      "batch size of its own.\n\nExamples:\n"
      "  hone compile fashion.hone -o fashion.o --header fashion.h\n"
      "  hone compile fashion.hone -o fashion.o --header fashion.h --target aarch64-linux-gnu --weights "
      "fashion.weights\n"
      "  hone compile fashion.hone -o libfashion.a --header fashion.h --static-lib");
  verb->callback([arguments, &exit_code] { exit_code = compile(*arguments); });
}

}  // namespace hone::cli
