// The program `cellar`: global options, choice of the command, exit codes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "io/base/clock.h"
#include "net/cli/arguments.h"
#include "net/cli/console.h"
#include "net/cli/invocation.h"
#include "net/cli/json_rows.h"
#include "net/client/sync_client.h"

namespace cellar::cli {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kNotFound = 3,
  kUnreachable = 5,  // cannot connect, or deadline exceeded
  kRefused = 6,      // authentication failed or permission denied
  kPartial = 7,      // an import with rejected lines, a script with failed commands
  kDamaged = 8,      // DATA_LOSS: damage in a file, here or on the node
  kInterrupted = 130,
};

const Clock& system_clock();

// The context of every command.
struct Session {
  Console console;
  client::ClientOptions options;
  bool json = false;
  bool escaped_input = false;
  bool plain_timestamps = false;           // shown as numbers
  BytesForm key_form = BytesForm::utf8;    // for row keys
  BytesForm value_form = BytesForm::utf8;  // for values
  BytesForm other_form = BytesForm::utf8;  // for families, qualifiers and labels

  client::SyncClient& client();  // connects at the first request
  // Takes over the connections of `other` if they lead to the same node.
  void take_client(Session& other);
  int64_t now_us() const { return clock->wall_us(); }
  // Decodes a row key, qualifier or value from the command line.
  Result<std::string> input(const std::string& word) const;
  std::string show_key(Bytes b) const { return shown(b, key_form); }
  std::string show_value(Bytes b) const { return shown(b, value_form); }
  std::string show(Bytes b) const { return shown(b, other_form); }
  std::string show_timestamp(int64_t us) const;
  JsonForms json_forms() const { return {key_form, other_form, value_form}; }
  // Prints the error to standard error; returns its exit code.
  int fail(const Error& error) const;
  int usage(const Error& error) const;

  GlobalOptions globals;
  std::string command_line;  // in a form that can be typed again
  const Clock* clock = &system_clock();
  std::unique_ptr<client::SyncClient> made;
};

// INVALID_ARGUMENT, for a usage message. Reads CELLAR_ADDR, and CELLAR_TLS, _CA, _CERT, _KEY,
// _SERVER_NAME, _TOKEN_FILE, _ROUTE_HINT. `clock` must outlive it.
Result<Session> make_session(const GlobalOptions& globals, const Console& console,
                             const Clock& clock = system_clock());

int exit_code_of(const Error& error);

// Runs the program. `words` are its arguments without its name.
int run(const std::vector<std::string>& words, const Console& console,
        const Clock& clock = system_clock());

const std::vector<CommandSpec>& commands();
std::string overview_help();
std::string command_help(const CommandSpec& spec);
std::string group_help(std::string_view group);  // lists the commands of a group, such as "gc"

}  // namespace cellar::cli
