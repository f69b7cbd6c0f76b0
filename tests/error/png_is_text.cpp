// error: damaged PNG file
//   file: FOLDER/shoe.png
//   at byte 0: the first bytes are not those of a PNG image
//   fix: the file is incomplete or altered: copy, download or write it again
#include <hone/base/file.h>
#include <hone/formats/png.h>

#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_png_is_text(__FILE__, [](const std::string& folder) {
  write_file_atomic(folder + "/shoe.png", std::string_view("<html>404 not found</html>"));
  formats::read_png(folder + "/shoe.png");
});
}  // namespace hone::test
