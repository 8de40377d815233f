#include "io/base/log_setup.h"

#include <algorithm>
#include <atomic>
#include <functional>

namespace cellar {
namespace {

constexpr std::string_view kLevels[] = {"debug", "info", "warn", "error", "off"};
constexpr std::string_view kFormats[] = {"text", "json"};

template <class Enum, size_t N>
Result<Enum> parse_name(std::string_view name, const std::string_view (&names)[N],
                        std::string_view what) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  std::string all;
  for (const std::string_view one : names) all += fmt::format("{}{}", all.empty() ? "" : ", ", one);
  return fail(Errc::invalid_argument, "'{}' is no {}; there are: {}", name, what, all);
}

void append_escaped(std::string& out, std::string_view text, bool json) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += json ? fmt::format("\\u{:04x}", byte) : fmt::format("\\x{:02x}", byte);
      continue;
    }
    if (json && (c == '"' || c == '\\')) out += '\\';
    out += c;
  }
}

bool is_key_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

// Where a pair begins at or behind `from`: at the start of a word that is letters, then '='.
size_t next_pair(std::string_view text, size_t from) {
  for (size_t at = from; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_key_letter(text[end])) ++end;
    if (end > at && end < text.size() && text[end] == '=') return at;
    const size_t blank = text.find(' ', at);
    if (blank == std::string_view::npos) return text.size();
    at = blank + 1;
  }
  return text.size();
}

bool ends_value(std::string_view text, size_t quote) {
  if (text[quote] != '"') return false;
  if (quote + 1 == text.size()) return true;
  return text[quote + 1] == ' ' && next_pair(text, quote + 2) == quote + 2;
}

// The pair at `at`: its key, its value without quotes; answers where it ends.
size_t read_pair(std::string_view text, size_t at, std::string_view& key, std::string_view& value) {
  const size_t equals = text.find('=', at);
  key = text.substr(at, equals - at);
  const size_t begin = equals + 1;
  size_t end = 0;
  if (begin < text.size() && text[begin] == '"') {
    // Values hold quotes of their own now and then: the one that ends it has a pair, or nothing,
    // behind it.
    end = begin + 1;
    while (end < text.size() && !ends_value(text, end)) ++end;
    value = text.substr(begin + 1, end - begin - 1);
    return std::min(end + 1, text.size());
  }
  end = std::min(text.find(' ', begin), text.size());
  value = text.substr(begin, end - begin);
  return end;
}

void append_field(std::string& out, std::string_view key, std::string_view value) {
  out += out.size() > 1 ? ",\"" : "\"";
  append_escaped(out, key, true);
  out += "\":\"";
  append_escaped(out, value, true);
  out += '"';
}

std::string json_line(std::string_view time, LogLevel level, std::string_view room,
                      std::string_view text) {
  std::string out = "{";
  append_field(out, "ts", time);
  append_field(out, "level", log_level_name(level));
  append_field(out, "room", room);
  append_field(out, "msg", log_event(text));
  for (size_t at = next_pair(text, 0); at < text.size(); at = next_pair(text, at)) {
    std::string_view key;
    std::string_view value;
    at = read_pair(text, at, key, value);
    append_field(out, key, value);
  }
  return out + "}";
}

}  // namespace

std::string_view log_level_name(LogLevel level) { return kLevels[static_cast<size_t>(level)]; }
std::string_view log_format_name(LogFormat format) { return kFormats[static_cast<size_t>(format)]; }

Result<LogLevel> parse_log_level(std::string_view name) {
  return parse_name<LogLevel>(name, kLevels, "level of the log");
}
Result<LogFormat> parse_log_format(std::string_view name) {
  return parse_name<LogFormat>(name, kFormats, "format of the log");
}

std::string_view log_event(std::string_view text) {
  std::string_view event = text.substr(0, next_pair(text, 0));
  while (event.ends_with(' ')) event.remove_suffix(1);
  return event;
}

std::string format_log_line(LogFormat format, std::string_view time, LogLevel level,
                            std::string_view room, std::string_view text) {
  if (format == LogFormat::json) return json_line(time, level, room, text);
  std::string out = fmt::format("{} {} {}: ", time, log_level_name(level), room);
  append_escaped(out, text, false);
  return out;
}

struct LogRepeats::Place {
  std::atomic<int64_t> since_us{0};
  std::atomic<uint32_t> lines{0};
  std::atomic<uint64_t> left_out{0};
};

LogRepeats::LogRepeats() : places_(new Place[kLogEvents]) {}
LogRepeats::~LogRepeats() { delete[] places_; }

LogRepeats::Verdict LogRepeats::count(std::string_view room, std::string_view event,
                                      int64_t now_us) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const uint64_t hash =
      std::hash<std::string_view>()(room) * 31 ^ std::hash<std::string_view>()(event);
  Place& place = places_[hash % kLogEvents];
  const int64_t age_us = now_us - place.since_us.load(kRelaxed);
  if (age_us < 0 || age_us >= kLogWindowUs) {
    place.since_us.store(now_us, kRelaxed);
    place.lines.store(0, kRelaxed);
  }
  if (place.lines.fetch_add(1, kRelaxed) >= kLogBurst) {
    place.left_out.fetch_add(1, kRelaxed);
    return {false, 0};
  }
  return {true, place.left_out.exchange(0, kRelaxed)};
}

}  // namespace cellar
