#include "hone/base/log.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>

namespace hone::logging {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"error", "warning", "info", "debug"};
constexpr int kUnset = -1;

constinit std::atomic<int> current{kUnset};
constinit std::mutex mutex;  // trivially destroyed: logging works during static destruction
constinit Sink current_sink = nullptr;
constinit void* current_context = nullptr;

void to_stderr(Level level, std::string_view message) {
  std::string line = "hone: " + std::string(name(level)) + ": ";
  for (const char c : message) line += c == '\n' ? std::string("\n  ") : std::string(1, c);
  line += '\n';
  for (size_t done = 0; done < line.size();) {
    const ssize_t count = ::write(STDERR_FILENO, line.data() + done, line.size() - done);
    if (count <= 0) return;
    done += static_cast<size_t>(count);
  }
}

int read_environment() {
  const char* text = std::getenv("HONE_LOG");
  if (text == nullptr || *text == '\0') return static_cast<int>(Level::kWarning);
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<int>(i);
  }
  to_stderr(Level::kWarning, std::string("HONE_LOG=") + text + " is ignored; expected error, warning, info or debug");
  return static_cast<int>(Level::kWarning);
}

}  // namespace

std::string_view name(Level level) { return kNames[static_cast<size_t>(level)]; }

Level level() {
  int value = current.load(std::memory_order_relaxed);
  if (value == kUnset) {
    const int initial = read_environment();
    if (current.compare_exchange_strong(value, initial)) value = initial;
  }
  return static_cast<Level>(value);
}

void set_level(Level level) { current.store(static_cast<int>(level), std::memory_order_relaxed); }

bool enabled(Level message_level) { return message_level <= level(); }

void set_sink(Sink sink, void* context) {
  const std::lock_guard lock(mutex);
  current_sink = sink;
  current_context = context;
}

void write(Level level, std::string_view message) {
  if (!enabled(level)) return;
  const std::lock_guard lock(mutex);
  if (current_sink != nullptr) {
    current_sink(level, message, current_context);
  } else {
    to_stderr(level, message);
  }
}

}  // namespace hone::logging
