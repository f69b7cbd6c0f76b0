// Log lines on stderr, one each: "hone: warning: text". HONE_LOG=error|warning|info|debug sets the level (warning).
#pragma once
#include <string_view>

namespace hone::logging {

enum class Level { kError, kWarning, kInfo, kDebug };

/// "error", "warning", "info", "debug".
std::string_view name(Level level);

/// Messages above this level are dropped; starts as HONE_LOG, else kWarning.
Level level();
void set_level(Level level);
/// True if a message of this level is written: ask before composing a costly one.
bool enabled(Level level);

/// Receives whole messages without a trailing newline; called by one thread at a time. Must not log.
using Sink = void (*)(Level level, std::string_view message, void* context);

/// Sends messages to `sink` instead of stderr; null returns to stderr. `context` is passed on and must outlive its use.
void set_sink(Sink sink, void* context = nullptr);

/// Writes one message if its level is enabled. Line breaks inside are kept from starting a line: they become "\n  ".
/// Thread-safe; a line is written at once, so that lines of several threads do not mix.
void write(Level level, std::string_view message);

inline void error(std::string_view message) { write(Level::kError, message); }
inline void warning(std::string_view message) { write(Level::kWarning, message); }
inline void info(std::string_view message) { write(Level::kInfo, message); }
inline void debug(std::string_view message) { write(Level::kDebug, message); }

}  // namespace hone::logging
