// error: damaged IDX file
//   file: FOLDER/labels.idx
//   at byte 4: the header declares u8[5], but the file can hold at most 3 bytes of it
//   fix: the file is incomplete or altered: copy, download or write it again
#include <hone/base/file.h>
#include <hone/formats/idx.h>

#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_idx_damaged(__FILE__, [](const std::string& folder) {
  write_file_atomic(folder + "/labels.idx", std::string_view("\0\0\x08\x01\0\0\0\x05"
                                                             "abc",
                                                             11));
  formats::read_idx(folder + "/labels.idx");
});
}  // namespace hone::test
