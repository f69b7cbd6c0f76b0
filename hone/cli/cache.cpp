// hone cache
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cmath>

#include "hone/base/settings.h"
#include "hone/cli/output.h"
#include "hone/cli/verbs.h"
#include "hone/compiler/code_cache.h"

namespace hone::cli {
namespace {

struct Arguments {
  std::string action = "list";
  bool json = false;
};

// "3 days"
std::string age_text(double seconds) {
  struct Unit {
    double seconds;
    const char* name;
  };
  constexpr Unit kUnits[] = {{86400, "days"}, {3600, "hours"}, {60, "minutes"}};
  for (const Unit& unit : kUnits) {
    if (seconds >= 2 * unit.seconds) return fmt::format("{:.0f} {}", std::floor(seconds / unit.seconds), unit.name);
  }
  return fmt::format("{:.0f} seconds", std::floor(seconds));
}

void print_text(const std::string& folder, const std::vector<code_cache::Entry>& entries, double bytes, bool cleared) {
  if (cleared) return print(fmt::format("removed {} entries of {} from {}", entries.size(), bytes_text(bytes), folder));
  if (!entries.empty()) {
    std::vector<std::vector<std::string>> rows{{"used", "bytes", "code"}};
    for (const code_cache::Entry& entry : entries)
      rows.push_back({age_text(entry.age), std::to_string(entry.bytes), entry.title});
    print(table(rows, {true, true, false}));
  }
  print(fmt::format("{} entries of {} in {}, which may take {}", entries.size(), bytes_text(bytes), folder,
                    bytes_text(static_cast<double>(settings.code_cache_bytes))));
}

int cache(const Arguments& arguments) {
  const std::string folder = code_cache::folder();
  if (folder.empty()) {
    throw Error(Code::kFailedPrecondition, "there is no cache: no folder for it is known",
                "set HONE_CACHE_DIR to a folder, or HOME");
  }
  const bool clears = arguments.action == "clear";
  const std::vector<code_cache::Entry> entries = clears ? code_cache::clear() : code_cache::list();
  uint64_t bytes = 0;
  for (const code_cache::Entry& entry : entries) bytes += entry.bytes;
  if (!arguments.json) {
    print_text(folder, entries, static_cast<double>(bytes), clears);
    return kOk;
  }
  Config::Array list;
  for (const code_cache::Entry& entry : entries) {
    list.emplace_back(Config::Table{{"title", entry.title},
                                    {"path", entry.path},
                                    {"bytes", static_cast<int64_t>(entry.bytes)},
                                    {"age_s", entry.age}});
  }
  print_json({{"folder", folder},
              {"limit", static_cast<int64_t>(settings.code_cache_bytes)},
              {"bytes", static_cast<int64_t>(bytes)},
              {clears ? "removed" : "entries", std::move(list)}});
  return kOk;
}

}  // namespace

void add_cache(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("cache", "Machine code kept for the next process: list it, clear it");
  verb->add_option("action", arguments->action, "list or clear")
      ->check(CLI::IsMember({"list", "clear"}))
      ->capture_default_str()
      ->type_name("");
  verb->add_flag("--json", arguments->json, "Print one JSON object");
  verb->footer(
      "Programs keep the machine code of fused calls, so that others need not make it again. It lies in\n"
      "HONE_CACHE_DIR, else $XDG_CACHE_HOME/hone, else ~/.cache/hone; HONE_CACHE_DIR= (empty) keeps none.\n"
      "What was used longest ago goes first. Code of other versions of Hone is never run.\n\n"
      "Examples:\n  hone cache\n  hone cache clear\n  hone cache --json");
  verb->callback([arguments, &exit_code] { exit_code = cache(*arguments); });
}

}  // namespace hone::cli
