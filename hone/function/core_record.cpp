// How a function is recorded, and what for.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "hone/base/error.h"
#include "hone/base/log.h"
#include "hone/base/settings.h"
#include "hone/function/core_state.h"

namespace hone::function_detail {

std::string text_of(const Tensor& tensor) { return tensor.defined() ? to_string(tensor.type()) : "nothing"; }
std::string text_of(float number) { return fmt::format("{}", number); }
std::string text_of(double number) { return fmt::format("{}", number); }
std::string text_of(int64_t number) { return fmt::format("{}", number); }
std::string text_of(std::string_view string) { return fmt::format("\"{}\"", string); }
std::string text_of(std::vector<std::string> parts) {
  constexpr size_t kShown = 6;
  if (parts.size() > kShown) return fmt::format("{} values", parts.size());
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

void hash_text(Statics& statics, std::string_view text) {
  statics.push_back(text.size());
  for (size_t at = 0; at < text.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
    statics.push_back(word);
  }
}

void Core::State::check_signature(const Signature& signature, Location location) const {
  if (!options.input_signature) return;
  Bindings bindings;
  if (Signature(*options.input_signature, signature.statics()).match(signature, bindings)) return;
  std::string expected, got;
  for (const Spec& spec : *options.input_signature) expected += (expected.empty() ? "" : ", ") + to_string(spec);
  for (size_t i = 0; i < signature.leaves(); ++i) got += (i ? ", " : "") + to_string(signature.leaf(i).type);
  throw Error(Code::kInvalidArgument, {.what = fmt::format("'{}' does not take these arguments", options.name),
                                       .location = location,
                                       .details = {"expected: " + expected, "got: " + got},
                                       .fix = "convert or reshape them, or widen input_signature"});
}

std::vector<std::string> leaf_names(std::span<const ArgumentEnd> ends) {
  std::vector<std::string> names;
  for (size_t a = 0; a < ends.size(); ++a) {
    const size_t first = names.size();
    const bool one = ends[a].leaves == first + 1;
    while (names.size() < ends[a].leaves)
      names.push_back(one ? fmt::format("argument {}", a)
                          : fmt::format("argument {}, tensor {}", a, names.size() - first));
  }
  return names;
}

std::string Core::State::reason_for(const Signature& signature, const CallSite& site) const {
  const std::vector<std::string> names = leaf_names(site.ends), words = site.arguments();
  std::string best = "first call";
  size_t fewest = SIZE_MAX;
  for (auto at = traces.rbegin(); at != traces.rend(); ++at) {
    const Recorded& recorded = *at;
    size_t differences = 0;
    std::string text;
    const std::span<const uint64_t> now = signature.statics(), old = recorded.signature.statics();
    for (size_t a = 0; a < std::min(site.ends.size(), recorded.ends.size()); ++a) {
      const auto part = [a](std::span<const ArgumentEnd> ends, std::span<const uint64_t> all) {
        const size_t first = a ? ends[a - 1].statics : 0;
        return all.subspan(first, ends[a].statics - first);
      };
      if (std::ranges::equal(part(site.ends, now), part(recorded.ends, old))) continue;
      text +=
          fmt::format("{}argument {} is {}, before {}", text.empty() ? "" : "; ", a, words[a], recorded.arguments[a]);
      constexpr size_t kAnotherValue = 100;  // farther than another extent
      differences += kAnotherValue;
    }
    const std::string types = signature.difference(recorded.signature, names, differences);
    if (!types.empty()) text += (text.empty() ? "" : "; ") + types;
    if (differences < fewest) fewest = differences, best = std::move(text);
  }
  return best;
}

SmallVector<char, 8> Core::State::donated_leaves(const CallSite& site) const {
  SmallVector<char, 8> donated;
  if (options.donate_args.empty()) return donated;
  donated.resize(site.ends.empty() ? 0 : site.ends.back().leaves);
  for (const int position : options.donate_args) {
    const auto index = static_cast<size_t>(position);
    const auto count = static_cast<int64_t>(site.ends.size());
    const size_t first = position > 0 && position < count ? site.ends[index - 1].leaves : 0;
    if (position < 0 || position >= count || site.ends[index].leaves == first) {
      throw Error(Code::kInvalidArgument,
                  {.what = fmt::format("'{}' cannot donate argument {}", options.name, position),
                   .location = site.location,
                   .details = {position < 0 || position >= count ? fmt::format("the call has {} arguments", count)
                                                                 : "it holds no tensor"},
                   .fix = "donate_args holds positions of arguments, from 0"});
    }
    for (size_t i = first; i < site.ends[index].leaves; ++i) donated[i] = 1;
  }
  return donated;
}

const Core::State::Recorded& Core::State::retrace(const Signature& signature, Body body, const CallSite& site) {
  std::string reason = reason_for(signature, site);
  if (no_retrace) {
    throw Error(Code::kFailedPrecondition,
                {.what = fmt::format("'{}' would be recorded again, which expect_no_retrace forbids", options.name),
                 .location = site.location,
                 .details = {reason},
                 .fix = "call it with the kinds of before; pass a number that changes as a tensor, and name an extent "
                        "that changes: "
                        "Spec{f32, {Dim(\"batch\"), 784}} in input_signature"});
  }
  std::optional<Signature> general;
  if (options.input_signature) {
    general = Signature(*options.input_signature, signature.statics());
  } else if (options.reduce_retracing && !symbolic_failed) {
    for (auto at = traces.rbegin(); at != traces.rend() && !general; ++at)
      general = signature.generalise(at->signature);
  }
  if (general && general->is_symbolic()) {
    try {
      traces.push_back(
          record_as(*general, body, site, reason + "; recorded with symbolic extents: " + general->symbols()));
      return traces.back();
    } catch (const Error& error) {
      if (options.input_signature) throw;
      symbolic_failed = true;
      reason += fmt::format("; symbolic extents do not serve: {}", error.parts().what);
    }
  }
  traces.push_back(record_as(signature, body, site, std::move(reason)));
  return traces.back();
}

Core::State::Recorded Core::State::record_as(const Signature& signature, Body body, const CallSite& site,
                                             std::string reason) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<TensorType> types;
  std::vector<char> flags;
  for (size_t i = 0; i < signature.leaves(); ++i) {
    types.push_back(signature.leaf(i).type);
    flags.push_back(signature.leaf(i).defined);
  }
  const SmallVector<char, 8> donated = donated_leaves(site);
  TraceRequest request{options.name,
                       types,
                       {reinterpret_cast<const bool*>(flags.data()), flags.size()},
                       may_make_variables,
                       {reinterpret_cast<const bool*>(donated.data()), donated.size()}};
  Trace trace = record(request, body);
  if (settings.trace_twice) {
    request.may_make_variables = false;
    const Trace again = record(request, body);
    bool differ = false;
    const Location where = first_difference(trace.graph, again.graph, differ);
    if (differ) {
      throw Error(
          Code::kFailedPrecondition,
          {.what = fmt::format("'{}' does not do the same each time it is recorded", options.name),
           .location = where,
           .details = {"the host changes something here: a counter, a clock, a random number of its own"},
           .fix = "pass what changes as a tensor or keep it in a Variable; settings.trace_twice = false switches "
                  "this check off"});
    }
  }
  may_make_variables = false;
  trace.graph = compiler::optimize(trace.graph);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  ++count;
  if (site.location.known()) reason += fmt::format(" (called at {}:{})", site.location.file, site.location.line);
  constexpr size_t kReasons = 64;
  constexpr int64_t kStorm = 8;
  if (reasons.size() == kReasons) reasons.pop_front();
  reasons.push_back(std::move(reason));
  ++recorded_reasons;
  if (count == kStorm) {
    logging::warning(
        fmt::format("'{}' has been recorded {} times, the last time for: {}\nPass numbers that change as tensors, give "
                    "input_signature, or make it several functions; explain_retraces() lists all.",
                    options.name, count, reasons.back()));
  }
  return {signature,
          std::make_shared<const Trace>(std::move(trace)),
          {site.ends.begin(), site.ends.end()},
          site.arguments(),
          spent.count()};
}

}  // namespace hone::function_detail
