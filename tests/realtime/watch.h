// What this process does that a real-time thread must not.
#pragma once
#include <cstdint>

namespace hone::realtime {

/// Calls by this thread since watch().
struct Watched {
  int64_t heap = 0;        ///< malloc, free and their kin
  int64_t locks = 0;       ///< pthread_mutex_lock and _trylock
  int64_t first_uses = 0;  ///< pthread_once and guards of statics whose first use is not done
  int64_t exceptions = 0;
};
void watch();
Watched watched();

}  // namespace hone::realtime
