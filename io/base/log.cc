#include "io/base/log.h"

#include <spdlog/details/os.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>

#include "io/base/log_setup.h"

namespace cellar {
namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("cellar",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *instance;
}

std::atomic<LogFormat> line_format{LogFormat::text};

std::string rfc3339(spdlog::log_clock::time_point now) {
  const std::tm utc = spdlog::details::os::gmtime(spdlog::log_clock::to_time_t(now));
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, ms);
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      break;
  }
  return spdlog::level::off;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(to_spdlog(level)); }
bool log_enabled(LogLevel level) { return logger().should_log(to_spdlog(level)); }
void set_log_format(LogFormat format) { line_format.store(format, std::memory_order_relaxed); }

void log_line(LogLevel level, std::string_view component, fmt::string_view format,
              fmt::format_args args) {
  static LogRepeats repeats;
  const auto now = spdlog::details::os::now();
  const int64_t now_us =
      std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
  const std::string_view event(format.data(), format.size());
  const auto [write, left_out] = repeats.count(component, event, now_us);
  if (!write) return;
  LogRecord record = make_log_record(event, args);
  if (left_out > 0) record.add_field("lines_left_out", std::to_string(left_out));
  const std::string line = format_log_line(line_format.load(std::memory_order_relaxed),
                                           rfc3339(now), level, component, record);
  logger().log(to_spdlog(level), spdlog::string_view_t(line));
}

}  // namespace cellar
