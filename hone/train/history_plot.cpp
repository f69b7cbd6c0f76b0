#include "hone/train/history_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "hone/base/error.h"
#include "hone/base/file.h"

namespace hone::nn {
namespace {

constexpr double kPanelWidth = 460, kPanelHeight = 340, kTop = 48;
constexpr double kLeft = 64, kRight = 20, kAbove = 44, kBelow = 52;  // around a panel's plot area
constexpr const char* kTrainColour = "#1f6feb";
constexpr const char* kValidationColour = "#d1560b";

struct Axis {
  double low = 0, high = 1, step = 1;
};

// Limits and ticks at multiples of 1, 2 or 5 times a power of ten.
Axis axis_over(double low, double high, int ticks) {
  if (!(low <= high)) return {};
  if (high - low < 1e-9 * std::max(1.0, std::abs(high))) {
    const double pad = std::max(std::abs(high) * 0.05, 1e-3);
    low -= pad, high += pad;
  }
  const double rough = (high - low) / ticks, power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  }
  return {std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step, step};
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

std::string spaced(std::string name) {
  std::ranges::replace(name, '_', ' ');
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

std::string label(double value, double step) {
  const int digits = step >= 1 ? 0 : static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  return fmt::format("{:.{}f}", std::abs(value) < step * 1e-6 ? 0.0 : value, digits);
}

class Panel {
 public:
  Panel(const History& history, std::string name, double left)
      : history_(history),
        name_(std::move(name)),
        left_(left + kLeft),
        right_(left + kPanelWidth - kRight),
        top_(kTop + kAbove),
        bottom_(kTop + kPanelHeight - kBelow) {
    const double none = std::numeric_limits<double>::infinity();
    double low = none, high = -none;
    for (const Logs& logs : history.logs) {
      for (const std::string& series : {name_, "val_" + name_}) {
        const double* value = logs.find(series);
        if (!value || !std::isfinite(*value)) continue;
        low = std::min(low, *value), high = std::max(high, *value);
      }
    }
    y_ = axis_over(low, high, 6);
    first_ = static_cast<double>(history.epochs.front()) + 1;
    last_ = static_cast<double>(history.epochs.back()) + 1;
  }

  std::string svg() const {
    std::string text = fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"panel\">{}</text>\n", left_, top_ - 20,
                                   escaped(spaced(name_)));
    text += grid();
    const bool validation = history_.logs.front().find("val_" + name_) || history_.logs.back().find("val_" + name_);
    text += curve(name_, kTrainColour, "");
    if (validation) text += curve("val_" + name_, kValidationColour, " stroke-dasharray=\"7 4\"");
    text += legend(0, "training", kTrainColour, "");
    if (validation) text += legend(1, "validation", kValidationColour, " stroke-dasharray=\"7 4\"");
    return text;
  }

 private:
  double x(double epoch) const {
    return last_ > first_ ? left_ + (epoch - first_) / (last_ - first_) * (right_ - left_) : (left_ + right_) / 2;
  }
  double y(double value) const { return bottom_ - (value - y_.low) / (y_.high - y_.low) * (bottom_ - top_); }

  std::string grid() const {
    std::string text;
    const int rows = static_cast<int>(std::lround((y_.high - y_.low) / y_.step));
    for (int i = 0; i <= rows; ++i) {
      const double value = y_.low + i * y_.step;
      text += fmt::format("<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" class=\"grid\"/>\n", left_,
                          right_, y(value));
      text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"tick\" text-anchor=\"end\">{}</text>\n", left_ - 8,
                          y(value) + 4, label(value, y_.step));
    }
    const double step = std::max(1.0, axis_over(first_, last_, 10).step);
    for (double epoch = first_; epoch <= last_; epoch += step) {
      text += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" class=\"axis\"/>\n",
                          x(epoch), bottom_, bottom_ + 5);
      text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"tick\" text-anchor=\"middle\">{:.0f}</text>\n",
                          x(epoch), bottom_ + 19, epoch);
    }
    text +=
        fmt::format("<path d=\"M{0:.1f} {1:.1f} V{2:.1f} H{3:.1f}\" class=\"axis\"/>\n", left_, top_, bottom_, right_);
    return text + fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"tick\" text-anchor=\"middle\">epoch</text>\n",
                              (left_ + right_) / 2, bottom_ + 40);
  }

  std::string curve(const std::string& series, const char* colour, const char* dash) const {
    std::string path, dots;
    bool pen_down = false;
    for (size_t i = 0; i < history_.logs.size(); ++i) {
      const double* value = history_.logs[i].find(series);
      if (!value || !std::isfinite(*value)) {
        pen_down = false;
        continue;
      }
      const double at = x(static_cast<double>(history_.epochs[i]) + 1), height = y(*value);
      path += fmt::format("{}{:.1f} {:.1f}", pen_down ? " L" : " M", at, height);
      dots += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"><title>epoch {}: {} {:.5g}</title>"
          "</circle>\n",
          at, height, colour, history_.epochs[i] + 1, escaped(series), *value);
      pen_down = true;
    }
    if (path.empty()) return {};
    return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", path.substr(1), colour,
                       dash) +
           dots;
  }

  std::string legend(int place, const char* text, const char* colour, const char* dash) const {
    const double at = right_ - 190 + 100 * place, height = top_ - 24;
    return fmt::format(
               "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"2\"{}/>\n",
               at, at + 24, height, height, colour, dash) +
           fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"tick\">{}</text>\n", at + 30, height + 4, text);
  }

  const History& history_;
  std::string name_;
  double left_, right_, top_, bottom_, first_ = 1, last_ = 1;
  Axis y_;
};

}  // namespace

std::string history_svg(const History& history, const std::string& title) {
  if (history.logs.empty()) {
    throw Error(Code::kInvalidArgument, "an empty history has no curves", "train at least one epoch to its end");
  }
  std::vector<std::string> names;
  for (const auto& [name, value] : history.logs.front()) {
    if (!name.starts_with("val_")) names.push_back(name);
  }
  const double width = kPanelWidth * static_cast<double>(names.size()), height = kTop + kPanelHeight;
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\">\n",
      width, height);
  text +=
      "<style>.panel{font-size:15px;font-weight:bold;fill:#222}.tick{font-size:12px;fill:#444}"
      ".grid{stroke:#e3e3e3}.axis{stroke:#555;fill:none}</style>\n";
  text += "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  text += fmt::format("<text x=\"{:.0f}\" y=\"30\" font-size=\"18\" fill=\"#222\">{}</text>\n", kLeft, escaped(title));
  for (size_t i = 0; i < names.size(); ++i) {
    text += Panel(history, names[i], kPanelWidth * static_cast<double>(i)).svg();
  }
  return text + "</svg>\n";
}

void write_history_svg(const std::string& path, const History& history, const std::string& title) {
  write_file_atomic(path, history_svg(history, title));
}

}  // namespace hone::nn
