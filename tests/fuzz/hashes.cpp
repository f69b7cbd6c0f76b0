// Reads programs, a line each, and prints the hash of what each computes in this process: another one compares.
#include <cstdio>
#include <iostream>

#include "tests/fuzz/program.h"

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    hone::fuzz::Program program;
    if (!hone::fuzz::parse_program(line, program)) return 1;
    std::printf("%016llx\n", static_cast<unsigned long long>(hone::fuzz::hash_of_run(program)));
    std::fflush(stdout);  // what crashes is the line after the last
  }
}
