// IDX files as batches of images and labels.
#pragma once
#include <string>
#include <vector>

#include "hone/cli/run_file.h"
#include "hone/data/data.h"

namespace hone::cli {

using Images = data::Dataset<Tensor, Tensor>;

/// Images [height, width, channels] and labels. Errors: InputError where a file cannot be read or the two do not fit.
Images read_images(const IdxFiles& files);

struct BatchedOptions {
  int64_t batch_size = 256;
  double rescale = 1;  ///< 1 leaves the dtype as it is
  bool shuffle = false;
  std::vector<std::string> class_names{};
};
/// Batches of images as f32 * rescale, and labels.
nn::DataSource batched(const Images& images, const BatchedOptions& options);

/// Names given in the file, else those of a well-known data set that the path names, else none.
std::vector<std::string> class_names_of(const DataOptions& options);

}  // namespace hone::cli
