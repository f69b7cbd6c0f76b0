// error: the files of Fashion-MNIST are missing
//   cannot read FOLDER/train-images-idx3-ubyte.gz: No such file or directory
//   fix: install them (apt install dataset-fashion-mnist), or pass the folder that has them: fashion_mnist(folder)
#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_missing_data(__FILE__, [](const std::string& folder) { data::fashion_mnist(folder); });
}  // namespace hone::test
