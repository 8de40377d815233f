// The program `cellar`: global options, the choice of a command, exit codes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/base/clock.h"
#include "net/cli/arguments.h"
#include "net/cli/console.h"
#include "net/cli/text.h"
#include "net/client/sync_client.h"

namespace cellar::cli {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kNotFound = 3,
  kUnreachable = 5,  // cannot connect, or the deadline passed
  kPartial = 7,      // an import with rejected lines
};

// What every command gets.
struct Session {
  Console console;
  client::ClientOptions options;
  bool json = false;
  bool escaped_input = false;
  BytesForm bytes = BytesForm::utf8;

  client::SyncClient& client();  // connects with its first request
  int64_t now_us() const { return clock.wall_us(); }
  // A row key, qualifier or value from the command line.
  Result<std::string> input(const std::string& word) const;
  std::string show(Bytes b) const { return shown(b, bytes); }
  // Says what is wrong on standard error; answers the exit code that fits it.
  int fail(const Error& error) const;
  int usage(const Error& error) const;

  SystemClock clock;
  std::unique_ptr<client::SyncClient> made;
};

int exit_code_of(const Error& error);

// `words` are the program's arguments without its name. Reads CELLAR_ADDR.
int run(const std::vector<std::string>& words, const Console& console);

const std::vector<CommandSpec>& commands();
std::string overview_help();
std::string command_help(const CommandSpec& spec);

}  // namespace cellar::cli
