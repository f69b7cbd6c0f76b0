// NPY and NPZ, NumPy's files (format versions 1.0, 2.0 and 3.0; numpy.lib.format).
#pragma once
#include <string>

#include "hone/formats/named_tensors.h"
#include "hone/tensor/tensor.h"

namespace hone::formats {

class ByteSource;

/// The array of an NPY file: bool, i1-i8, u1-u8, f2, f4, f8, little- or big-endian, C or Fortran order (made
/// row-major). Two bytes without a type ("V2", what NumPy makes of ml_dtypes' bfloat16) are bf16. Python objects are
/// refused, since they are programs; so are text, dates, complex numbers and records. Errors: kNotFound, kDataLoss
/// (file, byte, expected and got), kUnsupported.
Tensor read_npy(const std::string& path);

/// Writes version 1.0 atomically, byte for byte as NumPy does; bf16 as "<V2" (in Python: `.view(ml_dtypes.bfloat16)`).
void write_npy(const std::string& path, const Tensor& tensor);

/// The arrays of an NPZ file (a ZIP of NPY files, stored or deflated) under their names without ".npy".
NamedTensors read_npz(const std::string& path);

/// Writes an NPZ atomically, stored, each array at a multiple of 64 bytes. Error kInvalidArgument for two equal names.
void write_npz(const std::string& path, const NamedTensors& tensors);

/// The array that `source` holds, up to its end.
Tensor parse_npy(ByteSource& source);
/// The bytes before the elements of a dense tensor.
std::string npy_header(const TensorType& type);

}  // namespace hone::formats
