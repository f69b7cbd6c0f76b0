// PNG images, through libspng.
#pragma once
#include <string>

#include "hone/tensor/tensor.h"

namespace hone::formats {

/// u8[height, width, channels]: 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha; palettes become RGB, a transparent
/// colour becomes alpha. Samples of 1, 2 and 4 bits are scaled to 0-255; of 16 bits the upper 8 are kept (value >> 8).
/// No colour management. Errors: kNotFound, kDataLoss (also a wrong checksum anywhere), kResourceExhausted beyond 65535
/// x 65535.
Tensor read_png(const std::string& path);

/// Writes u8[height, width] or u8[height, width, 1 to 4] atomically. Error kInvalidArgument for another shape or dtype.
void write_png(const std::string& path, const Tensor& image);

}  // namespace hone::formats
