// error: cannot read FOLDER/image.npy: No such file or directory
//   fix: check the path
#include <hone/formats/npy.h>

#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_npy_missing(__FILE__,
                                   [](const std::string& folder) { formats::read_npy(folder + "/image.npy"); });
}  // namespace hone::test
