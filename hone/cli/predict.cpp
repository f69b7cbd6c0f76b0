// hone predict
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>

#include "hone/cli/frozen.h"
#include "hone/cli/output.h"
#include "hone/cli/verbs.h"
#include "hone/formats/npy.h"
#include "hone/formats/png.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/nn.h"
#include "hone/ops/reduction.h"
#include "hone/ops/sorting.h"
#include "hone/train/model.h"

namespace hone::cli {
namespace {

struct Arguments {
  std::string model;
  std::vector<std::string> images;
  int64_t top = 1;
  bool json = false, verbose = false, no_freeze = false;
};

struct Prediction {
  std::string file;
  int64_t rank = 1, index = 0;
  std::string name;
  double probability = 0;
};

[[noreturn]] void wrong(const std::string& path, std::string what, std::vector<std::string> details, std::string fix) {
  details.insert(details.begin(), "file: " + path);
  throw InputError(Code::kInvalidArgument,
                   {.what = std::move(what), .details = std::move(details), .fix = std::move(fix)});
}

// Images of one file as [n, height, width, channels]. Two axes are one grey image; three are [h, w, c], or a batch of
// grey images where the last extent is too large for channels.
Tensor read_images(const std::string& path) {
  std::string ending = path.substr(std::min(path.rfind('.'), path.size()));
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  Tensor x;
  if (ending == ".png") {
    x = formats::read_png(path);
  } else if (ending == ".npy") {
    x = formats::read_npy(path);
  } else {
    throw Error(Code::kUnsupported, {.what = "this is no image that hone reads",
                                     .details = {"file: " + path, "expected: a name that ends in .png or .npy"},
                                     .fix = "convert it, for example: convert image.jpg image.png"});
  }
  if (x.rank() == 2 || (x.rank() == 3 && x.dim(2) > 4)) x = expand_dims(x, -1);  // grey images
  if (x.rank() == 3) x = expand_dims(x, 0);
  if (x.rank() != 4 || x.size() == 0) {
    wrong(path, "the array holds no images",
          {"got: " + to_string(x.type()), "expected: [h, w], [h, w, c] or [n, h, w, c]"}, "reshape it before saving");
  }
  return x;
}

// Drops alpha, and turns grey into RGB or back (luma of ITU-R BT.601).
Tensor with_channels(const Tensor& images, int64_t wanted, const std::string& path) {
  Tensor x = cast(images, f32);
  const int64_t given = x.dim(3);
  if (given == wanted) return x;
  if (given == 2 || given == 4) x = x[{ellipsis, slice(0, given - 1)}];
  if (x.dim(3) == wanted) return x;
  if (wanted == 3 && x.dim(3) == 1) return broadcast_to(x, {x.dim(0), x.dim(1), x.dim(2), 3});
  if (wanted == 1 && x.dim(3) == 3) return sum(x * Tensor::of<float>({0.299f, 0.587f, 0.114f}), -1, true);
  wrong(path, "the image has another number of channels than the model",
        {fmt::format("expected: {}, got: {}", wanted, given)},
        "give an image of the kind that the model was trained on");
}

Tensor preprocess(const Tensor& raw, const nn::Model& model, const std::string& path) {
  const nn::Preprocessing& how = model.preprocessing();
  const TensorType& input = model.input_type();
  if (input.shape.rank() != 4) {
    throw Error(Code::kUnsupported, {.what = "the model takes no images",
                                     .details = {"its input: " + to_string(input)},
                                     .fix = "call Model::predict in a program"});
  }
  const Ints wanted = input.shape.numbers();
  const int64_t height = how.size ? (*how.size)[0] : wanted[1], width = how.size ? (*how.size)[1] : wanted[2];
  if (raw.dim(1) != height || raw.dim(2) != width) {
    wrong(path, "the image has another size than the model's input",
          {fmt::format("expected: {} x {} pixels (height x width)", height, width),
           fmt::format("got: {} x {}", raw.dim(1), raw.dim(2))},
          fmt::format("scale it first, for example: convert {} -resize {}x{}! scaled.png", path, width, height));
  }
  const Tensor x = with_channels(raw, how.channels > 0 ? how.channels : wanted[3], path);
  if (how.rescale != 1 && is_floating(raw.dtype()) && max(x).item<float>() <= 1) {
    note(
        fmt::format("warning: {} holds floats of at most 1, and the model multiplies by {:.6g}; give the pixels as "
                    "they were before scaling",
                    path, how.rescale));
  }
  return cast(x * how.rescale, input.dtype);
}

// Probabilities of classes [n, classes] from the model's outputs, as its loss reads them; nothing for other models.
std::optional<Tensor> probabilities(const nn::Model& model, const Tensor& output) {
  if (output.rank() != 2 || !model.loss().defined() || model.loss().type().find("Crossentropy") == std::string::npos)
    return {};
  const bool logits = model.loss().from_logits();
  if (output.dim(1) > 1) return logits ? softmax(output, -1) : output;
  const Tensor one = logits ? sigmoid(output) : output;
  const Tensor both[] = {1 - one, one};
  return concatenate(both, 1);
}

void add_predictions(const nn::Model& model, const Tensor& classes, const std::string& file, int64_t top,
                     std::vector<Prediction>& out) {
  const auto [values, indices] = top_k(cast(classes, f32), std::min(top, classes.dim(1)));
  const std::span<const float> probability = values.data<float>();
  const std::span<const int32_t> index = indices.data<int32_t>();
  const int64_t images = classes.dim(0), each = values.dim(1);
  for (int64_t i = 0; i < images * each; ++i) {
    const int64_t at = index[static_cast<size_t>(i)];
    const auto& names = model.class_names();
    out.push_back({.file = images == 1 ? file : fmt::format("{}[{}]", file, i / each),
                   .rank = i % each + 1,
                   .index = at,
                   .name = static_cast<size_t>(at) < names.size() ? names[static_cast<size_t>(at)] : std::to_string(at),
                   .probability = probability[static_cast<size_t>(i)]});
    if (std::isnan(out.back().probability))
      throw Error(Code::kNumerical, "the model's output is NaN for " + out.back().file,
                  "look for NaN in the image and in the weights");
  }
}

void print_predictions(const std::vector<Prediction>& predictions, const Arguments& arguments, Config::Table extra) {
  if (arguments.json) {
    Config::Array items;
    for (const Prediction& p : predictions) {
      Config::Table item{
          {"class_index", p.index}, {"class_name", p.name}, {"probability", p.probability}, {"file", p.file}};
      if (arguments.top > 1) item.emplace_back("rank", p.rank);
      items.emplace_back(std::move(item));
    }
    extra.insert(extra.begin(), {"predictions", std::move(items)});
    return print_json(std::move(extra));
  }
  std::vector<std::vector<std::string>> rows{{"file", "class", "name", "probability"}};
  for (const Prediction& p : predictions)
    rows.push_back({p.file, std::to_string(p.index), p.name, fmt::format("{:.4f}", p.probability)});
  print(table(rows, {false, true, false, true}));
}

// Models that do not classify: their numbers.
void print_outputs(const std::vector<std::pair<std::string, Tensor>>& outputs, const Arguments& arguments,
                   Config::Table extra) {
  Config::Array items;
  for (const auto& [file, output] : outputs) {
    Config::Array values;
    const Tensor flat = cast(output, f32);
    for (const float value : flat.data<float>()) values.emplace_back(static_cast<double>(value));
    items.emplace_back(Config::Table{{"file", file}, {"output", std::move(values)}});
  }
  if (arguments.json) {
    extra.insert(extra.begin(), {"outputs", std::move(items)});
    return print_json(std::move(extra));
  }
  for (const Config& item : items) print(item.find("file")->as_string() + "  " + to_json(*item.find("output")));
}

int predict(const Arguments& arguments) {
  std::optional<nn::Model> model;
  reading_input([&] { model = nn::Model::load(arguments.model); });
  std::vector<Prediction> predictions;
  std::vector<std::pair<std::string, Tensor>> outputs;
  std::optional<nn::FrozenModel> fast;
  bool freezes = !arguments.no_freeze;
  for (const std::string& path : arguments.images) {
    Tensor x;
    reading_input([&] { x = preprocess(read_images(path), *model, path); });
    if (std::exchange(freezes, false)) fast = frozen(*model, x, arguments.verbose);
    const Tensor output = fast ? fast->predict(x) : model->predict(x);
    if (const auto classes = probabilities(*model, output))
      add_predictions(*model, *classes, path, arguments.top, predictions);
    else
      outputs.emplace_back(path, output);
  }
  Config::Table extra;
  if (fast) extra.emplace_back("frozen", frozen_json(*fast));
  if (outputs.empty())
    print_predictions(predictions, arguments, std::move(extra));
  else
    print_outputs(outputs, arguments, std::move(extra));
  return kOk;
}

}  // namespace

void add_predict(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("predict", "What a trained model sees in images");
  verb->add_option("model", arguments->model, "Trained model")->required()->type_name("MODEL.hone");
  verb->add_option(
          "images", arguments->images,
          "Images: PNG, or NPY of [h, w], [h, w, c] or a batch [n, h, w, c]; raw pixels, as before training's rescale")
      ->required()
      ->type_name("IMAGE.png|.npy");
  verb->add_option("--top", arguments->top, "How many classes for each image")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->type_name("K");
  verb->add_flag(
      "--json", arguments->json,
      "Print one JSON object: {\"predictions\": [{\"class_index\", \"class_name\", \"probability\", \"file\"}]}");
  verb->add_flag("-v,--verbose", arguments->verbose, "Say on stderr how the model was frozen");
  verb->add_flag("--no-freeze", arguments->no_freeze,
                 "Run the model as it was trained; else batch norm is folded and calls are fused, within a bound that "
                 "is checked on the first image");
  verb->footer(
      "The model's file says how to preprocess: rescale, channels (grey to RGB and back), size.\n\nExamples:\n"
      "  hone predict fashion.hone shoe.png\n  hone predict fashion.hone *.png --top 3\n  hone predict fashion.hone "
      "batch.npy --json");
  verb->callback([arguments, &exit_code] { exit_code = predict(*arguments); });
}

}  // namespace hone::cli
