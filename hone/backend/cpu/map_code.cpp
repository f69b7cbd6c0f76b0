#include "hone/backend/cpu/map_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace hone {
namespace {

std::atomic<int64_t> run_count{0};

// "map v3 multiply add relu": what a cluster does, for people.
std::string title_of(const ir::Graph& body, IsaLevel level) {
  constexpr size_t kLongest = 160;
  std::string title = fmt::format("map {}", name(level));
  for (const ir::Node& node : body.nodes()) {
    if (title.size() > kLongest) return title + " ...";
    title += fmt::format(" {}", node.op->name);
  }
  return title;
}

}  // namespace

MapCodeCounts map_code_counts() { return {machine_code_count(), run_count}; }

MapCode::MapCode(const ir::Graph& body, IsaLevel level, uint64_t splats)
    : MachineCode("a fused call, which runs tile by tile"), cluster_(body), isa_(level) {
  cluster_.splats |= splats;
  lanes_ = codegen::lanes_of(cluster_.program(static_cast<codegen::Level>(level)));
  const int32_t counts[] = {static_cast<int32_t>(level), cluster_.operands(),
                            static_cast<int32_t>(cluster_.steps.size())};
  level_ = name(level);
  title_ = title_of(body, level);
  key_ = "map";
  append_key<int32_t>(key_, counts);
  append_key<uint64_t>(key_, {&cluster_.splats, 1});
  append_key<int32_t>(key_, cluster_.types);
  append_key<codegen::MapStep>(key_, cluster_.steps);
  append_key<int32_t>(key_, cluster_.results);
}

std::shared_ptr<MapCode> MapCode::of(const ir::Graph& body, IsaLevel level, uint64_t splats) {
  return std::static_pointer_cast<MapCode>(shared(std::shared_ptr<MapCode>(new MapCode(body, level, splats))));
}

bool MapCode::make(const codegen::Generator& generator, const codegen::TextSink& sink) const {
  return generator.compile_map(cluster_.program(static_cast<codegen::Level>(isa_)), sink);
}

void MapCode::run(std::span<void* const> pointers, int64_t n) const {
  const auto code = reinterpret_cast<codegen::MapFn>(function());
  const int64_t whole = n - n % lanes_;
  if (whole > 0) code(pointers.data(), nullptr, 1, whole);
  if (whole < n) run_rest(pointers, whole, n - whole);
}

void MapCode::run_rows(std::span<void* const> pointers, std::span<const int64_t> strides, int64_t rows,
                       int64_t n) const {
  reinterpret_cast<codegen::MapFn>(function())(pointers.data(), strides.data(), rows, n);
}

// The last elements, repeated to fill a vector: other lanes do what these do, and no more.
void MapCode::run_rest(std::span<void* const> pointers, int64_t begin, int64_t n) const {
  struct alignas(64) Pad {
    Pad() {}  // NOLINT(modernize-use-equals-default): which would fill it with zeros first
    std::byte bytes[codegen::kVectorBytes];
  };
  SmallVector<Pad, 24> pads(pointers.size());
  SmallVector<void*, 24> moved;
  const size_t operands = pointers.size() - cluster_.results.size();
  for (size_t i = 0; i < pointers.size(); ++i) {
    std::byte* const pad = pads[i].bytes;
    const bool splat = i < operands && codegen::splat(cluster_.splats, i);
    moved.push_back(splat ? pointers[i] : pad);
    if (i >= operands || splat) continue;
    const auto item = static_cast<int64_t>(cluster_.items[i]), bytes = lanes_ * item;
    std::memcpy(pad, static_cast<const std::byte*>(pointers[i]) + begin * item, static_cast<size_t>(n * item));
    for (int64_t filled = n * item; filled < bytes; filled *= 2)
      std::memcpy(pad + filled, pad, static_cast<size_t>(std::min(filled, bytes - filled)));
  }
  reinterpret_cast<codegen::MapFn>(function())(moved.data(), nullptr, 1, lanes_);
  for (size_t i = operands; i < pointers.size(); ++i) {
    const auto item = static_cast<int64_t>(cluster_.items[i]);
    std::memcpy(static_cast<std::byte*>(pointers[i]) + begin * item, pads[i].bytes, static_cast<size_t>(n * item));
  }
}

void MapCode::count_run() { run_count.fetch_add(1, std::memory_order_relaxed); }

}  // namespace hone
