// Progress of a run on stderr.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "hone/train/callback.h"

namespace hone::nn {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string duration(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f}s", seconds);
  const auto whole = static_cast<int64_t>(seconds);
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string values(const Logs& logs) {
  std::string text;
  for (const auto& [name, value] : logs) text += fmt::format("  {} {:.4f}", name, value);
  return text;
}

int columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (const char* value = std::getenv(name); value && *value)
      return std::string_view(value).find("UTF-8") != std::string_view::npos;
  }
  return false;
}

class ProgressBar final : public Callback {
 public:
  void on_train_begin(Model&, FitState&) override {
    const char* term = std::getenv("TERM");
    terminal_ = isatty(STDERR_FILENO) && term && std::string_view(term) != "dumb";
    unicode_ = unicode();
  }
  void on_epoch_begin(Model&, FitState&) override {
    start_ = last_ = Clock::now();
    examples_ = 0;
  }
  void on_train_batch_end(Model&, FitState& state, const Logs& logs) override {
    examples_ += state.batch_size;
    const double pause = terminal_ ? 0.1 : 10;
    if (seconds_since(last_) < pause) return;
    last_ = Clock::now();
    terminal_ ? draw(state, logs) : heartbeat(state, logs);
  }
  void on_epoch_end(Model&, FitState& state, const Logs& logs) override {
    const double elapsed = seconds_since(start_);
    const std::string line =
        fmt::format("epoch {}/{}  {}  {:.0f} examples/s{}", state.epoch + 1, state.epochs, duration(elapsed),
                    static_cast<double>(examples_) / std::max(elapsed, 1e-9), values(logs));
    std::fprintf(stderr, "%s%s\n", terminal_ ? "\r\x1b[K" : "", line.c_str());
    std::fflush(stderr);
  }
  bool reads_batch_logs() const override { return seconds_since(last_) >= (terminal_ ? 0.1 : 10); }

 private:
  void draw(const FitState& state, const Logs& logs) const {
    constexpr int kCells = 24;
    const double elapsed = seconds_since(start_);
    std::string bar, eta;
    if (state.steps > 0) {
      const double done = static_cast<double>(state.step + 1) / static_cast<double>(state.steps);
      const int full = static_cast<int>(done * kCells);
      for (int i = 0; i < kCells; ++i) bar += i < full ? (unicode_ ? "\u2501" : "=") : (unicode_ ? "\u2500" : ".");
      eta = "  eta " + duration(elapsed / done * (1 - done));
    }
    std::string line = fmt::format("epoch {}/{}  {}  step {}{}{}{}", state.epoch + 1, state.epochs, bar, state.step + 1,
                                   state.steps > 0 ? fmt::format("/{}", state.steps) : "", eta, values(logs));
    // The bar's cells are three bytes each in UTF-8; cut by what is shown.
    const size_t hidden = unicode_ && !bar.empty() ? 2 * kCells : 0;
    const auto room = static_cast<size_t>(std::max(20, columns() - 1)) + hidden;
    if (line.size() > room) line.resize(room);
    std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
    std::fflush(stderr);
  }
  void heartbeat(const FitState& state, const Logs& logs) const {
    std::fprintf(stderr, "epoch %lld/%lld  step %lld%s  %s%s\n", static_cast<long long>(state.epoch + 1),
                 static_cast<long long>(state.epochs), static_cast<long long>(state.step + 1),
                 state.steps > 0 ? fmt::format("/{}", state.steps).c_str() : "",
                 duration(seconds_since(start_)).c_str(), values(logs).c_str());
    std::fflush(stderr);
  }

  bool terminal_ = false, unicode_ = false;
  Clock::time_point start_, last_;
  int64_t examples_ = 0;
};

}  // namespace

std::shared_ptr<Callback> progress_bar() { return std::make_shared<ProgressBar>(); }

}  // namespace hone::nn
