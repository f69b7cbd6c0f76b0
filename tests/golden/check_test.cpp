// The checker says no where it must: each way to be wrong is a row.
#include "tests/golden/check.h"

#include <gtest/gtest.h>

namespace hone::golden {
namespace {

constexpr const char* kText =
    "func @main {\n  %0 = add %a, %b\n  %1 = add %0, %b\n  %2 = exp(%1) [3]\n  return %2\n}\n";

TEST(Check, AcceptsWhatTheTextShows) {
  for (const char* script : {
           "// CHECK: add",
           "// CHECK: %0 = add\n// CHECK: exp",
           "// CHECK: add\n// CHECK-NEXT: add\n// CHECK-NEXT: exp",
           "// CHECK: exp(%1) [3]",
           "// CHECK: exp\n// CHECK-NOT: add",
           "// CHECK-NOT: exp\n// CHECK: add\n// CHECK-NOT: exp\n// CHECK: add\n// CHECK-NOT: tanh\n// CHECK-NOT: log",
           "// CHECK: %{{[0-9]+}} = {{add|mul}} %0",
           "x = 1  // not a directive: CHECK: tanh\n  //   CHECK:   return",
       }) {
    EXPECT_EQ(check(kText, script), "") << script;
  }
}

struct Wrong {
  const char *script, *directive, *where;
};

TEST(Check, ShowsWhatItMissesAndWhereItLooked) {
  for (const Wrong& wrong : {
           Wrong{"// CHECK: tanh", "line 1: CHECK: tanh\nis in none of these lines:", "   1 | func @main {"},
           Wrong{"// CHECK: exp\n// CHECK: add",
                 "line 2: CHECK: add\nis in none of these lines:", "   5 |   return %2\n   6 | }"},
           Wrong{"// CHECK: add\n// CHECK: add\n// CHECK: add", "line 3: CHECK: add", "   4 |   %2 = exp"},
           Wrong{"// CHECK: %0 = add\n// CHECK-NEXT: exp",
                 "line 2: CHECK-NEXT: exp\nis not in this line:", "   3 |   %1 = add %0, %b"},
           Wrong{"// CHECK: func\n// CHECK-NOT: add\n// CHECK: exp",
                 "line 2: CHECK-NOT: add\nis in this line:", "   2 |   %0 = add"},
           Wrong{"// CHECK: func\n// CHECK-NOT: return", "line 2: CHECK-NOT: return", "   5 |   return %2"},
           Wrong{"// CHECK-NOT: func\n// CHECK: add", "line 1: CHECK-NOT: func", "   1 | func @main {"},
           Wrong{"// CHECK: }\n// CHECK-NEXT: func", "line 2: CHECK-NEXT", "(the text ends here)"},
           Wrong{"// CHECK: %{{[a-z]+}} = add", "line 1: CHECK", "   1 | func"},
           Wrong{"// CHECK: exp.%1", "line 1: CHECK", "   4 |"},
       }) {
    const std::string text = check(kText, wrong.script);
    EXPECT_NE(text.find(wrong.directive), text.npos) << wrong.script << "\n" << text;
    EXPECT_NE(text.find(wrong.where), text.npos) << wrong.script << "\n" << text;
  }
}

TEST(Check, RefusesScriptsThatCheckNothing) {
  EXPECT_EQ(check(kText, ""), "no CHECK line");
  EXPECT_EQ(check(kText, "// add"), "no CHECK line");
  EXPECT_EQ(check(kText, "// CHECK-NEXT: func"), "line 1: CHECK-NEXT with nothing before it");
  EXPECT_EQ(check(kText, "// CHECK-SAME: func"), "line 1: no directive 'CHECK-SAME'");
  EXPECT_EQ(check(kText, "\n// CHECK:  "), "line 2: CHECK of nothing");
  EXPECT_NE(check("", "// CHECK: func"), "");
}

}  // namespace
}  // namespace hone::golden
