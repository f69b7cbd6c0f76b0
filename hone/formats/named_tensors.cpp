#include "hone/formats/named_tensors.h"

#include <algorithm>

#include "hone/base/error.h"

namespace hone::formats {

const Tensor& find(const NamedTensors& tensors, std::string_view name) {
  const auto at = std::ranges::find(tensors, name, &NamedTensors::value_type::first);
  if (at != tensors.end()) return at->second;
  constexpr size_t kShown = 20;
  std::string names;
  for (size_t i = 0; i < std::min(tensors.size(), kShown); ++i) names += (i ? ", " : "") + tensors[i].first;
  if (tensors.size() > kShown) names += ", ... (" + std::to_string(tensors.size()) + " in all)";
  throw Error(Code::kNotFound, {.what = "no array is named '" + std::string(name) + "'",
                                .details = {"names: " + (names.empty() ? "none" : names)},
                                .fix = "use one of these names"});
}

}  // namespace hone::formats
