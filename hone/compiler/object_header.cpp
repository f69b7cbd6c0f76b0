#include "hone/compiler/object_header.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::compiler {
namespace {

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return text;
}

// One operand or result: a comment and macros.
std::string place(const std::string& prefix, const char* what, size_t index, const TensorType& type,
                  const std::string& name) {
  const int64_t of_one = type.shape.elements().evaluate([](std::string_view) { return int64_t{1}; });
  const auto elements = static_cast<size_t>(of_one);
  return fmt::format("#define {0}_{1}_{2}_ELEMENTS {3} /* {4}{5}{6} */\n#define {0}_{1}_{2}_BYTES {7}\n", prefix, what,
                     index, elements, type.shape.is_static() ? "" : "of each example of ", to_string(type),
                     name.empty() ? "" : " " + name, elements * size_of(type.dtype));
}

}  // namespace

std::string object_header(const ir::Graph& graph, size_t results, const ObjectOptions& options,
                          const ObjectFacts& facts) {
  const std::string& name = options.name;
  const std::string prefix = upper(name);
  std::string out = fmt::format("/* {}: a model compiled ahead of time by Hone.\n", name);
  for (size_t at = 0; at < options.comment.size();) {
    const size_t end = std::min(options.comment.find('\n', at), options.comment.size());
    out += fmt::format("   {}\n", options.comment.substr(at, end - at));
    at = end + 1;
  }
  out += fmt::format(
      "   numerics: portable (the same bits on every processor and for any number of threads), denormals {0}.\n"
      "   Link with -lm. Functions allocate nothing, lock nothing and make no system call{1}. */\n"
      "#ifndef {2}_H\n#define {2}_H\n#include <stddef.h>\n#include <stdint.h>\n\n#define {2}_HASH \"{3:016x}\"\n",
      facts.flush_denormals ? "flushed to zero" : "kept",
      facts.embedded ? "" : fmt::format(", but for {}_load_weights", name), prefix, facts.hash);
  size_t argument = 0;
  for (const ir::Input& input : graph.inputs()) {
    if (input.kind == ir::InputKind::Argument)
      out += place(prefix, "INPUT", argument++, graph.type(input.value), input.name);
  }
  for (size_t i = 0; i < results; ++i) out += place(prefix, "OUTPUT", i, graph.type(graph.outputs()[i]), "");
  out += fmt::format("#define {0}_INPUTS {1}\n#define {0}_OUTPUTS {2}\n", prefix, argument, results);
  if (facts.state_bytes > 0) out += fmt::format("#define {}_STATE_BYTES {}\n", prefix, facts.state_bytes);
  out += fmt::format(
      "\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
      "enum {{\n  {0}_OK = 0,\n  {0}_NO_WEIGHTS = 1, /* load them first */\n"
      "  {0}_NO_CPU = 2, /* the processor lacks every instruction set that the object was made for */\n"
      "  {0}_BAD_FILE = 3, /* missing, or the weights of another model */\n  {0}_NO_MEMORY = 4,\n"
      "  {0}_NULL_POINTER = 5,\n  {0}_BAD_BATCH = 6 /* below 0 */\n}};\n\n"
      "/* Bytes of scratch memory for one run at a time; asked after {1}_set_parallel_for. */\n"
      "size_t {1}_scratch_bytes(void);\n"
      "/* A loop of the host's: calls task(argument, i) for each i in [0, tasks), on any threads, and returns when all "
      "are\n"
      "   done. Null, as at first: all on the caller's thread. */\n"
      "void {1}_set_parallel_for(void (*parallel_for)(void* context, long long tasks,\n"
      "                                               void (*task)(void* argument, long long index), void* argument),\n"
      "                          void* context);\n",
      prefix, name);
  if (!facts.embedded)
    out += fmt::format("/* {} bytes, once, before the first run. */\nint {}_load_weights(const char* path);\n",
                       facts.constant_bytes, name);
  if (facts.state_bytes > 0) {
    out += fmt::format(
        "/* state: {0}_STATE_BYTES bytes, 64-byte aligned, the caller's. init and reset give it its first values. */\n"
        "int {1}_init(void* state);\nint {1}_reset(void* state);\n"
        "int {1}_{2}(void* state, const void* const* inputs, void* const* outputs, void* scratch);\n",
        prefix, name, options.entry);
  } else if (!graph.is_static()) {
    out += fmt::format(
        "/* batch: how many examples the inputs have along their first axis, and the outputs get; those whose types\n"
        "   have no batch are one for all. Any number: they are computed in parts, with the bits of one run. */\n"
        "int {}_{}(const void* const* inputs, void* const* outputs, int64_t batch, void* scratch);\n",
        name, options.entry);
  } else {
    out += fmt::format("int {}_{}(const void* const* inputs, void* const* outputs, void* scratch);\n", name,
                       options.entry);
  }
  return out + "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

}  // namespace hone::compiler
