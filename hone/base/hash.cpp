#include "hone/base/hash.h"

#include <xxhash.h>

namespace hone {

uint64_t hash_bytes(const void* data, size_t size, uint64_t seed) { return XXH3_64bits_withSeed(data, size, seed); }

}  // namespace hone
