#include "io/base/time_text.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace cellar {
namespace {

constexpr int64_t kSecondUs = 1'000'000;
constexpr int64_t kDayUs = 86'400 * kSecondUs;
constexpr int64_t kYear0Us = -62'167'219'200 * kSecondUs;
constexpr int64_t kYear10000Us = 253'402'300'800 * kSecondUs;

}  // namespace

std::string time_text(int64_t us) {
  if (us < kYear0Us || us >= kYear10000Us) return fmt::format("{}", us);
  const std::chrono::sys_time<std::chrono::microseconds> at{std::chrono::microseconds(us)};
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date{day};
  const int64_t rest = (at - day).count();
  const int64_t seconds = rest / kSecondUs;
  const int64_t micros = rest % kSecondUs;
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (micros % 1000 != 0) {
    text += fmt::format(".{:06}", micros);
  } else if (micros != 0) {
    text += fmt::format(".{:03}", micros / 1000);
  }
  return text + "Z";
}

std::string told_time(int64_t us) {
  const bool has_words = us >= kYear0Us && us < kYear10000Us;
  return has_words ? fmt::format("{} ({})", us, time_text(us)) : fmt::format("{}", us);
}

std::string duration_text(int64_t us) {
  constexpr std::pair<int64_t, const char*> kUnits[] = {{kDayUs, "d"},
                                                        {3600 * kSecondUs, "h"},
                                                        {60 * kSecondUs, "m"},
                                                        {kSecondUs, "s"},
                                                        {1000, "ms"}};
  if (us == 0) return "0s";
  for (const auto& [unit, name] : kUnits) {
    if (us % unit == 0) return fmt::format("{}{}", us / unit, name);
  }
  return fmt::format("{}us", us);
}

}  // namespace cellar
