// safetensors: u64 length of the header, a JSON object that gives each array's type, shape and place, then the bytes.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hone/formats/named_tensors.h"

namespace hone::formats {

/// The string map `__metadata__`, in order.
using Metadata = std::vector<std::pair<std::string, std::string>>;

struct SafeTensors {
  NamedTensors tensors;
  Metadata metadata;
};

/// Maps a file; the arrays look into the mapping (copy-on-read pages, never written) and keep it alive. Arrays whose
/// bytes are not aligned for their type, or are no valid bools, are copied. All rules of the format are checked: the
/// header has at most 100 MB and valid UTF-8, names are unique, places cover the bytes without holes and overlaps and
/// fit the shapes. Errors: kNotFound, kDataLoss, kUnsupported (8-bit and smaller floats, more than kMaxRank axes).
SafeTensors read_safetensors(const std::string& path);

/// The same from memory that `owner` keeps; `name` stands for the file in messages.
SafeTensors parse_safetensors(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                              const std::string& name);

/// Writes atomically. Names keep their order in the header; bytes are ordered by size of element, so that each array is
/// aligned. Error kInvalidArgument for equal names, the name "__metadata__" and text that is not UTF-8.
void write_safetensors(const std::string& path, const NamedTensors& tensors, const Metadata& metadata = {});

/// The file in pieces, for a writer of one's own: the header, then the elements of `tensors` in the order of the file.
struct SafeTensorsPieces {
  std::string header;
  std::vector<std::span<const std::byte>> data;  ///< valid while the tensors live
};
SafeTensorsPieces safetensors_pieces(const NamedTensors& tensors, const Metadata& metadata = {});

}  // namespace hone::formats
