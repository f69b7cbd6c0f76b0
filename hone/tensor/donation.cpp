#include "hone/tensor/donation.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "hone/base/error.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

// Lines that donate, each once: a donated value holds the number of its line where its offset was.
std::mutex mutex;
std::vector<Location>& lines() {
  static auto* const all = new std::vector<Location>;
  return *all;
}

size_t number_of(const Location& location) {
  const std::lock_guard lock(mutex);
  const auto same = [&](const Location& other) { return other.line == location.line && other.file == location.file; };
  const auto found = std::ranges::find_if(lines(), same);
  if (found != lines().end()) return static_cast<size_t>(found - lines().begin()) + 1;
  lines().push_back(location);
  return lines().size();
}

Location line_of(size_t number) {
  const std::lock_guard lock(mutex);
  return number - 1 < lines().size() ? lines()[number - 1] : Location{};
}

}  // namespace

Tensor take_memory(const Tensor& x, Location call) {
  TensorImpl* const impl = x.impl();
  Tensor taken = impl->layout.dense ? x.alias(x.type()) : x.alias(x.type(), impl->layout.strides);
  if (Buffer* const copy = impl->packed.exchange(nullptr)) copy->release();
  impl->layout = {};
  impl->offset = number_of(call);
  impl->buffer = {};
  return taken;
}

bool is_donated(const Tensor& x) { return x.defined() && !x.concrete() && x.impl()->offset != 0; }

void fail_donated(const Tensor& x, Location location) {
  const Location call = line_of(x.impl()->offset);
  throw Error(Code::kFailedPrecondition,
              {.what = "a donated tensor is used",
               .location = LocationScope::resolve(location),
               .details = {fmt::format("value: {}", to_string(x.type())),
                           call.known() ? "its memory was given to the call at " + to_string(call)
                                        : std::string("its memory was given to an earlier call")},
               .fix = "use what that call returned, or call it with identity(x), which leaves x as it is"});
}

}  // namespace hone
