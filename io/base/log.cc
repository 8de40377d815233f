#include "io/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace cellar {
namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("cellar",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *instance;
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
void log_line(LogLevel level, std::string_view room, std::string_view text) {
  logger().log(to_spdlog(level), "{}: {}", room, text);
}

}  // namespace cellar
