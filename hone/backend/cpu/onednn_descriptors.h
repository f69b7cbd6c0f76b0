// A convolution in oneDNN's terms. Internal to backend/cpu.
#pragma once
#include <oneapi/dnnl/dnnl.hpp>

#include "hone/ops/conv_geometry.h"

namespace hone::onednn {

/// Data NHWC at both ends; `plain`: the kernel as Hone keeps it, `kernel`: in the layout that the primitive prefers.
struct ConvDescriptors {
  dnnl::memory::desc source, plain, kernel, bias, result;
  dnnl::memory::dims strides, dilates, low, high;
};
ConvDescriptors descriptors(const ConvGeometry& g, bool bias, dnnl::memory::data_type type);

/// True for base dilation and negative padding, which oneDNN does not know.
bool needs_spreading(const ConvGeometry& g);

}  // namespace hone::onednn
