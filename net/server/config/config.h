// Config: builds ServerOptions from the command line, the environment and a TOML file. Precedence:
// flag, environment, file, default. The origin of each value is kept.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/base/result.h"
#include "net/server/config/options.h"

namespace cellar::server {

// The origin of each setting by name: "cellard.toml:12", "CELLAR_MEMORY_TOTAL", "--memory-total".
// Settings not listed have their default.
using Origins = std::map<std::string_view, std::string>;

// The task on the data directory that cellard performs instead of serving (offline_tasks.h).
struct OfflineTask {
  std::string restore_from;  // a directory of backups, or rados:POOL/NAME
  std::string restore_name;  // a backup in it; empty: the newest
  bool wanted() const { return !restore_from.empty(); }
};

struct Config {
  ServerOptions options;
  OfflineTask task;
  Origins origins;
  // Not empty: print this and exit 0 (--help, --version, --print-config, --check-config, ...).
  std::string print;
  // For a reload: parses the same command line and environment with the present file.
  std::function<Result<Config>()> reread;
};

// An additional flag of a program; its value is stored in `value`.
struct ExtraFlag {
  std::string name;  // "--test-wall-us"
  std::string help;
  std::string* value = nullptr;
};

// INVALID_ARGUMENT with a sentence for the operator; exit code 2. `environment` is a
// null-terminated list of "NAME=value"; null: the process's. All arguments must outlive `reread`. A
// variable that starts with CELLAR_ and differs from a setting by one or two letters is refused;
// others are ignored.
Result<Config> parse_command_line(int argc, const char* const* argv,
                                  const std::vector<ExtraFlag>& extra = {},
                                  const char* const* environment = nullptr);

// Applies the text of a configuration file. Unknown keys are refused with the nearest name; errors
// mention `origin`. `origins`, if given, receives the line of each key.
Result<void> apply_toml(std::string_view text, std::string_view origin, ServerOptions& options,
                        Origins* origins = nullptr);

// Checks constraints between settings.
Result<void> check_options(const ServerOptions& options);

}  // namespace cellar::server
