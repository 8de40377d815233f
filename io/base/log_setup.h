// How the log is written: level, format, and how repeats are held back. Lines are made with log.h.
//
// A line is an event: a few words, then key=value pairs. As
// text:  2026-05-20T16:27:23.001Z info tablet: flushed tablet=7 cells=12
// as JSON, the pairs as fields:
//   {"ts":"2026-05-20T16:27:23.001Z","level":"info","room":"tablet","msg":"flushed",
//    "tablet":"7","cells":"12"}
//
// Text can be read back: a word is a pair if and only if it begins with a key (letters, digits,
// '_',
// '.') and '='. A value with anything but visible ASCII, with a quote or a backslash stands in
// quotes, and inside them a quote is \", a backslash \\. Among the words an '=' that an argument
// brought is \x3d and a backslash is \\. In both forms a control character is \u00HH and a byte
// that is no UTF-8 is \xHH (in JSON \\xHH, since it has no such bytes): a line is one line of
// UTF-8.
//
// Repeats: of one event (its room and format string) at most kLogBurst lines are written in
// kLogWindowUs; the first line after that says how many were left out. A table of kLogEvents
// events is kept; two that meet in one place share their bound.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

// An event with its arguments put in, as unescaped bytes. Words and pairs keep the order in which
// the format string has them.
struct LogRecord {
  // Of the words: what the format string has, and what an argument brought.
  struct Piece {
    std::string text;
    bool argument = false;
  };
  struct Part {
    std::string key;  // empty: words
    std::string value;
    bool quoted = false;  // in quotes whatever is in it, as the format string has it
    std::vector<Piece> words;
  };
  std::vector<Part> parts;

  void add_field(std::string key, std::string value) {
    parts.push_back({std::move(key), std::move(value), false, {}});
  }
};

// `format` as of fmt::format, with automatic numbers ("{}"); pairs are key=VALUE and key="VALUE".
LogRecord make_log_record(std::string_view format, fmt::format_args args);
template <class... Args>
LogRecord log_record(fmt::format_string<Args...> format, Args&&... args) {
  const fmt::string_view text = format;
  return make_log_record({text.data(), text.size()}, fmt::make_format_args(args...));
}
// One line without its end. `time` is RFC 3339.
std::string format_log_line(LogFormat format, std::string_view time, LogLevel level,
                            std::string_view room, const LogRecord& record);

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
