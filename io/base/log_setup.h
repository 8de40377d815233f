// How the log is written: level, format, and how repeats are held back. Lines are made with log.h.
//
// A line is an event: a few words, then key=value pairs; a value with blanks stands in quotes. As
// text:  2026-05-20T16:27:23.001Z info tablet: flushed tablet=7 cells=12
// as JSON, the pairs as fields:
//   {"ts":"2026-05-20T16:27:23.001Z","level":"info","room":"tablet","msg":"flushed",
//    "tablet":"7","cells":"12"}
// Whatever would break a line (control characters) is escaped in both.
//
// Repeats: of one event (its room and words) at most kLogBurst lines are written in
// kLogWindowUs; the first line after that says how many were left out. A table of kLogEvents
// events is kept; two that meet in one place share their bound.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/base/log.h"
#include "io/base/result.h"

namespace cellar {

enum class LogFormat : uint8_t { text, json };

// Process-wide; callable from any thread, at any time.
void set_log_format(LogFormat format);

// "debug", "info", "warn", "error", "off"; INVALID_ARGUMENT names them.
std::string_view log_level_name(LogLevel level);
Result<LogLevel> parse_log_level(std::string_view name);
// "text", "json".
std::string_view log_format_name(LogFormat format);
Result<LogFormat> parse_log_format(std::string_view name);

inline constexpr uint32_t kLogBurst = 100;
inline constexpr int64_t kLogWindowUs = 10'000'000;
inline constexpr size_t kLogEvents = 256;

// The words of a line before its first key=value.
std::string_view log_event(std::string_view text);
// One line without its end. `time` is RFC 3339.
std::string format_log_line(LogFormat format, std::string_view time, LogLevel level,
                            std::string_view room, std::string_view text);

// Counts the lines of events. Callable from any thread; may let a few more through when many
// threads meet at the edge of a window.
class LogRepeats {
 public:
  struct Verdict {
    bool write = true;
    uint64_t left_out = 0;  // before this line
  };
  LogRepeats();
  ~LogRepeats();
  LogRepeats(const LogRepeats&) = delete;
  LogRepeats& operator=(const LogRepeats&) = delete;
  Verdict count(std::string_view room, std::string_view event, int64_t now_us);

 private:
  struct Place;
  Place* places_;
};

}  // namespace cellar
