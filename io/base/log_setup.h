// The format of the log: level, text or JSON, and suppression of repeats. Lines are written with
// log.h.
//
// A line is an event: a few words, then key=value pairs. As text, and as JSON with the pairs as
// fields:
//   2026-05-20T16:27:23.001Z info tablet: flushed tablet=7 cells=12
//   {"ts":"2026-05-20T16:27:23.001Z","level":"info","component":"tablet","msg":"flushed",
//    "tablet":"7","cells":"12"}
//
// Text can be parsed back: a word is a pair if and only if it starts with a key (letters, digits,
// '_', '.') and '='. A value that contains anything but visible ASCII, or a quote or backslash, is
// quoted; inside quotes a quote is \" and a backslash \\. In words, an '=' from an argument is \x3d
// and a backslash \\. In both formats a control character is \u00HH and a byte that is not valid
// UTF-8 is \xHH (\\xHH in JSON, which has no such bytes), so every line is one line of UTF-8.
//
// Repeats: at most kLogBurst lines per event (component and format string) are written in
// kLogWindowUs; the next line afterwards has the number suppressed. The table has kLogEvents
// entries; two events that share an entry share the bound.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/base/log.h"
#include "io/base/result.h"

namespace cellar {

enum class LogFormat : uint8_t { text, json };

// Process-wide; callable from any thread at any time.
void set_log_format(LogFormat format);

// "debug", "info", "warn", "error", "off"; others are INVALID_ARGUMENT, and the error lists the
// names.
std::string_view log_level_name(LogLevel level);
Result<LogLevel> parse_log_level(std::string_view name);
// "text" or "json".
std::string_view log_format_name(LogFormat format);
Result<LogFormat> parse_log_format(std::string_view name);

inline constexpr uint32_t kLogBurst = 100;
inline constexpr int64_t kLogWindowUs = 10'000'000;
inline constexpr size_t kLogEvents = 256;

// An event with its arguments substituted, as unescaped bytes. Words and pairs keep the order of
// the format string.
struct LogRecord {
  // A piece of the words: text of the format string or of an argument.
  struct Piece {
    std::string text;
    bool argument = false;
  };
  struct Part {
    std::string key;  // empty for words
    std::string value;
    bool quoted = false;  // the format string puts the value in quotes
    std::vector<Piece> words;
  };
  std::vector<Part> parts;

  void add_field(std::string key, std::string value) {
    parts.push_back({std::move(key), std::move(value), false, {}});
  }
};

// `format` as for fmt::format, with automatic numbering ("{}"); pairs are key=VALUE and
// key="VALUE".
LogRecord make_log_record(std::string_view format, fmt::format_args args);
template <class... Args>
LogRecord log_record(fmt::format_string<Args...> format, Args&&... args) {
  const fmt::string_view text = format;
  return make_log_record({text.data(), text.size()}, fmt::make_format_args(args...));
}
// Formats one line without its newline. `time` is RFC 3339.
std::string format_log_line(LogFormat format, std::string_view time, LogLevel level,
                            std::string_view component, const LogRecord& record);

// Counts lines per event. Callable from any thread. May pass a few lines too many if threads race
// at the end of a window.
class LogRepeats {
 public:
  struct Verdict {
    bool write = true;
    uint64_t left_out = 0;  // suppressed before this line
  };
  LogRepeats();
  ~LogRepeats();
  LogRepeats(const LogRepeats&) = delete;
  LogRepeats& operator=(const LogRepeats&) = delete;
  Verdict count(std::string_view component, std::string_view event, int64_t now_us);

 private:
  struct Place;
  Place* places_;
};

}  // namespace cellar
