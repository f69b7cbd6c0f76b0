#include "hone/backend/cpu/onednn_descriptors.h"

namespace hone::onednn {
namespace {

using dnnl::memory;

memory::dims spatial(const ConvGeometry& g, const std::array<int64_t, 3>& values, int64_t less = 0) {
  memory::dims dims;
  for (size_t i = 3 - static_cast<size_t>(g.axes); i < 3; ++i) dims.push_back(values[i] - less);
  return dims;
}

memory::desc data_desc(const ConvGeometry& g, int64_t channels, const std::array<int64_t, 3>& extents,
                       memory::data_type type) {
  memory::dims dims = {g.batch, channels};
  for (int64_t extent : spatial(g, extents)) dims.push_back(extent);
  constexpr memory::format_tag kTags[] = {memory::format_tag::nwc, memory::format_tag::nhwc, memory::format_tag::ndhwc};
  return {dims, type, kTags[g.axes - 1]};
}

// The kernel [spatial..., in / groups, out] as oneDNN names its axes: (groups,) out, in, spatial.
memory::desc plain_kernel(const ConvGeometry& g, memory::data_type type) {
  memory::dims dims, strides;
  if (g.groups > 1) dims.push_back(g.groups), strides.push_back(g.out_per_group());
  dims.push_back(g.out_per_group()), strides.push_back(1);
  dims.push_back(g.in_per_group()), strides.push_back(g.out);
  const memory::dims window = spatial(g, g.kernel);
  for (size_t i = 0; i < window.size(); ++i) {
    int64_t stride = g.in_per_group() * g.out;
    for (size_t inner = i + 1; inner < window.size(); ++inner) stride *= window[inner];
    dims.push_back(window[i]), strides.push_back(stride);
  }
  return {dims, type, strides};
}

}  // namespace

ConvDescriptors descriptors(const ConvGeometry& g, bool bias, memory::data_type type) {
  ConvDescriptors d;
  d.source = data_desc(g, g.in, g.input, type);
  d.result = data_desc(g, g.out, g.result, type);
  d.plain = plain_kernel(g, type);
  d.kernel = memory::desc(d.plain.dims(), type, memory::format_tag::any);
  if (bias) d.bias = memory::desc({g.out}, type, memory::format_tag::x);
  d.strides = spatial(g, g.stride), d.dilates = spatial(g, g.dilation, 1);
  d.low = spatial(g, g.low);
  // oneDNN checks that the padding gives exactly the result: a rest that the stride does not reach is cut.
  auto high = g.high;
  for (size_t i = 0; i < 3; ++i)
    high[i] = (g.result[i] - 1) * g.stride[i] + (g.kernel[i] - 1) * g.dilation[i] + 1 - g.input[i] - g.low[i];
  d.high = spatial(g, high);
  return d;
}

bool needs_spreading(const ConvGeometry& g) {
  for (size_t i = 0; i < 3; ++i) {
    if (g.base[i] != 1 || g.low[i] < 0 || g.high[i] < 0) return true;
  }
  return false;
}

}  // namespace hone::onednn
