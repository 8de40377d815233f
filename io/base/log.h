// The log: one line per event, key=value, to standard error through spdlog. For cold paths only.
//
//   log_info("tablet", "flushed tablet={} cells={} us={}", id, cells, us);
//
// The format string alone determines the keys of a line: its key=value parts become fields
// (log_setup.h) and arguments are escaped. A name, key or error text from a client therefore cannot
// forge a field.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace cellar {

enum class LogLevel { debug, info, warn, error, off };

// Process-wide; callable from any thread. Default: info.
void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view component, fmt::string_view format,
              fmt::format_args args);

template <class... Args>
void log_at(LogLevel level, std::string_view component, fmt::format_string<Args...> format,
            Args&&... args) {
  if (log_enabled(level)) log_line(level, component, format, fmt::make_format_args(args...));
}
template <class... Args>
void log_debug(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::debug, component, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_info(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::info, component, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_warn(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::warn, component, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_error(std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
  log_at(LogLevel::error, component, format, std::forward<Args>(args)...);
}

}  // namespace cellar
