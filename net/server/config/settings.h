// Settings: the table of all configuration settings. It defines the flags, environment variables,
// keys of the configuration file, bounds, help, reloadability, the sample file
// (deploy/cellard.toml) and the reference (CONFIGURATION.md); see config_pages.h.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "io/base/result.h"
#include "net/server/config/options.h"

namespace cellar::server {

struct Setting {
  enum class Kind : uint8_t { text, flag, count, bytes, duration };
  // When a new value takes effect: at the next start, or with a reload.
  enum class Change : uint8_t { restart, reload };

  std::string_view name;  // "memory.total": the key in the file; the flag is --memory-total
  Kind kind;
  std::string_view help;
  int64_t min = 0;  // for counts, bytes, microseconds
  int64_t max = 0;
  std::function<std::string(const ServerOptions&)> text_of;  // for text
  std::function<Result<void>(ServerOptions&, std::string_view)> set_text;
  std::function<int64_t(const ServerOptions&)> number_of;  // for all other kinds
  std::function<void(ServerOptions&, int64_t)> set_number;
  Change change = Change::restart;
};

// A larger number would be too much for an operator.
inline constexpr size_t kMaxSettings = 64;

std::span<const Setting> settings();
const Setting* find_setting(std::string_view name);
// The setting whose name is closest to a misspelt one.
std::string_view nearest_setting(std::string_view name);

// "--memory-total" for "memory.total", "--data-dir" for "data_dir".
std::string flag_of(const Setting& setting);
// "CELLAR_MEMORY_TOTAL" for "memory.total".
std::string variable_of(const Setting& setting);
// The value in `options`, in the format of apply(): "64MiB", "100ms", "true", "auto".
std::string value_of(const Setting& setting, const ServerOptions& options);
// The default with its unit, for display.
std::string default_of(const Setting& setting);
// "64KiB to 1GiB"; empty if there are no bounds (text, true or false).
std::string bounds_of(const Setting& setting);
// The kind of value, for display: "size", "duration", "count", "true or false", "text".
std::string_view kind_name(Setting::Kind kind);

// `value` as written on the command line or as a string in the file: "64MiB", "100ms", "true", "4".
// INVALID_ARGUMENT names the setting and its bounds.
Result<void> apply(const Setting& setting, std::string_view value, ServerOptions& options);
Result<void> apply(const Setting& setting, int64_t value, ServerOptions& options);

// The number of letters to insert, delete or replace to turn one into the other.
size_t edit_distance(std::string_view a, std::string_view b);

// "64MiB" or a plain number of bytes; "100ms" (us, ms, s, m, h, d). A duration without a unit is
// refused, because it would often be taken for seconds. In both directions.
Result<int64_t> parse_size(std::string_view text);
Result<int64_t> parse_duration_us(std::string_view text);
std::string format_size(int64_t bytes);
std::string format_duration(int64_t us);

}  // namespace cellar::server
