// IDX, the format of MNIST and Fashion-MNIST: 00 00, type, number of axes; extents as big-endian u32; elements,
// row-major and big-endian.
#pragma once
#include <string>

#include "hone/tensor/tensor.h"

namespace hone::formats {

/// The array of an IDX file, which may be compressed with gzip (recognised by its content): u8, i8, i16, i32, f32 or
/// f64. Errors: kNotFound, kDataLoss (file, byte and what was expected), kUnsupported beyond kMaxRank axes.
Tensor read_idx(const std::string& path);

/// Writes `tensor` atomically; compressed if the path ends in ".gz". Error kInvalidArgument for another dtype.
void write_idx(const std::string& path, const Tensor& tensor);

}  // namespace hone::formats
