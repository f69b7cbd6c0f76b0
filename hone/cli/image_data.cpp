#include "hone/cli/image_data.h"

#include <optional>

#include "hone/cli/output.h"
#include "hone/nn/initializer.h"
#include "hone/ops/creation.h"
#include "hone/ops/elementwise.h"

namespace hone::cli {

Images read_images(const IdxFiles& files) {
  std::optional<Images> images;
  reading_input([&] {
    images = data::idx(files.images, files.labels);
    if (images->size() < 1) {
      throw InputError(Code::kInvalidArgument,
                       {.what = "the data has no images", .details = {"file: " + files.images}});
    }
  });
  return *images;
}

nn::DataSource batched(const Images& images, const BatchedOptions& options) {
  Images examples = images;
  if (options.shuffle) {
    examples = examples.shuffle(images.size(), {.seed = static_cast<int64_t>(nn::next_random_key() >> 1)});
  }
  Images batches = examples.batch(options.batch_size);
  if (options.rescale != 1) {
    batches = batches.map([rescale = static_cast<float>(options.rescale)](Tensor x, Tensor labels) {
      return std::tuple{cast(x, f32) * rescale, labels};
    });
  }
  return batches.prefetch(data::AUTOTUNE).with_class_names(options.class_names);
}

std::vector<std::string> class_names_of(const DataOptions& options) {
  if (!options.class_names.empty()) return options.class_names;
  const std::string path = options.train ? options.train->images : "";
  const bool fashion =
      path.find("fashion-mnist") != std::string::npos || path.find("fashion_mnist") != std::string::npos;
  return fashion ? data::fashion_mnist_classes() : std::vector<std::string>();
}

}  // namespace hone::cli
