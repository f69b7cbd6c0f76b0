// main() of every test binary: GoogleTest's, but a binary in which no test ran has failed.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  setenv("HONE_CACHE_DIR", "", 1);  // no machine code of other runs, unless a test names a folder
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  if (testing::GTEST_FLAG(list_tests)) return status;
  if (testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::fprintf(stderr, "no test ran: the filter '%s' matches none\n", testing::GTEST_FLAG(filter).c_str());
    return 1;
  }
  return status;
}
