// hone evaluate
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "hone/base/interrupt.h"
#include "hone/base/probe.h"
#include "hone/cli/frozen.h"
#include "hone/cli/image_data.h"
#include "hone/cli/output.h"
#include "hone/cli/run_file.h"
#include "hone/cli/verbs.h"

namespace hone::cli {
namespace {

struct Arguments {
  std::string model, data;
  bool json = false, verbose = false, no_freeze = false;
};

// The first batch.
Tensor sample_of(const nn::DataSource& data) {
  std::vector<Tensor> batch;
  return data.open()(batch) && !batch.empty() ? batch[0] : Tensor();
}

int evaluate(const Arguments& arguments) {
  const InterruptGuard guard;
  std::optional<nn::Model> model;
  reading_input([&] { model = nn::Model::load(arguments.model); });
  const TomlFile file(arguments.data);
  check_tables(file);
  const DataOptions options = read_data_options(file);
  const std::optional<IdxFiles>& files = options.test         ? options.test
                                         : options.validation ? options.validation
                                                              : options.train;
  if (!files) {
    throw InputError(Code::kInvalidArgument,
                     {.what = "there is no data to evaluate on",
                      .details = {"at " + file.place("data")},
                      .fix = "write test = [\"images-idx3-ubyte.gz\", \"labels-idx1-ubyte.gz\"] in [data]"});
  }
  const Images images = read_images(*files);
  const double rescale = options.rescale_given ? options.rescale : model->preprocessing().rescale;
  const int64_t begin = probe::now_ns();
  const nn::DataSource data = batched(images, {.batch_size = options.batch_size, .rescale = rescale});
  std::optional<nn::FrozenModel> fast;
  if (!arguments.no_freeze) fast = frozen(*model, sample_of(data), arguments.verbose);
  nn::EvaluateOptions how;
  if (fast) how.inference = *fast;
  const nn::Logs logs = model->evaluate(data, how);
  if (interrupted()) {
    note("interrupted");
    return 128 + interrupt_signal();
  }
  const double seconds = static_cast<double>(probe::now_ns() - begin) * 1e-9;
  if (arguments.json) {
    Config::Table out;
    for (const auto& [name, value] : logs) out.emplace_back(name, value);
    out.emplace_back("images", images.size());
    out.emplace_back("seconds", seconds);
    out.emplace_back("model", arguments.model);
    if (fast) out.emplace_back("frozen", frozen_json(*fast));
    print_json(std::move(out));
    return kOk;
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : logs) rows.push_back({name, fmt::format("{:.4f}", value)});
  rows.push_back({"images", std::to_string(images.size())});
  rows.push_back({"seconds", fmt::format("{:.2f}", seconds)});
  print(table(rows, {false, false}));
  return kOk;
}

}  // namespace

void add_evaluate(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("evaluate", "Loss and metrics of a trained model over a data set");
  verb->add_option("model", arguments->model, "Trained model")->required()->type_name("MODEL.hone");
  verb->add_option(
          "--data", arguments->data,
          "File with a table [data]; a training file will do. Its `test` is read, else `validation`, else `train`")
      ->required()
      ->type_name("FILE.toml");
  verb->add_flag("--json", arguments->json, "Print one JSON object");
  verb->add_flag("-v,--verbose", arguments->verbose, "Say on stderr how the model was frozen");
  verb->add_flag("--no-freeze", arguments->no_freeze,
                 "Run the model as it was trained; else batch norm is folded and calls are fused, within a bound that "
                 "is checked on the first batch");
  verb->footer(
      "Defaults: batch_size = 32; rescale as in training.\n\nExamples:\n  hone evaluate fashion.hone --data "
      "examples/fashion.toml\n"
      "  hone evaluate fashion.hone --data test.toml --json");
  verb->callback([arguments, &exit_code] { exit_code = evaluate(*arguments); });
}

}  // namespace hone::cli
