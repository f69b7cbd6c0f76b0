// The `hone` tool: finds the verb, runs it, turns errors into messages and exit codes.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>

#include "hone/cli/output.h"
#include "hone/cli/verbs.h"

namespace hone::cli {
namespace {

constexpr const char* kFooter =
    "Results go to stdout, progress and messages to stderr.\n"
    "Exit codes: 0 ok, 1 failed at run time, 2 wrong command line, 3 bad input file, 4 unsupported model or format,\n"
    "7 numerical failure (NaN), 130 interrupted (Ctrl-C) after saving.\n"
    "Environment: HONE_NUM_THREADS, HONE_LOG (error, warning, info, debug), HONE_ISA (v2, v3, v4), NO_COLOR,\n"
    "HONE_CACHE_DIR (machine code for the next run), HONE_PERF=1 and HONE_GDB=1 (names of machine code).\n\n"
    "Examples:\n"
    "  hone train examples/fashion.toml\n"
    "  hone evaluate fashion.hone --data examples/fashion.toml\n"
    "  hone predict fashion.hone shoe.png --json\n"
    "  hone run program.mlir --inputs x.npz\n"
    "  hone compile fashion.hone -o fashion.o --header fashion.h\n"
    "  hone bisect program.mlir --inputs x.npz\n"
    "  hone inspect fashion.hone --kernels\n"
    "  hone doctor\n"
    "  hone cache\n\n"
    "`hone VERB --help` shows the options of a verb.";

// What was meant: options of the verb (or of the tool), or verbs.
std::string suggestion(const std::string& word, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string close = nearest(word, views);
  return close.empty() ? std::string() : fmt::format("\n  fix: did you mean '{}'?", close);
}

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

int usage(const std::string& message, const std::string& verb) {
  print_error(message + fmt::format("\n  see: hone {}--help", verb.empty() ? "" : verb + " "));
  return kUsage;
}

// The first flag on the command line that this verb lacks.
std::string unknown_flag(const CLI::App& verb, const std::vector<std::string>& words) {
  const std::vector<std::string> known = flags_of(verb);
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word.size() < 2 || word[0] != '-') continue;
    const std::string name = word.substr(0, word.find('='));
    if (std::ranges::find(known, name) == known.end()) return name;
  }
  return {};
}

int parse_failed(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  const auto chosen = app.get_subcommands();
  const CLI::App& verb = chosen.empty() ? app : *chosen.front();
  const std::string name = chosen.empty() ? "" : verb.get_name();
  if (const std::string flag = unknown_flag(verb, words); !flag.empty()) {
    return usage(fmt::format("{} has no option '{}'", name.empty() ? "hone" : "hone " + name, flag) +
                     suggestion(flag, flags_of(verb)),
                 name);
  }
  return usage(error.what(), name);
}

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  int exit_code = kOk;
  CLI::App app("Hone: train, evaluate, run and measure neural networks", "hone");
  app.set_version_flag("--version", "hone " HONE_VERSION);
  app.set_help_flag("-h,--help", "Print this help");
  app.get_formatter()->column_width(34);
  app.footer(kFooter);
  add_train(app, exit_code);
  add_evaluate(app, exit_code);
  add_predict(app, exit_code);
  add_run(app, exit_code);
  add_compile(app, exit_code);
  add_bisect(app, exit_code);
  add_inspect(app, exit_code);
  add_bench(app, exit_code);
  add_doctor(app, exit_code);
  add_cache(app, exit_code);
  app.require_subcommand(1);
  if (words.empty()) {
    print_error("no verb given\n  see: hone --help");
    return kUsage;
  }
  if (const std::vector<std::string> verbs = verbs_of(app);
      words[0][0] != '-' && std::ranges::find(verbs, words[0]) == verbs.end()) {
    return usage(fmt::format("hone has no verb '{}'", words[0]) + suggestion(words[0], verbs), "");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    print(chosen.empty() ? app.help() : chosen.front()->help());
  } catch (const CLI::CallForVersion& version) {
    print(version.what());
  } catch (const CLI::ParseError& error) {
    return parse_failed(app, error, words);
  }
  return exit_code;
}

}  // namespace
}  // namespace hone::cli

int main(int argc, char** argv) {
  try {
    return hone::cli::run(argc, argv);
  } catch (...) {
    return hone::cli::report_exception();
  }
}
