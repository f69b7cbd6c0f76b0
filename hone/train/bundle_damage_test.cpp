// Bundles that are cut, altered, or cannot be written.
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "hone/base/file.h"
#include "hone/formats/safetensors.h"
#include "hone/nn/normalization.h"
#include "hone/train/bundle_test.h"
#include "hone/train/model_state.h"

namespace hone::nn {
namespace {

using Bundle = BundleTest;

Sequential trained() {
  set_random_seed(2);
  Sequential model{Dense(2, {.activation = "relu"}), BatchNormalization()};
  model.compile({.optimizer = optim::SGD({.momentum = 0.5}), .loss = "mse"});
  model.fit(ramp({4, 3}), ramp({4, 2}), {.verbose = 0, .class_names = {"a", "b"}});
  return model;
}

uint64_t header_bytes(const std::string& content) {
  uint64_t length = 0;
  std::memcpy(&length, content.data(), sizeof length);
  return sizeof length + length;
}

TEST_F(Bundle, SurvivesEveryTruncationAndFlip) {
  const Sequential model = trained();
  model.save(path("m.hone"));
  const std::string content = read_file(path("m.hone")), description = to_json(model.config());
  const auto load = [](const std::string& file) { return Model::load(file); };
  formats::expect_truncation_is_found(path("m.hone"), content, load);
  // Every bit, weights too: what loads must be what was saved.
  formats::expect_flips_are_survived(path("m.hone"), content, content.size(), load, [&](const Model& loaded) {
    return same_weights(loaded, model) && to_json(loaded.config()) == description &&
           loaded.class_names() == model.class_names() && loaded.loss().config() == model.loss().config();
  });
  EXPECT_GT(content.size(), header_bytes(content));
}

TEST_F(Bundle, AFlippedWeightIsFoundByLoadWeights) {
  Sequential model = trained();
  model.save(path("m.hone"));
  std::string content = read_file(path("m.hone"));
  content[header_bytes(content) + 2] ^= 4;
  formats::spill(path("m.hone"), content);
  const auto error = formats::error_of([&] { model.load_weights(path("m.hone")); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), Code::kDataLoss);
  EXPECT_NE(std::string(error->what()).find("checksum"), std::string::npos) << error->what();
}

TEST_F(Bundle, WrongDescriptionsNameTheFile) {
  // A right checksum over a description that does not describe a model: written by hand, or by another program.
  const char* descriptions[] = {
      "",
      "{}",
      "[1, 2]",
      R"({"version": "one", "model": {}, "input": {}})",
      R"({"version": 1, "model": {"type": "Sequential"}, "input": {"dtype": "f32", "shape": [1, 2]}})",
      R"({"version": 1, "model": {"type": "Sequential", "layers": 3}, "input": {"dtype": "f32", "shape": [1, 2]}})",
      R"({"version": 1, "model": {"type": "Dense"}, "input": {"dtype": "f32", "shape": [1, 2]}})",
      R"({"version": 1, "model": {"type": "Dense", "units": -1}, "input": {"dtype": "f32", "shape": [1, 2]}})",
      R"({"version": 1, "model": {"type": "Dense", "units": 2}, "input": {"dtype": "f31", "shape": [1, 2]}})",
      R"({"version": 1, "model": {"type": "Dense", "units": 2}, "input": {"dtype": "f32", "shape": [1, -2]}})",
      R"({"version": 1, "model": {"type": "Dense", "units": 2}, "input": {"dtype": "f32", "shape": []}})",
      R"({"version": 1, "model": {"type": "Dense", "units": 2}, "input": {"dtype": "f32", "shape": [1, 2]}})",
      R"({"version": 1, "model": {"type": "Dense", "units": 2}, "input": {"dtype": "f32", "shape": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]}})",
      R"({"version": 9, "model": {"type": "Dense", "units": 2}, "input": {"dtype": "f32", "shape": [1, 2]}})",
  };
  for (const std::string description : descriptions) {
    const formats::Metadata metadata{{"hone.bundle", description}, {"hone.checksum", bundle_checksum(description, {})}};
    formats::write_safetensors(path("m.hone"), {}, metadata);
    const auto error = formats::error_of([&] { Model::load(path("m.hone")); });
    ASSERT_TRUE(error) << description;
    EXPECT_NE(std::string(error->what()).find(path("m.hone")), std::string::npos) << error->what();
    EXPECT_NE(error->code(), Code::kInternal) << error->what();
  }
}

TEST_F(Bundle, OtherFilesAreRefused) {
  formats::write_safetensors(path("plain"), {{"x", zeros({2})}});
  formats::spill(path("empty"), "");
  formats::spill(path("text"), "[train]\nepochs = 3\n");
  for (const char* name : {"plain", "empty", "text", "missing"}) {
    const auto error = formats::error_of([&] { Model::load(path(name)); });
    ASSERT_TRUE(error) << name;
    EXPECT_NE(std::string(error->what()).find(path(name)), std::string::npos) << error->what();
  }
  EXPECT_EQ(formats::error_of([&] { Model::load(path("missing")); })->code(), Code::kNotFound);
}

// --- writing that fails ---

size_t files_in(const std::string& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST_F(Bundle, FullDiskKeepsTheOldFile) {
  const Sequential old = trained();
  old.save(path("m.hone"));
  const std::string content = read_file(path("m.hone"));
  Sequential large{Dense(512)};
  large.set_input_type({f32, {1, 512}});
  large(zeros({1, 512}));

  struct SmallFiles {  // what a write hits at a full disk, at a size that the test can choose
    rlimit old{};
    void (*handler)(int);
    SmallFiles() : handler(std::signal(SIGXFSZ, SIG_IGN)) {
      getrlimit(RLIMIT_FSIZE, &old);
      const rlimit small{.rlim_cur = 100'000, .rlim_max = old.rlim_max};
      setrlimit(RLIMIT_FSIZE, &small);
    }
    ~SmallFiles() {
      setrlimit(RLIMIT_FSIZE, &old);
      std::signal(SIGXFSZ, handler);
    }
  };
  const auto error = formats::error_of([&] {
    const SmallFiles limit;
    large.save(path("m.hone"));
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), Code::kResourceExhausted) << error->what();
  EXPECT_NE(std::string(error->what()).find(path("m.hone")), std::string::npos) << error->what();
  EXPECT_EQ(read_file(path("m.hone")), content);
  EXPECT_EQ(files_in(path("")), 1U) << "no temporary file is left";
  large.save(path("m.hone"));
  EXPECT_TRUE(same_weights(Model::load(path("m.hone")), large));
}

TEST_F(Bundle, ReadOnlyFolderKeepsTheOldFile) {
  const Sequential model = trained();
  std::filesystem::create_directory(path("in"));
  model.save(path("in/m.hone"));
  const std::string content = read_file(path("in/m.hone"));
  chmod(path("").c_str(), 0755);
  chmod(path("in").c_str(), 0555);
  struct Unprivileged {  // to root no folder is read-only
    Unprivileged() { ok = geteuid() != 0 || seteuid(65534) == 0; }
    ~Unprivileged() { ok = getuid() != 0 || seteuid(0) == 0; }
    bool ok;
  };
  const auto error = formats::error_of([&] {
    const Unprivileged user;
    model.save(path("in/m.hone"));
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), Code::kFailedPrecondition) << error->what();
  EXPECT_NE(std::string(error->what()).find(path("in/m.hone")), std::string::npos) << error->what();
  EXPECT_FALSE(error->parts().fix.empty());
  EXPECT_EQ(read_file(path("in/m.hone")), content);
  EXPECT_EQ(files_in(path("in")), 1U);
}

TEST_F(Bundle, AMissingFolderIsNamed) {
  const auto error = formats::error_of([&] { trained().save(path("no/such/m.hone")); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), Code::kNotFound);
  EXPECT_NE(error->parts().fix.find(path("no/such")), std::string::npos) << error->what();
}

}  // namespace
}  // namespace hone::nn
