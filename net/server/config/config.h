// Config: from a command line, the environment and a TOML file to ServerOptions. A flag wins over
// the environment, that over the file, that over the default; where each value came from is kept.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/base/result.h"
#include "net/server/config/options.h"

namespace cellar::server {

// By a setting's name, where its value came from: "cellard.toml:12", "CELLAR_MEMORY_TOTAL",
// "--memory-total". A setting that is not here has its default.
using Origins = std::map<std::string_view, std::string>;

// What cellard is to do to the data directory instead of serving it (offline_tasks.h).
struct OfflineTask {
  bool upgrade_format = false;
  std::string restore_from;  // a directory of backups
  std::string restore_name;  // one of them; empty: the newest
  bool wanted() const { return upgrade_format || !restore_from.empty(); }
};

struct Config {
  ServerOptions options;
  OfflineTask task;
  Origins origins;
  // Not empty: print this and exit 0 (--help, --version, --print-config, --check-config, ...).
  std::string print;
  // The same command line and environment again, with the file as it is now: for a reload.
  std::function<Result<Config>()> reread;
};

// A flag that a program has beside the settings; its value goes to `value`.
struct ExtraFlag {
  std::string name;  // "--test-wall-us"
  std::string help;
  std::string* value = nullptr;
};

// INVALID_ARGUMENT with a sentence for the operator; exit 2. `environment` is a list of
// "NAME=value" that ends with null; null takes the process's. All of it outlives `reread`. A name
// that begins with CELLAR_ and is a setting's but for one or two letters is refused; others are
// the business of other programs.
Result<Config> parse_command_line(int argc, const char* const* argv,
                                  const std::vector<ExtraFlag>& extra = {},
                                  const char* const* environment = nullptr);

// The text of a configuration file. Unknown keys are refused with the nearest name; `origin` is
// named in errors. `origins`, when given, gets the line of each key.
Result<void> apply_toml(std::string_view text, std::string_view origin, ServerOptions& options,
                        Origins* origins = nullptr);

// What no setting can see by itself: whether they go together.
Result<void> check_options(const ServerOptions& options);

}  // namespace cellar::server
