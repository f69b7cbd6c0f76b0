#include "hone/base/error.h"

#include <gtest/gtest.h>

#include <string>

namespace hone {
namespace {

TEST(Error, AMessageHoldsItsPartsInOrder) {
  const struct {
    ErrorParts parts;
    std::string expected;
  } cases[] = {
      {{.what = "what"}, "what"},
      {{.what = "what", .fix = "mend it"}, "what\n  fix: mend it"},
      {{.what = "what",
        .location = {"no/such/file.cpp", "f", 31},
        .details = {"expected 2", "got 3"},
        .fix = "mend it"},
       "what\n  at no/such/file.cpp:31\n  expected 2\n  got 3\n  fix: mend it"},
  };
  for (const auto& c : cases) {
    const Error error(Code::kOutOfRange, c.parts);
    EXPECT_EQ(error.what(), c.expected);
    EXPECT_EQ(error.code(), Code::kOutOfRange);
    EXPECT_EQ(error.parts().fix, c.parts.fix);
  }
}

TEST(Error, TheSourceLineIsShownWhereItCanBeRead) {
  const Location here = Location::current();  // a line to show
  EXPECT_NE(to_string(here).find("error_test.cpp:" + std::to_string(here.line)), std::string::npos);
  if (FILE* const source = std::fopen(here.file, "r")) {
    std::fclose(source);
    EXPECT_NE(to_string(here).find("// a line to show"), std::string::npos) << to_string(here);
  }
  EXPECT_EQ(to_string({"no/such/file.cpp", "f", 3}), "no/such/file.cpp:3");
}

TEST(Error, EachCodeHasItsName) {
  EXPECT_EQ(name(Code::kInvalidArgument), "invalid argument");
  EXPECT_EQ(name(Code::kResourceExhausted), "resource exhausted");
  EXPECT_EQ(name(Code::kInternal), "internal");
}

}  // namespace
}  // namespace hone
