#include "tests/cases/values.h"

#include <charconv>
#include <chrono>

#include "io/base/coding.h"

namespace cellar::cases {
namespace {

Result<std::string> parse_hex(std::string_view text) {
  if (text.size() % 2 != 0) return fail(Errc::invalid_argument, "hex of odd length: '{}'", text);
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    uint8_t byte = 0;
    const auto [end, ec] = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    if (ec != std::errc() || end != text.data() + i + 2)
      return fail(Errc::invalid_argument, "not hex: '{}'", text);
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

template <class T>
bool parse_number(std::string_view text, T& out) {
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
  return ec == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<std::string> parse_bytes(const json::value& value) {
  if (value.is_string()) return std::string(value.as_string());
  if (!value.is_object() || value.as_object().size() != 1)
    return fail(Errc::invalid_argument, "neither a string nor {{hex}} nor {{int64}}");
  const auto& [name, inner] = *value.as_object().begin();
  if (name == "hex" && inner.is_string()) return parse_hex(inner.as_string());
  if (name == "int64" && inner.is_number()) {
    std::string bytes;
    put_be64(bytes, static_cast<uint64_t>(inner.to_number<int64_t>()));
    return bytes;
  }
  return fail(Errc::invalid_argument, "unknown form of bytes '{}'", std::string_view(name));
}

Result<std::pair<std::string, std::string>> parse_column(const json::value& value) {
  TRY(std::string column, parse_bytes(value));
  const size_t colon = column.find(':');
  if (colon == std::string::npos)
    return fail(Errc::invalid_argument, "column '{}' has no colon", column);
  return std::pair(column.substr(0, colon), column.substr(colon + 1));
}

Result<int64_t> parse_duration_us(const json::value& value) {
  if (!value.is_string()) return fail(Errc::invalid_argument, "a duration is a string");
  const std::string_view text = value.as_string();
  static constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"us", 1},         {"ms", 1'000},        {"s", 1'000'000},
      {"m", 60'000'000}, {"h", 3'600'000'000}, {"d", 86'400'000'000}};
  const size_t digits = std::min(text.find_first_not_of("-0123456789"), text.size());
  int64_t count = 0;
  if (!parse_number(text.substr(0, digits), count))
    return fail(Errc::invalid_argument, "bad duration '{}'", text);
  for (const auto& [unit, us] : kUnits) {
    int64_t total = 0;
    if (text.substr(digits) != unit) continue;
    if (__builtin_mul_overflow(count, us, &total)) return INT64_MAX;
    return total;
  }
  return fail(Errc::invalid_argument, "bad duration '{}'", text);
}

Result<int64_t> parse_time_us(const json::value& value) {
  if (value.is_number()) return value.to_number<int64_t>();
  if (!value.is_string()) return fail(Errc::invalid_argument, "a time is a number or a string");
  const std::string_view text = value.as_string();
  int year = 0;
  unsigned month = 0, day = 0;
  int hour = 0, minute = 0;
  double seconds = 0;
  char zone[8] = {};
  if (std::sscanf(std::string(text).c_str(), "%d-%u-%uT%d:%d:%lf%7s", &year, &month, &day, &hour,
                  &minute, &seconds, zone) != 7) {
    return fail(Errc::invalid_argument, "bad time '{}'", text);
  }
  int64_t offset_min = 0;
  int zone_hour = 0, zone_minute = 0;
  char sign = '+';
  if (std::string_view(zone) != "Z") {
    if (std::sscanf(zone, "%c%d:%d", &sign, &zone_hour, &zone_minute) != 3)
      return fail(Errc::invalid_argument, "bad zone in '{}'", text);
    offset_min = (sign == '-' ? -1 : 1) * (zone_hour * 60 + zone_minute);
  }
  const auto days =
      std::chrono::sys_days(std::chrono::year(year) / month / day).time_since_epoch().count();
  const int64_t minutes = int64_t{days} * 1440 + hour * 60 + minute - offset_min;
  return minutes * 60'000'000 + static_cast<int64_t>(seconds * 1e6 + 0.5);
}

Result<int64_t> parse_clock_us(const json::value& value, int64_t now_us) {
  if (value.is_string() &&
      (value.as_string().starts_with("+") || value.as_string().starts_with("-"))) {
    const bool back = value.as_string().starts_with("-");
    TRY(const int64_t by_us, parse_duration_us(json::value(value.as_string().subview(1))));
    return back ? now_us - by_us : now_us + by_us;
  }
  return parse_time_us(value);
}

}  // namespace cellar::cases
