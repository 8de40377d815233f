// A parsed command line: the global options, the command, its arguments.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/cli/arguments.h"

namespace cellar::cli {

// As written; empty: not given.
struct GlobalOptions {
  std::string address;
  std::string ca;
  std::string certificate;
  std::string key;
  std::string server_name;
  std::string token_file;
  std::string route_hint;
  std::string timeout;
  std::string bytes;
  std::string key_format;
  std::string value_format;
  bool tls = false;
  bool no_verify = false;
  bool json = false;
  bool escaped = false;
  bool help = false;
  bool version = false;

  // These options; those not given are taken from `outer`.
  GlobalOptions over(const GlobalOptions& outer) const;
};

struct Invocation {
  GlobalOptions globals;
  const CommandSpec* spec = nullptr;  // null: no command
  std::string group;                  // if spec is null: a group, such as "gc", with --help
  Arguments arguments;
  bool any_word = false;
};

// INVALID_ARGUMENT, for a usage message: unknown command or option, or invalid arguments. With
// --help or --version other faults are ignored.
Result<Invocation> parse_invocation(const std::vector<std::string>& words);

}  // namespace cellar::cli
