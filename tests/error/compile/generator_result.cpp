// data::generator: the function must be copyable, take no arguments and return std::optional<T>; an empty one ends the data
#include "hone/data/data.h"

void numbers() {
  hone::data::generator([] { return 1; });
}
