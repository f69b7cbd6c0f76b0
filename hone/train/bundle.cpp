// Bundles: a safetensors file whose metadata describes the model.
#include <fmt/format.h>

#include <map>

#include "hone/base/error.h"
#include "hone/base/hash.h"
#include "hone/formats/json.h"
#include "hone/formats/safetensors.h"
#include "hone/function/tape.h"
#include "hone/ops/creation.h"
#include "hone/train/model_state.h"
#include "hone/train/sequential.h"

namespace hone::nn {

std::string bundle_checksum(const std::string& description, const formats::NamedTensors& tensors) {
  uint64_t hash = hash_of(description);
  for (const auto& [name, tensor] : tensors) {
    hash = hash_combine(hash, hash_of(name));
    hash = hash_combine(hash, hash_of(to_string(tensor.type())));
    hash = hash_combine(hash, hash_bytes(tensor.raw(), tensor.bytes()));
  }
  return fmt::format("{:016x}", hash);
}

namespace {

constexpr int64_t kVersion = 1;
constexpr std::string_view kOptimizer = "optimizer/";
constexpr const char* kDescription = "hone.bundle";
constexpr const char* kChecksum = "hone.checksum";

[[noreturn]] void damaged(const std::string& path, const std::string& why) {
  throw Error(Code::kDataLoss, {.what = "damaged model bundle",
                                .details = {"file: " + path, why},
                                .fix = "restore the file, or train the model again"});
}

const std::string* find(const formats::Metadata& metadata, std::string_view key) {
  for (const auto& [name, value] : metadata) {
    if (name == key) return &value;
  }
  return nullptr;
}

// The description of a bundle whose checksum is right; null for a file without one.
const std::string* checked_description(const formats::SafeTensors& file, const std::string& path) {
  const std::string *description = find(file.metadata, kDescription), *expected = find(file.metadata, kChecksum);
  if (!description) return nullptr;
  if (!expected) damaged(path, fmt::format("its metadata lacks {}", kChecksum));
  const std::string got = bundle_checksum(*description, file.tensors);
  if (got != *expected) damaged(path, fmt::format("checksum: expected {}, got {}", *expected, got));
  return description;
}

// Runs `body`; errors that do not name the file get a line that does.
template <class Body>
auto naming_file(const std::string& path, Body body) {
  try {
    return body();
  } catch (const Error& error) {
    if (std::string_view(error.what()).find(path) != std::string_view::npos) throw;
    ErrorParts parts = error.parts();
    parts.details.insert(parts.details.begin(), "file: " + path);
    throw Error(error.code(), std::move(parts));
  }
}

Config type_config(const TensorType& type) {
  Config::Array shape;
  for (Dim d : type.shape) shape.emplace_back(d.number());
  return Config::Table{{"dtype", std::string(name(type.dtype))}, {"shape", shape}};
}

TensorType type_from(const Config& config, const std::string& path) {
  TensorType type;
  const Config *dtype = config.find("dtype"), *shape = config.find("shape");
  if (!dtype || !shape) damaged(path, "the input's type is incomplete");
  type.dtype = parse_dtype(dtype->as_string("input.dtype"));
  for (const Config& extent : shape->as_array("input.shape")) {
    const int64_t n = extent.as_integer("input.shape");
    if (n < 1 || n > (int64_t{1} << 24)) damaged(path, fmt::format("an input extent of {}", n));
    type.shape.push_back(n);
  }
  return type;
}

Config preprocessing_config(const Preprocessing& p) {
  Config config(Config::Table{{"rescale", p.rescale}, {"channels", p.channels}});
  if (p.size) {
    Config::Array size;
    for (int64_t extent : *p.size) size.emplace_back(extent);
    config.set("size", size);
  }
  return config;
}

Preprocessing preprocessing_from(const Config& config) {
  Preprocessing p;
  if (const Config* rescale = config.find("rescale")) p.rescale = rescale->as_number("preprocessing.rescale");
  if (const Config* channels = config.find("channels")) p.channels = channels->as_integer("preprocessing.channels");
  if (const Config* size = config.find("size")) {
    p.size.emplace();
    for (const Config& extent : size->as_array("preprocessing.size"))
      p.size->push_back(extent.as_integer("preprocessing.size"));
  }
  return p;
}

Config::Array strings(const std::vector<std::string>& values) { return {values.begin(), values.end()}; }

std::vector<Layer> layers_from(const Config& config, const std::string& path);

// Sequential lives above nn/, so its type is made known here.
Layer sequential_from(const Config& config) { return Sequential(layers_from(config, "bundle")); }

std::vector<Layer> layers_from(const Config& config, const std::string& path) {
  const Config* items = config.find("layers");
  if (!items) damaged(path, "the model has no layers");
  std::vector<Layer> layers;
  std::map<std::string, Layer, std::less<>> named;
  for (const Config& item : items->as_array("layers")) {
    const std::string where = fmt::format("layers[{}]", layers.size());
    const Config *type = item.find("type"), *shared = item.find("layer"), *name = item.find("name");
    if (type && shared && *type == Config("Shared")) {
      const auto first = named.find(shared->as_string(where + ".layer"));
      if (first == named.end()) damaged(path, where + " stands for a layer that is not there");
      layers.push_back(first->second);
      continue;
    }
    layers.push_back(layer_from_config(item, where));
    if (name) named.emplace(name->as_string(where + ".name"), layers.back());
  }
  return layers;
}

std::string describe(const Model& model, const CompileOptions& compile) {
  Config description(Config::Table{{"version", kVersion}, {"model", model.config()}});
  description.set("input", type_config(model.input_type()));
  description.set("preprocessing", preprocessing_config(model.preprocessing()));
  description.set("class_names", strings(model.class_names()));
  if (model.compiled()) {
    Config::Array metrics;
    for (const Metric& metric : compile.metrics) metrics.push_back(metric.config());
    Config compiled(Config::Table{{"optimizer", compile.optimizer.config()}, {"metrics", std::move(metrics)}});
    if (compile.loss.defined()) compiled.set("loss", compile.loss.config());
    description.set("compile", std::move(compiled));
  }
  return to_json(description);
}

using Arrays = std::map<std::string, Tensor, std::less<>>;

// Assigns arrays to variables, all or none; reports all that does not fit at once. Arrays may be left over unless
// `exact`.
void assign(const std::vector<std::pair<std::string, Variable>>& variables, std::string_view prefix, Arrays& arrays,
            const std::string& path, bool exact) {
  std::vector<std::string> problems;
  std::vector<std::pair<Variable, Tensor>> found;
  for (const auto& [name, variable] : variables) {
    const auto at = arrays.find(std::string(prefix) + name);
    if (at == arrays.end()) {
      problems.push_back("missing: " + name + " " + to_string(variable.type()));
      continue;
    }
    if (!(at->second.type() == variable.type())) {
      problems.push_back(fmt::format("{}: the file has {}, the model {}", name, to_string(at->second.type()),
                                     to_string(variable.type())));
    }
    found.emplace_back(variable, at->second);
    arrays.erase(at);
  }
  for (const auto& [name, tensor] : arrays) {
    if (exact && !name.starts_with(kOptimizer))
      problems.push_back("left over: " + name + " " + to_string(tensor.type()));
  }
  if (problems.empty()) {
    for (const auto& [variable, value] : found) variable.assign(value);
    return;
  }
  problems.insert(problems.begin(), "file: " + path);
  throw Error(Code::kInvalidArgument, {.what = "weights do not fit the model",
                                       .details = std::move(problems),
                                       .fix = "load them into the architecture that saved them"});
}

Arrays arrays_of(const formats::SafeTensors& file) {
  Arrays arrays;
  for (const auto& [name, tensor] : file.tensors) arrays.emplace(name, tensor);
  return arrays;
}

// Those that the optimizer had state for when the file was written: none before the first step, and not the frozen
// ones.
std::vector<std::pair<std::string, Variable>> variables_with_slots(const Model& model,
                                                                   const optim::Optimizer& optimizer,
                                                                   const Arrays& arrays) {
  const std::string first = optimizer.named_variables().front().first;  // "adam/iterations"
  const std::string prefix = std::string(kOptimizer) + first.substr(0, first.find('/') + 1);
  std::vector<std::pair<std::string, Variable>> variables = model.named_variables();
  std::erase_if(variables, [&](const auto& named) {
    const std::string slots = prefix + named.first + "/";
    const auto at = arrays.lower_bound(slots);
    return at == arrays.end() || !at->first.starts_with(slots);
  });
  return variables;
}

// Makes the variables by one call on zeros.
void build_variables(Model& model) {
  const NoGradScope quiet;
  model(zeros(model.input_type().shape, model.input_type().dtype));
}

Model model_from(const Config& description, const formats::SafeTensors& file, const std::string& path) {
  const Config *version = description.find("version"), *architecture = description.find("model"),
               *input = description.find("input");
  if (!version || !architecture || !input) damaged(path, "the description lacks version, model or input");
  if (version->as_integer("version") > kVersion) {
    throw Error(Code::kUnsupported,
                {.what = fmt::format("bundle version {} is newer than this Hone reads", version->as_integer()),
                 .details = {"file: " + path, fmt::format("expected: at most {}", kVersion)},
                 .fix = "update Hone"});
  }
  Model model(layer_from_config(*architecture, "model"));
  model.set_input_type(type_from(*input, path));
  if (const Config* preprocessing = description.find("preprocessing"))
    model.set_preprocessing(preprocessing_from(*preprocessing));
  if (const Config* names = description.find("class_names")) {
    std::vector<std::string> classes;
    for (const Config& item : names->as_array("class_names")) classes.push_back(item.as_string("class_names"));
    model.set_class_names(std::move(classes));
  }
  build_variables(model);
  Arrays arrays = arrays_of(file);
  assign(model.named_variables(), "", arrays, path, false);
  if (const Config* compiled = description.find("compile")) {
    CompileOptions options;
    if (const Config* optimizer = compiled->find("optimizer"))
      options.optimizer = optim::optimizer_from_config(*optimizer, "optimizer");
    if (const Config* loss = compiled->find("loss")) options.loss = loss_from_config(*loss, "loss");
    if (const Config* metrics = compiled->find("metrics")) {
      for (const Config& metric : metrics->as_array("metrics"))
        options.metrics.push_back(metric_from_config(metric, "metric"));
    }
    model.compile(options);
    options.optimizer.build(variables_with_slots(model, options.optimizer, arrays));
    assign(options.optimizer.named_variables(), kOptimizer, arrays, path, false);
  }
  return model;
}

}  // namespace

void Model::save(const std::string& path, Location location) const {
  const auto variables = named_variables();
  if (input_type().shape.rank() == 0 || !built()) {
    throw Error(Code::kFailedPrecondition, {.what = "the model was never called: there are no weights to save",
                                            .location = location,
                                            .fix = "train it, or call set_input_type and the model once"});
  }
  formats::NamedTensors tensors;
  for (const auto& [name, variable] : variables) tensors.emplace_back(name, variable.value());
  if (state_->compiled) {
    for (const auto& [name, variable] : state_->compile.optimizer.named_variables())
      tensors.emplace_back(std::string(kOptimizer) + name, variable.value());
  }
  const std::string description = describe(*this, state_->compile);
  const std::string sum = bundle_checksum(description, tensors);
  formats::write_safetensors(path, tensors, {{"format", "hone"}, {kDescription, description}, {kChecksum, sum}});
}

Model Model::load(const std::string& path, Location location) {
  static const bool known = (register_layer("Sequential", sequential_from), true);
  (void)known;
  const formats::SafeTensors file = formats::read_safetensors(path);
  const std::string* text = checked_description(file, path);
  if (!text) {
    throw Error(Code::kUnsupported,
                {.what = "this safetensors file is no model bundle",
                 .location = location,
                 .details = {"file: " + path, "its metadata has no entry " + std::string(kDescription)},
                 .fix = "build the model in code and call load_weights"});
  }
  return naming_file(path, [&] { return model_from(formats::parse_json(*text, path), file, path); });
}

void Model::load_weights(const std::string& path, Location location) {
  if (!built()) {
    throw Error(Code::kFailedPrecondition, {.what = "the model has no variables yet",
                                            .location = location,
                                            .fix = "call it once on an example, then load the weights"});
  }
  const formats::SafeTensors file = formats::read_safetensors(path);
  checked_description(file, path);
  Arrays arrays = arrays_of(file);
  assign(named_variables(), "", arrays, path, true);
}

}  // namespace hone::nn
