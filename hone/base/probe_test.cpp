#include "hone/base/probe.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hone {
namespace {

class Recorder : public ProbeSink {
 public:
  void span(const Span& span) override {
    names.push_back(std::string(span.category) + "/" + std::string(span.name) + "/" + std::string(span.detail));
    last = span;
  }
  void allocation(int64_t, size_t) override {}
  std::vector<std::string> names;
  Span last;
};

TEST(Probe, RecordsScopesOnlyWhileASinkIsSet) {
  Recorder recorder;
  {
    const probe::Scope scope("op", "before");
  }
  EXPECT_EQ(probe::set_sink(&recorder), nullptr);
  {
    probe::Scope outer("op", "add");
    probe::Scope inner("kernel", "tile", {}, {"file.cpp", "f", 3});
    inner.detail("cpu");
    inner.cost(8, 16);
    EXPECT_TRUE(inner.active());
  }
  EXPECT_EQ(probe::set_sink(nullptr), &recorder);
  {
    const probe::Scope scope("op", "after");
    EXPECT_FALSE(scope.active());
  }
  EXPECT_EQ(recorder.names, (std::vector<std::string>{"kernel/tile/cpu", "op/add/"}));
  EXPECT_LE(recorder.last.begin_ns, recorder.last.end_ns);
}

TEST(Probe, ASinkTakenAwayInASpanIsNotCalled) {
  Recorder recorder;
  probe::set_sink(&recorder);
  {
    const probe::Scope scope("op", "add");
    probe::set_sink(nullptr);
  }
  EXPECT_TRUE(recorder.names.empty());
}

}  // namespace
}  // namespace hone
