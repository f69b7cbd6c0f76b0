// hone inspect
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "hone/cli/frozen.h"
#include "hone/cli/output.h"
#include "hone/cli/verbs.h"
#include "hone/formats/json.h"
#include "hone/function/function.h"
#include "hone/function/tape.h"
#include "hone/ops/creation.h"

namespace hone::cli {
namespace {

struct Arguments {
  std::string model;
  int64_t batch = 1;
  bool ir = false, memory = false, kernels = false, cost = false, json = false, no_freeze = false;
};

// What predicts: the frozen model, or the model itself.
struct Subject {
  std::optional<nn::FrozenModel> frozen;
  std::optional<Lowered> lowered;
};

Subject look(const nn::Model& model, const Arguments& arguments) {
  TensorType input = model.input_type();
  if (input.shape.rank() == 0)
    throw Error(Code::kFailedPrecondition, "the model's file does not say what it takes",
                "train it, and save it again");
  input.shape[0] = arguments.batch;
  Subject subject;
  if (!arguments.no_freeze) subject.frozen = frozen(model, Tensor(), false);
  if (subject.frozen) {
    subject.lowered = subject.frozen->lower(input);
  } else {
    const NoGradScope quiet;
    subject.lowered = function([&](const Tensor& x) { return model(x); }, {.name = "predict"}).lower(input);
  }
  return subject;
}

void print_json(const nn::Model& model, const Subject& subject) {
  Config::Table out;
  Config::Array layers;
  for (const auto& [name, variable] : model.named_variables())
    layers.emplace_back(
        Config::Table{{"name", name}, {"type", to_string(variable.type())}, {"trainable", variable.trainable()}});
  out.emplace_back("input", to_string(model.input_type()));
  out.emplace_back("parameters", model.parameters());
  out.emplace_back("variables", std::move(layers));
  if (subject.frozen) out.emplace_back("frozen", frozen_json(*subject.frozen));
  out.emplace_back("graph", formats::parse_json(subject.lowered->json(), "lowered"));
  cli::print_json(std::move(out));
}

// The text of a section without its last line break.
void section(const char* title, std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  print(fmt::format("\n{}\n{}", title, text));
}

int inspect(const Arguments& arguments) {
  std::optional<nn::Model> model;
  reading_input([&] { model = nn::Model::load(arguments.model); });
  const Subject subject = look(*model, arguments);
  if (arguments.json) {
    print_json(*model, subject);
    return kOk;
  }
  std::string summary = model->summary();
  summary.pop_back();
  print(summary);
  if (subject.frozen) section("frozen", subject.frozen->report());
  if (arguments.ir) section("ir", subject.lowered->ir());
  if (arguments.memory) section("memory", subject.lowered->memory());
  if (arguments.cost) section("cost", subject.lowered->cost());
  if (arguments.kernels) section("kernels", subject.lowered->kernels());
  return kOk;
}

}  // namespace

void add_inspect(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("inspect", "What a trained model is made of, and what runs for a prediction");
  verb->add_option("model", arguments->model, "Trained model")->required()->type_name("MODEL.hone");
  verb->add_flag("--ir", arguments->ir, "The graph of a prediction");
  verb->add_flag("--memory", arguments->memory, "Its memory: peak, largest buffers, bytes by role");
  verb->add_flag("--kernels", arguments->kernels, "Who computes each op, and why the others do not");
  verb->add_flag("--cost", arguments->cost, "Floating-point operations and bytes by op");
  verb->add_option("--batch", arguments->batch, "Images at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->type_name("N");
  verb->add_flag("--no-freeze", arguments->no_freeze, "Look at the model as it was trained");
  verb->add_flag("--json", arguments->json, "Print one JSON object with all of it");
  verb->footer(
      "Examples:\n  hone inspect fashion.hone\n  hone inspect fashion.hone --kernels --memory\n"
      "  hone inspect fashion.hone --json");
  verb->callback([arguments, &exit_code] { exit_code = inspect(*arguments); });
}

}  // namespace hone::cli
