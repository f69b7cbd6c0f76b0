// error: cannot write FOLDER/model.hone: Permission denied
//   fix: make the folder FOLDER writable or choose another one
#include <sys/stat.h>
#include <unistd.h>

#include "tests/error/mistake.h"

namespace hone::test {
static const Mistake k_save_read_only(__FILE__, [](const std::string& folder) {
  nn::Sequential model{nn::Dense(2)};
  model.set_input_type({f32, {1, 3}});
  model(zeros({1, 3}));
  chmod(folder.c_str(), 0555);
  struct Unprivileged {  // to root no folder is read-only
    Unprivileged() { ok = geteuid() != 0 || seteuid(65534) == 0; }
    ~Unprivileged() { ok = getuid() != 0 || seteuid(0) == 0; }
    bool ok;
  } user;
  model.save(folder + "/model.hone");
});
}  // namespace hone::test
