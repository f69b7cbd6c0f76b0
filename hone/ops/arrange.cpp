// Arrangements composed of the movement primitives.
#include <fmt/format.h>

#include <numeric>

#include "hone/base/error.h"
#include "hone/ops/attrs.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"
#include "hone/ops/movement.h"
#include "hone/ops/promote.h"
#include "hone/ops/views.h"
#include "hone/tensor/interpreter.h"

namespace hone {
namespace {

[[noreturn]] void fail(std::string what, Location location, std::string detail, std::string fix) {
  throw Error(Code::kInvalidArgument,
              {.what = std::move(what),
               .location = LocationScope::resolve(location),
               .details = detail.empty() ? std::vector<std::string>{} : std::vector{std::move(detail)},
               .fix = std::move(fix)});
}

// Elements [from, to) of one axis.
Tensor range_of(const Tensor& x, int axis, Dim from, Dim to, Location location) {
  Shape start, limit = x.shape();
  start.resize(limit.size());
  start[axis] = from;
  limit[axis] = to;
  return slice_by({x, location}, start, limit);
}

}  // namespace

Tensor stack(std::span<const Tensor> parts, int axis, Location location) {
  if (parts.empty()) fail("stack of no tensors", location, {}, "pass at least one");
  TensorList expanded;
  for (const Tensor& part : parts) {
    if (part.defined() && !(part.shape() == parts[0].shape())) {
      fail("shape mismatch in stack", location,
           fmt::format("part 0 is {}, part {} is {}", to_string(parts[0].type()), &part - parts.data(),
                       to_string(part.type())),
           "stack joins tensors of one shape; concatenate joins along an existing axis");
    }
    expanded.push_back(expand_dims({part, location}, axis));
  }
  return concatenate({expanded.data(), expanded.size()}, checked_axis(expanded[0].shape(), axis, "stack", location),
                     location);
}

std::vector<Tensor> split(Operand x, int64_t parts, int axis) {
  const Location location = x.location;
  const Tensor value = to_tensor(std::move(x));
  const int at = checked_axis(value.shape(), axis, "split", location);
  const Dim n = value.shape()[at];
  if (parts < 1 || !(mod(n, parts) == Dim(0))) {
    fail(fmt::format("cannot split axis {} into {} equal parts", axis, parts), location,
         "x: " + to_string(value.type()), "pass a number that divides the extent, or a list of sizes");
  }
  std::vector<Tensor> result(static_cast<size_t>(parts)), inputs{value};
  const AxisAttrs attrs{at};
  Call call{ops::split, attrs, inputs, result, location};
  dispatch(call);
  return result;
}

std::vector<Tensor> split(Operand x, std::span<const int64_t> sizes, int axis) {
  const Location location = x.location;
  const Tensor value = to_tensor(std::move(x));
  const int at = checked_axis(value.shape(), axis, "split", location);
  const bool negative = std::ranges::any_of(sizes, [](int64_t size) { return size < 0; });
  const int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (negative || !(value.shape()[at] == Dim(total))) {
    fail("sizes do not fit in split", location,
         fmt::format("x: {}, sizes [{}] sum to {}, axis {} is {}", to_string(value.type()), fmt::join(sizes, ", "),
                     total, axis, to_string(value.shape()[at])),
         "pass sizes >= 0 that sum to the extent");
  }
  std::vector<Tensor> result;
  int64_t from = 0;
  for (int64_t size : sizes) {
    result.push_back(range_of(value, at, from, from + size, location));
    from += size;
  }
  return result;
}

Tensor tile(Operand x, const Ints& repeats) {
  const Location location = x.location;
  const Tensor value = to_tensor(std::move(x));
  const int rank = std::max(value.rank(), static_cast<int>(repeats.size()));
  Shape spread, result;  // [r0, n0, r1, n1, ...] and [r0 n0, r1 n1, ...]
  Ints dimensions;
  const bool plain = 2 * rank <= kMaxRank;
  Tensor tiled = value;
  for (int i = 0; i < rank; ++i) {
    const int axis = i - (rank - value.rank());
    const int from = i - (rank - static_cast<int>(repeats.size()));
    const int64_t times = from >= 0 ? repeats[from] : 1;
    if (times < 0)
      fail("negative count in tile", location, fmt::format("repeats[{}] = {}", from, times), "pass counts >= 0");
    const Dim n = axis >= 0 ? value.shape()[axis] : Dim(1);
    result.push_back(n * times);
    if (!plain) continue;
    spread.push_back(times);
    if (axis >= 0) dimensions.push_back(static_cast<int64_t>(spread.size()));
    spread.push_back(n);
  }
  if (plain) return reshape({broadcast_in_dim({value, location}, spread, dimensions), location}, result);
  while (tiled.rank() < rank) tiled = expand_dims({tiled, location}, 0);
  for (int i = 0; i < rank; ++i) {  // too many axes for one step
    const int from = i - (rank - static_cast<int>(repeats.size()));
    if (from < 0 || repeats[from] == 1) continue;
    TensorList copies(static_cast<size_t>(repeats[from]), tiled);
    tiled =
        copies.empty() ? range_of(tiled, i, 0, 0, location) : concatenate({copies.data(), copies.size()}, i, location);
  }
  return tiled;
}

Tensor repeat(Operand x, int64_t times, int axis) {
  const Location location = x.location;
  const Tensor value = to_tensor(std::move(x));
  const int at = checked_axis(value.shape(), axis, "repeat", location);
  if (times < 0) fail("negative count in repeat", location, fmt::format("times = {}", times), "pass a count >= 0");
  Shape spread = value.shape(), result = value.shape();
  spread.insert(static_cast<size_t>(at) + 1, times);
  result[at] = result[at] * times;
  Ints dimensions;
  for (int i = 0; i < value.rank(); ++i) dimensions.push_back(i <= at ? i : i + 1);
  return reshape({broadcast_in_dim({value, location}, spread, dimensions), location}, result);
}

Tensor roll(Operand x, int64_t shift, int axis) {
  const Location location = x.location;
  const Tensor value = to_tensor(std::move(x));
  const int at = checked_axis(value.shape(), axis, "roll", location);
  const Dim n = value.shape()[at];
  if (n == Dim(0)) return value;
  const Dim cut = n - (n.is_number() ? ((shift % n.number()) + n.number()) % n.number() : mod(Dim(shift), n));
  if (cut == n) return value;
  const Tensor parts[] = {range_of(value, at, cut, n, location), range_of(value, at, 0, cut, location)};
  return concatenate(parts, at, location);
}

Tensor one_hot(Operand labels, int64_t depth, DType dtype) {
  const Location location = labels.location;
  Tensor value = to_tensor(std::move(labels));
  if (!is_integer(value.dtype())) {
    fail("dtype mismatch in one_hot", location,
         fmt::format("labels: {}, expected an integer dtype", to_string(value.type())),
         "convert them: cast(labels, i32)");
  }
  if (depth < 0)
    fail("negative depth in one_hot", location, fmt::format("depth = {}", depth), "pass the number of classes");
  const bool wide = size_of(value.dtype()) == 8 || value.dtype() == u32;
  const DType index = wide ? i64 : i32;
  value = cast({std::move(value), location}, index);
  Shape shape = value.shape();
  shape.push_back(depth);
  const Tensor label = expand_dims({std::move(value), location}, -1), classes = iota({depth}, 0, index, location);
  return cast({equal({label, location}, {classes, location}), location}, dtype);
}

}  // namespace hone
