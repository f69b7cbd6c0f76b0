#include "tests/object/driver.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "hone/base/file.h"

namespace hone::object_test {
namespace {

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/hone_object_XXXXXX";
    if (!::mkdtemp(name)) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& file) const { return path_ + "/" + file; }

 private:
  std::string path_;
};

std::string shell(const std::string& command) {
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::string text;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  if (::pclose(pipe) != 0) throw std::runtime_error(command + "\n" + text);
  return text;
}

const char* compiler_of(Machine machine) { return machine == Machine::Host ? "cc" : "aarch64-linux-gnu-gcc -static"; }

constexpr const char* kDriver = R"(
#include "model.h"
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

static void backwards(void* context, long long tasks, void (*task)(void*, long long), void* argument) {
  (void)context;
  for (long long i = tasks; i-- > 0;) task(argument, i);
}
static void* read_file(const char* path, size_t bytes) {
  FILE* const file = fopen(path, "rb");
  void* const memory = malloc(bytes + 1);
  if (!file || fread(memory, 1, bytes, file) != bytes) exit(90);
  fclose(file);
  return memory;
}
int main(int count, char** arguments) {
  const int calls = atoi(arguments[1]), parallel = atoi(arguments[2]), host_mode = atoi(arguments[3]);
  const void* inputs[MODEL_INPUTS + 1];
  void* outputs[MODEL_OUTPUTS + 1];
  if (count != 4) return 91;
  INPUTS
  if (parallel) model_set_parallel_for(backwards, 0);
  WEIGHTS
  void* const scratch = malloc(model_scratch_bytes());
  STATE
  if (host_mode) {
    fesetround(FE_UPWARD);
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
  }
  for (int i = 0; i < calls; ++i) {
    const int status = CALL;
    if (status != 0) return status;
  }
  AGAIN
  if (host_mode && fegetround() != FE_UPWARD) return 92;
#if defined(__x86_64__)
  if (host_mode && (__builtin_ia32_stmxcsr() & 0x8040) != 0x8040) return 93;
#endif
  OUTPUTS
  return 0;
}
)";

void replace(std::string& text, const std::string& what, const std::string& with) {
  text.replace(text.find(what), what.size(), with);
}

std::string driver_text(const Folder& folder, size_t inputs, size_t outputs, const compiler::ObjectOptions& options,
                        bool stateful, int resets, int64_t batch) {
  std::string text = kDriver, in, out;
  const int64_t times = batch < 0 ? 1 : batch;
  for (size_t i = 0; i < inputs; ++i)
    in += fmt::format("inputs[{0}] = read_file(\"{1}\", {2} * (size_t)MODEL_INPUT_{0}_BYTES);\n", i,
                      folder / fmt::format("in{}", i), times);
  for (size_t i = 0; i < outputs; ++i) {
    in += fmt::format("outputs[{0}] = malloc({1} * (size_t)MODEL_OUTPUT_{0}_BYTES + 1);\n", i, times);
    out += fmt::format(
        "{{ FILE* f = fopen(\"{1}\", \"wb\"); fwrite(outputs[{0}], 1, {2} * (size_t)MODEL_OUTPUT_{0}_BYTES, f); "
        "fclose(f); "
        "}}\n",
        i, folder / fmt::format("out{}", i), times);
  }
  replace(text, "INPUTS\n", in);
  replace(text, "OUTPUTS\n", out);
  replace(text, "WEIGHTS\n",
          options.embed_weights
              ? ""
              : fmt::format("if (model_load_weights(\"{}\") != 0) return 94;\n", folder / "model.weights"));
  replace(text, "STATE\n",
          stateful ? "void* const state = aligned_alloc(64, MODEL_STATE_BYTES);\nmodel_init(state);\n" : "");
  replace(text, "AGAIN\n",
          resets > 0 ? fmt::format("model_reset(state);\nfor (int i = 0; i < {}; ++i) {{\n"
                                   "  if (model_{}(state, inputs, outputs, scratch) != 0) return 95;\n}}\n",
                                   resets, options.entry)
                     : "");
  replace(text, "CALL",
          fmt::format("model_{}({}inputs, outputs, {}scratch)", options.entry, stateful ? "state, " : "",
                      batch < 0 ? "" : fmt::format("{}, ", batch)));
  return text;
}

}  // namespace

bool available(Machine machine) {
  if (machine == Machine::Host) return true;
  return std::system("command -v aarch64-linux-gnu-gcc qemu-aarch64-static > /dev/null") == 0;
}

std::vector<Tensor> run_object(const Lowered& lowered, Machine machine, const std::vector<Tensor>& inputs,
                               const std::vector<TensorType>& results, const RunOptions& options) {
  compiler::ObjectOptions object = options.object;
  object.arm64 = machine == Machine::Arm64;
  return run_object(lowered.object(object), machine, inputs, results, options);
}

std::vector<Tensor> run_object(const compiler::ObjectFiles& files, Machine machine, const std::vector<Tensor>& inputs,
                               const std::vector<TensorType>& results, const RunOptions& options) {
  const Folder folder;
  write_file_atomic(folder / "model.o", files.object);
  write_file_atomic(folder / "model.h", files.header);
  if (!files.weights.empty()) write_file_atomic(folder / "model.weights", files.weights);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor dense = inputs[i].dense();
    write_file_atomic(folder / fmt::format("in{}", i),
                      {static_cast<const char*>(static_cast<const void*>(dense.mutable_bytes())), dense.bytes()});
  }
  const bool stateful = files.header.find("STATE_BYTES") != std::string::npos;
  write_file_atomic(folder / "driver.c", driver_text(folder, inputs.size(), results.size(), options.object, stateful,
                                                     options.after_reset, options.batch));
  shell(fmt::format("{0} -std=gnu11 -Wall -Wextra -Werror {1} {2} -o {3} -lm", compiler_of(machine),
                    folder / "driver.c", folder / "model.o", folder / "driver"));
  shell(fmt::format("{}{} {} {} {}", machine == Machine::Arm64 ? "qemu-aarch64-static " : "", folder / "driver",
                    options.calls, options.threads > 1 ? 1 : 0, options.fresh_mode ? 0 : 1));
  std::vector<Tensor> made;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string bytes = read_file(folder / fmt::format("out{}", i));
    made.push_back(Tensor::empty(results[i]));
    if (bytes.size() != made.back().bytes()) throw std::runtime_error("a result of another size");
    std::memcpy(made.back().mutable_bytes(), bytes.data(), bytes.size());
  }
  return made;
}

Symbols symbols_of(const Lowered& lowered, const compiler::ObjectOptions& options) {
  const Folder folder;
  lowered.write_object(folder / "model.o", folder / "model.h", options);
  const auto names = [&](const char* which) {
    std::vector<std::string> found;
    const std::string text =
        shell(fmt::format("nm --extern-only {} --format=just-symbols {}", which, folder / "model.o"));
    for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
      found.push_back(text.substr(at, end - at));
    return found;
  };
  return {names("--undefined-only"), names("--defined-only")};
}

}  // namespace hone::object_test
