// Objects in the process that made them: for checks.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "hone/base/error.h"
#include "hone/base/file.h"
#include "hone/compiler/object.h"
#include "hone/compiler/object_loader.h"

namespace hone::compiler {
namespace {

// A file that is gone when this is.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content) {
    int number = ::mkstemp(path_);
    if (number < 0) throw_file_error("create", path_, errno);
    ::close(number);
    write_file_atomic(path_, content);
  }
  ~TemporaryFile() { ::unlink(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const char* path() const { return path_; }

 private:
  char path_[32] = "/tmp/hone-weights-XXXXXX";
};

}  // namespace

std::vector<Tensor> run_object(const ObjectFiles& files, const ObjectOptions& options, std::span<const Tensor> inputs,
                               std::span<const TensorType> results, int calls) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(files.object.data()), files.object.size());
  const LoadedCode code = load_object(bytes, options.name + "_" + options.entry, [](std::string_view name) {
    return static_cast<const void*>(dlsym(RTLD_DEFAULT, std::string(name).c_str()));
  });
  const auto check = [&](const char* what, int status) {
    if (status != 0)
      throw Error(Code::kInternal, fmt::format("{}_{} of the object gives status {}", options.name, what, status));
  };
  if (!files.weights.empty()) {
    const TemporaryFile weights(files.weights);
    const auto load =
        reinterpret_cast<int (*)(const char*)>(const_cast<void*>(code.find(options.name + "_load_weights")));
    check("load_weights", load(weights.path()));
  }
  const auto scratch_bytes =
      reinterpret_cast<size_t (*)()>(const_cast<void*>(code.find(options.name + "_scratch_bytes")));
  std::vector<std::byte> scratch(scratch_bytes());
  std::vector<Tensor> held, made;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Tensor& input : inputs) {
    held.push_back(input.dense());
    in.push_back(held.back().mutable_bytes());
  }
  for (const TensorType& type : results) {
    made.push_back(Tensor::empty(type));
    out.push_back(made.back().mutable_bytes());
  }
  if (files.any_batch) {
    const auto run = code.function<int (*)(const void* const*, void* const*, int64_t, void*)>();
    for (int i = 0; i < calls; ++i)
      check(options.entry.c_str(), run(in.data(), out.data(), inputs[0].shape()[0].number(), scratch.data()));
    return made;
  }
  if (files.state_bytes == 0) {
    const auto run = code.function<int (*)(const void* const*, void* const*, void*)>();
    for (int i = 0; i < calls; ++i) check(options.entry.c_str(), run(in.data(), out.data(), scratch.data()));
    return made;
  }
  const Tensor state = Tensor::empty({u8, {static_cast<int64_t>(files.state_bytes)}});  // aligned
  const auto init = reinterpret_cast<int (*)(void*)>(const_cast<void*>(code.find(options.name + "_init")));
  const auto run = code.function<int (*)(void*, const void* const*, void* const*, void*)>();
  check("init", init(state.mutable_bytes()));
  for (int i = 0; i < calls; ++i)
    check(options.entry.c_str(), run(state.mutable_bytes(), in.data(), out.data(), scratch.data()));
  return made;
}

std::string with_comment(const std::string& header, const std::string& lines) {
  std::string text;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    text += fmt::format("   {}\n", lines.substr(at, end - at));
    at = end + 1;
  }
  const size_t first = header.find('\n') + 1;
  return header.substr(0, first) + text + header.substr(first);
}

}  // namespace hone::compiler
