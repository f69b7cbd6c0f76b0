#include "hone/train/history_plot.h"

#include <gtest/gtest.h>

#include <limits>

#include "hone/base/error.h"

namespace hone::nn {
namespace {

History history(int epochs, bool validation) {
  History out;
  for (int i = 0; i < epochs; ++i) {
    Logs logs;
    logs.set("loss", 0.7 / (i + 1));
    logs.set("accuracy", 0.8 + 0.02 * i);
    if (validation) logs.set("val_loss", 0.6 / (i + 1)), logs.set("val_accuracy", 0.79 + 0.02 * i);
    out.epochs.push_back(i);
    out.logs.push_back(logs);
  }
  return out;
}

int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(HistoryPlot, HasAPanelForEachValueAndACurveForEachSeries) {
  const std::string svg = history_svg(history(5, true));
  EXPECT_EQ(count(svg, "class=\"panel\""), 2);
  EXPECT_EQ(count(svg, "stroke-width=\"2\" stroke-dasharray"), 4)
      << "a validation curve and a legend entry in each panel";
  EXPECT_EQ(count(svg, "<circle"), 20);
  EXPECT_EQ(count(svg, ">validation<"), 2);
  EXPECT_NE(svg.find("epoch 5: val_accuracy 0.87"), std::string::npos);
}

TEST(HistoryPlot, WithoutValidationShowsTrainingAlone) {
  const std::string svg = history_svg(history(3, false));
  EXPECT_EQ(count(svg, ">validation<"), 0);
  EXPECT_EQ(count(svg, "<circle"), 6);
}

TEST(HistoryPlot, OneEpochIsAPoint) { EXPECT_EQ(count(history_svg(history(1, true)), "<circle"), 4); }

TEST(HistoryPlot, ValuesThatAreNotFiniteLeaveAGap) {
  History broken = history(4, false);
  broken.logs[1].set("loss", std::numeric_limits<double>::quiet_NaN());
  broken.logs[2].set("loss", std::numeric_limits<double>::infinity());
  const std::string svg = history_svg(broken);
  EXPECT_EQ(count(svg, "<circle"), 6);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(HistoryPlot, EscapesTheTitle) {
  EXPECT_NE(history_svg(history(1, false), "a < b & c").find("a &lt; b &amp; c"), std::string::npos);
}

TEST(HistoryPlot, RefusesAnEmptyHistory) { EXPECT_THROW(history_svg(History()), Error); }

}  // namespace
}  // namespace hone::nn
