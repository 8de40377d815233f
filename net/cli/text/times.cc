#include "net/cli/text/times.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "io/base/time_text.h"

namespace cellar::cli {

namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kDay = 86'400 * kSecond;

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

int64_t unit_us(std::string_view unit) {
  if (unit == "us") return 1;
  if (unit == "ms") return 1000;
  if (unit == "s") return kSecond;
  if (unit == "m" || unit == "min") return 60 * kSecond;
  if (unit == "h") return 3600 * kSecond;
  if (unit == "d") return kDay;
  if (unit == "w") return 7 * kDay;
  return 0;
}

int64_t whole_millis(int64_t us) { return us / 1000 * 1000; }

int64_t saturating_add(int64_t us, int64_t by_us) {
  return us > INT64_MAX - by_us ? INT64_MAX : us + by_us;
}

// Removes exactly `count` digits from the front.
bool digits(std::string_view& text, size_t count, int64_t& out) {
  if (text.size() < count) return false;
  out = 0;
  for (size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    out = out * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return true;
}

bool eat(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text[0]) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

unsigned days_in(int64_t year, int64_t month) {
  static constexpr unsigned kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[month - 1];
}

// The part after the date: "08:00[:00[.5]]" and a zone.
bool parse_clock(std::string_view& text, int64_t& us) {
  int64_t hour = 0;
  int64_t minute = 0;
  int64_t second = 0;
  if (!digits(text, 2, hour) || !eat(text, ":") || !digits(text, 2, minute)) return false;
  if (eat(text, ":") && !digits(text, 2, second)) return false;
  if (hour > 23 || minute > 59 || second > 59) return false;
  us += (hour * 3600 + minute * 60 + second) * kSecond;
  if (eat(text, ".")) {
    int64_t scale = kSecond / 10;
    if (text.empty() || text[0] < '0' || text[0] > '9') return false;
    while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
      us += (text[0] - '0') * scale;
      scale /= 10;
      text.remove_prefix(1);
    }
  }
  if (text.empty() || eat(text, "Zz")) return text.empty();
  const bool west = text[0] == '-';
  if (!eat(text, "+-") || !digits(text, 2, hour)) return false;
  (void)eat(text, ":");
  if (!digits(text, 2, minute) || hour > 23 || minute > 59) return false;
  us -= (west ? -1 : 1) * (hour * 3600 + minute * 60) * kSecond;
  return text.empty();
}

std::optional<int64_t> parse_rfc3339(std::string_view text) {
  int64_t year = 0;
  int64_t month = 0;
  int64_t day = 0;
  if (!digits(text, 4, year) || !eat(text, "-") || !digits(text, 2, month) || !eat(text, "-") ||
      !digits(text, 2, day)) {
    return std::nullopt;
  }
  if (month < 1 || month > 12 || day < 1 || day > days_in(year, month)) return std::nullopt;
  int64_t us =
      days_from_civil(year, static_cast<unsigned>(month), static_cast<unsigned>(day)) * kDay;
  if (text.empty()) return us;
  if (!eat(text, "Tt ") || !parse_clock(text, us)) return std::nullopt;
  return us;
}

// "now", "today-2h", "+5m", "2h ago", "in 2h".
std::optional<int64_t> parse_relative(std::string_view text, int64_t now_us) {
  const bool ago = text.ends_with(" ago");
  if (ago || text.starts_with("in ")) {
    if (ago) text.remove_suffix(4);
    if (!ago) text.remove_prefix(3);
    const auto by = parse_duration(text);
    if (!by) return std::nullopt;
    return whole_millis(ago ? now_us - *by : saturating_add(now_us, *by));
  }
  int64_t anchor_us = now_us;
  const int64_t today_us = now_us / kDay * kDay;
  for (const auto& [name, us] : {std::pair<std::string_view, int64_t>("now", now_us),
                                 {"today", today_us},
                                 {"yesterday", today_us - kDay},
                                 {"tomorrow", today_us + kDay}}) {
    if (!text.starts_with(name)) continue;
    text.remove_prefix(name.size());
    anchor_us = us;
    if (text.empty()) return whole_millis(us);
    break;
  }
  const bool back = text.starts_with('-');
  if (!back && !text.starts_with('+')) return std::nullopt;
  const auto by = parse_duration(text.substr(1));
  if (!by) return std::nullopt;
  return whole_millis(back ? anchor_us - *by : saturating_add(anchor_us, *by));
}

}  // namespace

int64_t days_from_civil(int64_t year, unsigned month, unsigned day) {
  // Years start in March, so that a leap day is the last day of a year.
  year -= month <= 2;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t of_era = year - era * 400;
  const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
}

Result<int64_t> parse_duration(std::string_view text) {
  const size_t unit_at = text.find_first_not_of("0123456789");
  if (unit_at != std::string_view::npos && unit_at != 0) {
    const auto count = whole_number(text.substr(0, unit_at));
    const int64_t unit = unit_us(text.substr(unit_at));
    if (count && unit != 0 && *count <= INT64_MAX / unit) return *count * unit;
  }
  return fail(Errc::invalid_argument, "'{}' is not a duration like 500us, 10ms, 1s, 5m, 1h, 2d",
              text);
}

Result<int64_t> parse_time(std::string_view text, int64_t now_us) {
  if (const auto number = whole_number(text); number && text[0] != '-') return *number;
  if (const auto us = parse_rfc3339(text)) return *us;
  if (const auto us = parse_relative(text, now_us)) return *us;
  return fail(
      Errc::invalid_argument,
      "'{}' is not a time: microseconds, 2026-11-21, 2026-11-21T08:00:00Z, now, today, yesterday, "
      "tomorrow, -1h, +2w, 2h ago, in 2h",
      text);
}

bool resembles_time(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kOfDates = "0123456789-:/TtZz+ ";
  constexpr std::array<std::string_view, 22> kUnits = {
      "us",      "ms", "s",  "sec",  "secs",  "second", "seconds", "m",    "min", "mins", "minute",
      "minutes", "h",  "hr", "hour", "hours", "d",      "day",     "days", "w",   "week", "weeks"};
  if (text.ends_with(" ago")) text.remove_suffix(4);
  if (text.starts_with("in ")) text.remove_prefix(3);
  for (const std::string_view anchor : {"now", "today", "yesterday", "tomorrow"}) {
    if (text.starts_with(anchor)) text.remove_prefix(anchor.size());
  }
  const bool is_signed = text.starts_with('+') || text.starts_with('-');
  if (is_signed) text.remove_prefix(1);
  const size_t behind = text.find_first_not_of(kDigits);
  if (text.empty() || behind == 0) return false;
  if (is_signed || behind == text.npos) return true;
  std::string_view unit = text.substr(behind);
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  if (std::ranges::find(kUnits, unit) != kUnits.end()) return true;
  const size_t fraction = text.find('.');
  const bool is_clock = fraction != text.npos && text.find(':') < fraction;
  return text.substr(0, is_clock ? fraction : text.npos).find_first_not_of(kOfDates) == text.npos;
}

std::string format_time(int64_t us) { return time_text(us); }

std::string format_duration(int64_t us) {
  if (us < 1000) return fmt::format("{} us", us);
  if (us < kSecond) return fmt::format("{:.2f} ms", static_cast<double>(us) / 1000);
  if (us < 60 * kSecond) return fmt::format("{:.1f} s", static_cast<double>(us) / kSecond);
  const int64_t s = us / kSecond;
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  if (s < 86'400) return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
  return fmt::format("{} d {} h", s / 86'400, s / 3600 % 24);
}

std::string exact_duration(int64_t us) { return duration_text(us); }

std::string format_distance(int64_t us, int64_t now_us) {
  if (us == now_us) return "now";
  if (us < now_us) return format_duration(now_us - us) + " ago";
  return "in " + format_duration(us - now_us);
}

}  // namespace cellar::cli
