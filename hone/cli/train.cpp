// hone train
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <signal.h>
#include <cmath>
#include <filesystem>

#include "hone/base/interrupt.h"
#include "hone/cli/image_data.h"
#include "hone/cli/output.h"
#include "hone/cli/run_file.h"
#include "hone/cli/verbs.h"
#include "hone/train/run_report.h"

namespace hone::cli {
namespace {

struct Arguments {
  std::string file;
  bool json = false, quiet = false;
};

struct TrainingData {
  nn::DataSource train, validation, test;
};

TrainingData read_data(const TomlFile& file, const DataOptions& options) {
  if (!options.train) {
    throw InputError(Code::kInvalidArgument,
                     {.what = "data.train is missing",
                      .details = {"at " + file.place("data")},
                      .fix = "write train = [\"images-idx3-ubyte.gz\", \"labels-idx1-ubyte.gz\"]"});
  }
  BatchedOptions batches{
      .batch_size = options.batch_size, .rescale = options.rescale, .class_names = class_names_of(options)};
  TrainingData data;
  Images train = read_images(*options.train);
  if (options.test) data.validation = data.test = batched(read_images(*options.test), batches);
  if (options.validation) data.validation = batched(read_images(*options.validation), batches);
  if (options.validation_split > 0) {
    const int64_t kept =
        train.size() - static_cast<int64_t>(static_cast<double>(train.size()) * options.validation_split);
    if (kept < 1 || kept == train.size()) {
      throw InputError(Code::kInvalidArgument,
                       {.what = fmt::format("validation_split leaves {} of {} images to train on", kept, train.size()),
                        .details = {"at " + file.place("data.validation_split")}});
    }
    data.validation = batched(train.skip(kept), batches);
    train = train.take(kept);
  }
  batches.shuffle = options.shuffle;
  data.train = batched(train, batches);
  return data;
}

// A folder that is missing, or a file that cannot be written, shows before training, not after it.
void check_output(const TomlFile& file, const std::string& output) {
  const std::filesystem::path folder = std::filesystem::path(output).parent_path();
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return;
  throw InputError(Code::kNotFound,
                   {.what = fmt::format("the folder of train.output does not exist: {}", folder.string()),
                    .details = {"at " + file.place("train.output")},
                    .fix = "create it: mkdir -p " + folder.string()});
}

// Ends the run at the first epoch whose loss is not finite, before a checkpoint replaces good weights.
class StopAtNaN final : public nn::Callback {
 public:
  void on_epoch_end(nn::Model&, nn::FitState& state, const nn::Logs& logs) override {
    const double* loss = logs.find("loss");
    if (!loss || std::isfinite(*loss)) return;
    throw Error(Code::kNumerical, fmt::format("the loss is {} in epoch {}", *loss, state.epoch + 1),
                "use a smaller learning_rate, clip gradients (clipnorm = 1.0), and look for NaN in the data");
  }
};

// Says where the state of an interrupted run is. Weights that a checkpoint chose as the best stay where they are.
int save_interrupted(const nn::Model& model, const TrainOptions& options) {
  const int code = 128 + interrupt_signal();
  if (model.input_type().shape.rank() == 0) {
    note("interrupted before the first step: nothing to save");
    return code;
  }
  if (!options.best_only || options.checkpoint->saved_epochs().empty()) {
    model.save(options.output);
    note(fmt::format("interrupted: the state of the last step is saved in {}", options.output));
    return code;
  }
  std::filesystem::path beside(options.output);
  beside.replace_filename(beside.stem().string() + ".interrupted" + beside.extension().string());
  model.save(beside.string());
  note(fmt::format("interrupted: the state of the last step is saved in {}; {} keeps the best epoch", beside.string(),
                   options.output));
  return code;
}

Config::Table results(const nn::History& history, const nn::Logs& test, const nn::RunReport& report,
                      const std::string& output) {
  Config::Table out;
  for (const auto& [name, value] : test) out.emplace_back("test_" + name, value);
  if (!history.logs.empty()) {
    for (const auto& [name, value] : history.logs.back()) out.emplace_back(name, value);
  }
  out.emplace_back("epochs", static_cast<int64_t>(history.epochs.size()));
  out.emplace_back("steps", report.steps);
  out.emplace_back("train_seconds", report.train_seconds);
  out.emplace_back("step_ms_median", report.step_ms_median);
  out.emplace_back("images_per_s", report.images_per_s);
  out.emplace_back("peak_bytes", static_cast<int64_t>(report.peak_bytes));
  out.emplace_back("peak_rss_bytes", static_cast<int64_t>(report.peak_rss_bytes));
  out.emplace_back("model", output);
  return out;
}

void print_results(const Config::Table& values) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : values) {
    std::string text = value.is_string()    ? value.as_string()
                       : value.is_integer() ? std::to_string(value.as_integer())
                                            : fmt::format("{:.4f}", value.as_number());
    if (name.ends_with("_bytes")) text = bytes_text(value.as_number());
    rows.push_back({name, text});
  }
  print(table(rows, {false, false}));
}

int train(const Arguments& arguments) {
  const InterruptGuard guard;
  const TomlFile file(arguments.file);
  check_tables(file);
  const DataOptions data_options = read_data_options(file);
  TrainOptions options = read_train_options(file);
  check_output(file, options.output);
  if (options.seed) nn::set_random_seed(static_cast<uint64_t>(*options.seed));
  nn::Sequential model(read_layers(file));
  model.compile({.optimizer = options.optimizer, .loss = options.loss, .metrics = options.metrics});
  if (!arguments.quiet)
    note(fmt::format("reading {}", data_options.train ? data_options.train->images : arguments.file));
  const TrainingData data = read_data(file, data_options);

  const auto timer = std::make_shared<nn::RunTimer>();
  nn::Callbacks callbacks{timer, std::make_shared<StopAtNaN>()};
  callbacks.insert(callbacks.end(), options.callbacks.begin(), options.callbacks.end());
  if (interrupted()) return save_interrupted(model, options);
  const nn::History history = model.fit(data.train, {.epochs = options.epochs,
                                                     .verbose = arguments.quiet ? 0 : 1,
                                                     .callbacks = callbacks,
                                                     .validation_data = data.validation,
                                                     .preprocessing = {.rescale = data_options.rescale}});
  if (history.interrupted) return save_interrupted(model, options);
  if (!options.checkpoint) model.save(options.output);
  nn::Logs test;
  if (data.test.defined()) {
    test = options.best_only && !options.checkpoint->saved_epochs().empty()
               ? nn::Model::load(options.output).evaluate(data.test)
               : model.evaluate(data.test);
    if (interrupted()) {
      note(fmt::format("interrupted while evaluating: the model is saved in {}", options.output));
      return 128 + interrupt_signal();
    }
  }
  const Config::Table values = results(history, test, timer->report(), options.output);
  if (arguments.json)
    print_json(values);
  else
    print_results(values);
  return kOk;
}

}  // namespace

void add_train(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("train", "Train the model that a TOML file describes");
  verb->add_option("file", arguments->file, "Training file: tables [data], [model] and [train]")
      ->required()
      ->type_name("FILE.toml");
  verb->add_flag("--json", arguments->json, "Print the results as one JSON object, the last line of stdout");
  verb->add_flag("-q,--quiet", arguments->quiet, "No progress on stderr");
  verb->footer(
      "Defaults: [data] batch_size = 32, shuffle = true, rescale = 1, validation data = test; [train] optimizer = "
      "\"adam\",\n"
      "epochs = 1, metrics = []. CosineDecay lasts the whole run; ModelCheckpoint writes to `output`.\n"
      "Ctrl-C stops after the step, saves the state and exits with 130; a second one ends at once.\n\n"
      "Examples:\n  hone train examples/fashion.toml\n  hone train examples/fashion.toml --json | tail -1");
  verb->callback([arguments, &exit_code] { exit_code = train(*arguments); });
}

}  // namespace hone::cli
