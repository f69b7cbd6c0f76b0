// One mistake a file: the comment at the file's beginning is the message that a user must get for it.
#pragma once
#include <string>
#include <vector>

#include <hone/hone.h>

namespace hone::test {

/// Registers the mistake of a file. `folder` is an empty folder for its files; messages show it as FOLDER.
struct Mistake {
  using Function = void (*)(const std::string& folder);
  Mistake(const char* file, Function function);
  const char* file;
  Function function;
};
std::vector<Mistake>& mistakes();

}  // namespace hone::test
