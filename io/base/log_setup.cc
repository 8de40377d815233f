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

bool is_key_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

// Length of the key of a pair that starts at `at`; 0 if no pair starts there.
size_t key_at(std::string_view format, size_t at) {
  size_t end = at;
  while (end < format.size() && is_key_letter(format[end])) ++end;
  return end > at && end < format.size() && format[end] == '=' ? end - at : 0;
}

// Length in bytes of the UTF-8 character (RFC 3629) at the start of `text`; 0 if it is not valid.
size_t utf8_bytes(std::string_view text) {
  const auto byte = [&](size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u;
  };
  const auto follows = [&](size_t at) { return (byte(at) & 0xc0u) == 0x80u; };
  const unsigned head = byte(0);
  if (head < 0x80) return 1;
  if (head >= 0xc2 && head <= 0xdf) return follows(1) ? 2 : 0;
  if (head >= 0xe0 && head <= 0xef) {
    const bool overlong = head == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = head == 0xed && byte(1) > 0x9f;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (head >= 0xf0 && head <= 0xf4) {
    const bool overlong = head == 0xf0 && byte(1) < 0x90;
    const bool beyond = head == 0xf4 && byte(1) > 0x8f;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

// Whether the character is a control character: C0, DEL, or C1 encoded as UTF-8.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

std::string hex_of(std::string_view prefix, std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) {
    hex += fmt::format("{}{:02x}", prefix, static_cast<unsigned char>(c));
  }
  return hex;
}

// `special`: ASCII characters that `escape` replaces. `control` and `broken`: prefixes of the hex
// digits of control characters and of bytes that are not valid UTF-8.
template <class Escape>
void append_escaped(std::string& out, std::string_view text, std::string_view special,
                    std::string_view control, std::string_view broken, Escape escape) {
  while (!text.empty()) {
    const size_t bytes = utf8_bytes(text);
    const std::string_view character = text.substr(0, std::max<size_t>(bytes, 1));
    text.remove_prefix(character.size());
    if (bytes == 0) {
      out += hex_of(broken, character);
    } else if (is_control(character)) {
      out += hex_of(control, character.substr(character.size() - 1));  // the code point
    } else if (special.find(character[0]) != std::string_view::npos) {
      out += escape(character[0]);
    } else {
      out += character;
    }
  }
}

std::string with_backslash(char c) { return {'\\', c}; }

void append_json(std::string& out, std::string_view text) {
  append_escaped(out, text, "\"\\", "\\u00", "\\\\x", with_backslash);
}

void append_words(std::string& out, const LogRecord::Piece& piece) {
  append_escaped(out, piece.text, piece.argument ? "=\\" : "", "\\u00", "\\x",
                 [](char c) { return c == '=' ? std::string("\\x3d") : with_backslash(c); });
}

void append_value(std::string& out, const LogRecord::Part& pair) {
  const bool plain = std::ranges::all_of(
      pair.value, [](char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '\\'; });
  if (plain && !pair.quoted) {
    out += pair.value;
    return;
  }
  out += '"';
  append_escaped(out, pair.value, "\"\\", "\\u00", "\\x", with_backslash);
  out += '"';
}

std::string text_line(std::string_view time, LogLevel level, std::string_view component,
                      const LogRecord& record) {
  std::string out = fmt::format("{} {} {}:", time, log_level_name(level), component);
  for (const LogRecord::Part& part : record.parts) {
    out += ' ';
    for (const LogRecord::Piece& piece : part.words) append_words(out, piece);
    if (part.key.empty()) continue;
    out += part.key;
    out += '=';
    append_value(out, part);
  }
  return out;
}

void append_field(std::string& out, std::string_view key, std::string_view value) {
  out += out.size() > 1 ? ",\"" : "\"";
  append_json(out, key);
  out += "\":\"";
  append_json(out, value);
  out += '"';
}

// All words of the record, without the pairs between them.
std::string words_of(const LogRecord& record) {
  std::string words;
  for (const LogRecord::Part& part : record.parts) {
    if (!part.key.empty()) continue;
    if (!words.empty()) words += ' ';
    for (const LogRecord::Piece& piece : part.words) words += piece.text;
  }
  return words;
}

std::string json_line(std::string_view time, LogLevel level, std::string_view component,
                      const LogRecord& record) {
  std::string out = "{";
  append_field(out, "ts", time);
  append_field(out, "level", log_level_name(level));
  append_field(out, "component", component);
  append_field(out, "msg", words_of(record));
  for (const LogRecord::Part& part : record.parts) {
    if (!part.key.empty()) append_field(out, part.key, part.value);
  }
  return out + "}";
}

// Parses a format string.
class FormatReader {
 public:
  FormatReader(std::string_view format, fmt::format_args args) : format_(format), args_(args) {}

  LogRecord read() {
    while (skip_blanks()) {
      const size_t key = key_at(format_, at_);
      if (key == 0) {
        read_words();
      } else {
        read_pair(key);
      }
    }
    return std::move(record_);
  }

 private:
  bool skip_blanks() {
    while (at_ < format_.size() && format_[at_] == ' ') ++at_;
    return at_ < format_.size();
  }

  // Reads words up to the next pair.
  void read_words() {
    LogRecord::Part part;
    while (at_ < format_.size()) {
      if (format_[at_] == ' ') {
        const size_t blanks = at_;
        if (!skip_blanks() || key_at(format_, at_) > 0) break;
        add(part.words, format_.substr(blanks, at_ - blanks), false);
        continue;
      }
      LogRecord::Piece piece = read_piece();
      add(part.words, piece.text, piece.argument);
    }
    record_.parts.push_back(std::move(part));
  }

  void read_pair(size_t key) {
    LogRecord::Part part;
    part.key = format_.substr(at_, key);
    at_ += key + 1;
    part.quoted = at_ < format_.size() && format_[at_] == '"';
    if (part.quoted) ++at_;
    const char end = part.quoted ? '"' : ' ';
    while (at_ < format_.size() && format_[at_] != end) part.value += read_piece().text;
    if (part.quoted && at_ < format_.size()) ++at_;
    record_.parts.push_back(std::move(part));
  }

  static void add(std::vector<LogRecord::Piece>& words, std::string_view text, bool argument) {
    if (words.empty() || words.back().argument != argument) words.push_back({"", argument});
    words.back().text += text;
  }

  // Reads one character of the format string or one substituted argument.
  LogRecord::Piece read_piece() {
    const char c = format_[at_];
    const bool doubled = at_ + 1 < format_.size() && format_[at_ + 1] == c;
    if (c != '{' || doubled) {
      at_ += (c == '{' || c == '}') && doubled ? 2 : 1;
      return {std::string(1, c), false};
    }
    const size_t close = std::min(format_.find('}', at_), format_.size() - 1);
    const std::string one =
        fmt::format("{{{}{}", next_argument_++, format_.substr(at_ + 1, close - at_));
    at_ = close + 1;
    return {fmt::vformat(one, args_), true};
  }

  const std::string_view format_;
  const fmt::format_args args_;
  LogRecord record_;
  size_t at_ = 0;
  size_t next_argument_ = 0;
};

}  // namespace

std::string_view log_level_name(LogLevel level) { return kLevels[static_cast<size_t>(level)]; }
std::string_view log_format_name(LogFormat format) { return kFormats[static_cast<size_t>(format)]; }

Result<LogLevel> parse_log_level(std::string_view name) {
  return parse_name<LogLevel>(name, kLevels, "level of the log");
}
Result<LogFormat> parse_log_format(std::string_view name) {
  return parse_name<LogFormat>(name, kFormats, "format of the log");
}

LogRecord make_log_record(std::string_view format, fmt::format_args args) {
  return FormatReader(format, args).read();
}

std::string format_log_line(LogFormat format, std::string_view time, LogLevel level,
                            std::string_view component, const LogRecord& record) {
  return format == LogFormat::json ? json_line(time, level, component, record)
                                   : text_line(time, level, component, record);
}

struct LogRepeats::Place {
  std::atomic<int64_t> since_us{0};
  std::atomic<uint32_t> lines{0};
  std::atomic<uint64_t> left_out{0};
};

LogRepeats::LogRepeats() : places_(new Place[kLogEvents]) {}
LogRepeats::~LogRepeats() { delete[] places_; }

LogRepeats::Verdict LogRepeats::count(std::string_view component, std::string_view event,
                                      int64_t now_us) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const uint64_t hash =
      std::hash<std::string_view>()(component) * 31 ^ std::hash<std::string_view>()(event);
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
