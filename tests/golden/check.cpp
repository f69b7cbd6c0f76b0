#include "tests/golden/check.h"

#include <fmt/format.h>

#include <regex>
#include <vector>

namespace hone::golden {
namespace {

struct Directive {
  enum Kind : uint8_t { Find, Next, Not } kind;
  std::string pattern;
  size_t line;  // of the script, from 1
};
constexpr const char* kNames[] = {"CHECK", "CHECK-NEXT", "CHECK-NOT"};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// The pattern as a regular expression.
std::string expression(std::string_view pattern) {
  std::string out;
  while (!pattern.empty()) {
    if (const size_t end = pattern.find("}}"); pattern.starts_with("{{") && end != pattern.npos) {
      out += fmt::format("(?:{})", pattern.substr(2, end - 2));
      pattern.remove_prefix(end + 2);
      continue;
    }
    if (std::string_view("\\^$.|?*+()[]{}").find(pattern[0]) != std::string_view::npos) out += '\\';
    out += pattern[0];
    pattern.remove_prefix(1);
  }
  return out;
}

bool contains(std::string_view line, const std::string& pattern) {
  if (pattern.find("{{") == pattern.npos) return line.find(pattern) != line.npos;
  return std::regex_search(line.begin(), line.end(), std::regex(expression(pattern)));
}

// The directives, or what is wrong with them.
std::string parse(std::string_view script, std::vector<Directive>& found) {
  const std::vector<std::string_view> lines = lines_of(script);
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string_view rest = trimmed(lines[i]);
    if (!rest.starts_with("//")) continue;
    rest = trimmed(rest.substr(2));
    if (!rest.starts_with("CHECK")) continue;
    const size_t colon = rest.find(':');
    const std::string_view name = rest.substr(0, colon);
    const std::string pattern(colon == rest.npos ? "" : trimmed(rest.substr(colon + 1)));
    const auto* const kind = std::find(std::begin(kNames), std::end(kNames), name);
    if (kind == std::end(kNames)) return fmt::format("line {}: no directive '{}'", i + 1, name);
    if (pattern.empty()) return fmt::format("line {}: {} of nothing", i + 1, name);
    found.push_back({static_cast<Directive::Kind>(kind - kNames), pattern, i + 1});
    if (found.size() == 1 && found[0].kind == Directive::Next)
      return fmt::format("line {}: CHECK-NEXT with nothing before it", i + 1);
  }
  return found.empty() ? "no CHECK line" : "";
}

std::string report(const Directive& directive, const char* what, const std::vector<std::string_view>& lines,
                   size_t first, size_t last) {
  std::string out = fmt::format("line {}: {}: {}\n{}", directive.line, kNames[directive.kind], directive.pattern, what);
  for (size_t i = first; i < last; ++i) out += fmt::format("\n{:4} | {}", i + 1, lines[i]);
  return out + (first < last ? "" : "\n     | (the text ends here)");
}

}  // namespace

std::string check(std::string_view text, std::string_view script) {
  std::vector<Directive> directives;
  if (std::string wrong = parse(script, directives); !wrong.empty()) return wrong;
  const std::vector<std::string_view> lines = lines_of(text);
  size_t at = 0;  // behind the last line found
  for (size_t i = 0; i <= directives.size();) {
    size_t next = i;  // what the CHECK-NOTs before it speak of ends where it is found
    while (next < directives.size() && directives[next].kind == Directive::Not) ++next;
    size_t found = lines.size();
    if (next < directives.size()) {
      const Directive& wanted = directives[next];
      const size_t last = wanted.kind == Directive::Next ? std::min(at + 1, lines.size()) : lines.size();
      for (found = at; found < last && !contains(lines[found], wanted.pattern);) ++found;
      if (found == last)
        return report(wanted, last == at + 1 ? "is not in this line:" : "is in none of these lines:", lines, at, last);
    }
    for (; i < next; ++i) {
      for (size_t line = at; line < found; ++line) {
        if (contains(lines[line], directives[i].pattern))
          return report(directives[i], "is in this line:", lines, line, line + 1);
      }
    }
    at = found + 1;
    i = next + 1;
  }
  return {};
}

}  // namespace hone::golden
