#include "hone/compiler/plan_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::compiler {
namespace {

std::string line_of(const ir::Graph& graph, const ir::Node& node) {
  const ir::Origin& origin = graph.origin(node);
  std::string text = origin.layer;
  if (const Location at = origin.location(); at.known())
    text += fmt::format("{}{}:{}", text.empty() ? "" : "  ", at.file, at.line);
  return text;
}

std::string storage_text(const Plan& plan, uint32_t index) {
  const Storage& storage = plan.storages[index];
  switch (storage.kind) {
    case Storage::Arena:
      return fmt::format("arena+{}", storage.offset);
    case Storage::Input:
      return fmt::format("input{}", storage.index);
    case Storage::Output:
      return fmt::format("output{}", storage.index);
    case Storage::Constant:
      return "constant";
    case Storage::Held:
      return "host";
  }
  return "";
}

std::string place_text(const Plan& plan, ir::ValueId value) {
  const Place& place = plan.places[value];
  if (place.storage == ir::kNone) return "nowhere";
  std::string text = fmt::format("{} {}", to_string(plan.graph.type(value)), storage_text(plan, place.storage));
  if (place.offset > 0 && plan.storages[place.storage].kind != Storage::Constant)
    text += fmt::format(" from byte {}", place.offset);
  if (!place.layout.dense) text += " strided";
  return text;
}

}  // namespace

std::string plan_text(const Plan& plan) {
  std::string out = fmt::format("{} steps, arena of {} bytes\n", plan.steps.size(), plan.arena_bytes);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const ir::Node& node = plan.graph.nodes()[step.node];
    const std::span<const ir::ValueId> operands = plan.graph.operands(node);
    std::string writes, reads;
    if (step.kind == Step::Pack) {
      writes = storage_text(plan, step.storage);
      reads = place_text(plan, operands[step.operand]);
    } else {
      for (uint32_t i = 0; i < node.results; ++i) writes += (i ? ", " : "") + place_text(plan, node.first_result + i);
      for (const ir::ValueId operand : operands) reads += (reads.empty() ? "" : ", ") + place_text(plan, operand);
    }
    const std::string_view by = step.kind == Step::Pack   ? "a dense copy of an operand"
                                : step.kind == Step::Host ? "the host"
                                                          : step.kernel->name;
    out += fmt::format("{:>5}  {} by {}\n       writes {}\n       reads  {}\n", s + 1, node.op->name, by, writes,
                       reads.empty() ? "nothing" : reads);
    if (const std::string line = line_of(plan.graph, node); !line.empty()) out += "       " + line + "\n";
  }
  return out;
}

std::string memory_text(const Plan& plan) {
  std::vector<uint32_t> order, writer(plan.storages.size(), ir::kNone);
  for (uint32_t n = 0; n < plan.graph.nodes().size(); ++n) {
    const ir::Node& node = plan.graph.nodes()[n];
    for (uint32_t i = 0; i < node.results; ++i) {
      const uint32_t storage = plan.places[node.first_result + i].storage;
      if (storage != ir::kNone && writer[storage] == ir::kNone) writer[storage] = n;
    }
  }
  for (uint32_t i = 0; i < plan.storages.size(); ++i) {
    const Storage& storage = plan.storages[i];
    if (storage.kind == Storage::Arena && storage.bytes > 0 && storage.first != ir::kNone) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::greater(), [&](uint32_t i) { return plan.storages[i].bytes; });
  std::string out =
      fmt::format("arena of {} bytes, at least {} are alive at one step\n", plan.arena_bytes, plan.lower_bound);
  out += fmt::format("{:>12} {:>12} {:>13}  first written by\n", "bytes", "offset", "steps");
  for (const uint32_t i : order) {
    const Storage& storage = plan.storages[i];
    std::string by = "a dense copy";
    if (writer[i] != ir::kNone) {
      const ir::Node& node = plan.graph.nodes()[writer[i]];
      by = fmt::format("{}  {}", node.op->name, line_of(plan.graph, node));
    }
    out += fmt::format("{:>12} {:>12} {:>5} to {:>4}  {}\n", storage.bytes, storage.offset, storage.first + 1,
                       storage.last + 1, by);
  }
  return out;
}

std::string fusion_text(std::span<const FusionDecision> decisions) {
  std::string out;
  for (const FusionDecision& d : decisions) {
    out += d.what;
    if (d.bytes_saved > 0) out += fmt::format(", saves {:.0f} bytes", d.bytes_saved);
    if (d.location.known()) out += fmt::format("  {}:{}", d.location.file, d.location.line);
    out += "\n";
  }
  return out.empty() ? "no calls to gather\n" : out;
}

}  // namespace hone::compiler
