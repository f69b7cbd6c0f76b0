// A program of someone who installed Hone: it includes, links, and catches an error thrown inside the library.
#include <hone/hone.h>

#include <cstdio>

int main() {
  try {
    throw hone::Error(hone::Code::kNotFound, "no such thing");
  } catch (const std::exception& error) {
    if (dynamic_cast<const hone::Error*>(&error) == nullptr) return 1;
  }
  std::puts("hone works");
  return 0;
}
