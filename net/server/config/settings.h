// Settings: everything an operator may set, in one table. From it come the flags, the names in the
// environment, the keys of the configuration file, the bounds, the help, what a reload may change,
// the sample file (deploy/cellard.toml) and the reference (CONFIGURATION.md); see config_pages.h.
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
  // When another value takes force: at the next start, or with a reload while the node serves.
  enum class Change : uint8_t { restart, reload };

  std::string_view name;  // "memory.total": the key in the file; the flag is --memory-total
  Kind kind;
  std::string_view help;
  int64_t min = 0;  // counts, bytes, microseconds
  int64_t max = 0;
  std::function<std::string(const ServerOptions&)> text_of;  // text
  std::function<Result<void>(ServerOptions&, std::string_view)> set_text;
  std::function<int64_t(const ServerOptions&)> number_of;  // all else
  std::function<void(ServerOptions&, int64_t)> set_number;
  Change change = Change::restart;
};

// More than this an operator cannot keep in mind.
inline constexpr size_t kMaxSettings = 64;

std::span<const Setting> settings();
const Setting* find_setting(std::string_view name);
// The setting whose name is closest to a misspelt one.
std::string_view nearest_setting(std::string_view name);

// "--memory-total" for "memory.total", "--data-dir" for "data_dir".
std::string flag_of(const Setting& setting);
// "CELLAR_MEMORY_TOTAL" for "memory.total".
std::string variable_of(const Setting& setting);
// Its value in `options`, as apply() takes it: "64MiB", "100ms", "true", "auto".
std::string value_of(const Setting& setting, const ServerOptions& options);
// The default with its unit, for people.
std::string default_of(const Setting& setting);
// "64KiB to 1GiB"; empty where there are no bounds (text, true or false).
std::string bounds_of(const Setting& setting);
// What its numbers count, for people: "size", "duration", "count", "true or false", "text".
std::string_view kind_name(Setting::Kind kind);

// `value` as text, as it stands on the command line or as a string in the file: "64MiB", "100ms",
// "true", "4". INVALID_ARGUMENT names the setting and its bounds.
Result<void> apply(const Setting& setting, std::string_view value, ServerOptions& options);
Result<void> apply(const Setting& setting, int64_t value, ServerOptions& options);

// How many letters must be put in, left out or replaced to make one of the other.
size_t edit_distance(std::string_view a, std::string_view b);

// "64MiB" or a plain number of bytes; "100ms" (us, ms, s, m, h, d): a duration without its unit is
// refused, because half of the readers would take it for seconds. For people and back.
Result<int64_t> parse_size(std::string_view text);
Result<int64_t> parse_duration_us(std::string_view text);
std::string format_size(int64_t bytes);
std::string format_duration(int64_t us);

}  // namespace cellar::server
