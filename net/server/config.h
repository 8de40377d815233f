// Config: from a command line and a TOML file to ServerOptions. What the command line says wins.
#pragma once

#include <string>
#include <vector>

#include "io/base/result.h"
#include "net/server/options.h"

namespace cellar::server {

struct Config {
  ServerOptions options;
  // Not empty: print this and exit 0 (--help, --version).
  std::string print;
};

// A flag that a program has beside the settings; its value goes to `value`.
struct ExtraFlag {
  std::string name;  // "--test-wall-us"
  std::string help;
  std::string* value = nullptr;
};

// INVALID_ARGUMENT with a sentence for the operator; exit 2.
Result<Config> parse_command_line(int argc, const char* const* argv,
                                  const std::vector<ExtraFlag>& extra = {});

// The text of a configuration file. Unknown keys are refused with the nearest name; `origin` is
// named in errors.
Result<void> apply_toml(std::string_view text, std::string_view origin, ServerOptions& options);

}  // namespace cellar::server
