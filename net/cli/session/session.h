// Session: the context of every command of `cellar`: options, client, console, clock; exit codes.
#pragma once

#include <memory>
#include <string>

#include "io/base/clock.h"
#include "net/cli/session/arguments.h"
#include "net/cli/session/console.h"
#include "net/cli/session/json_rows.h"
#include "net/client/sync_client.h"

namespace cellar::cli {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kNotFound = 3,
  kUnreachable = 5,  // cannot connect, or deadline exceeded
  kRefused = 6,      // authentication failed or permission denied
  kPartial = 7,      // rejected lines of an import, failed commands of a script, warnings of doctor
  kDamaged = 8,      // DATA_LOSS: damage in a file, here or on the node
  kInterrupted = 130,
};

const Clock& system_clock();

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
  // Prints the error to standard error, as an object with --json; returns its exit code.
  int fail(const Error& error) const;
  int usage(const Error& error) const;
  // The exit code of a command, whose error is printed.
  int exit_code(const CommandResult& result);

  GlobalOptions globals;
  std::string command_line;  // in a form that can be typed again
  const Clock* clock = &system_clock();
  std::unique_ptr<client::SyncClient> made;
  bool reconnect = false;  // the shell's next command opens new connections
};

// INVALID_ARGUMENT, for a usage message. Reads CELLAR_ADDR, and CELLAR_TLS, _CA, _CERT, _KEY,
// _SERVER_NAME, _TOKEN_FILE, _ROUTE_HINT. `clock` must outlive it.
Result<Session> make_session(const GlobalOptions& globals, const Console& console,
                             const Clock& clock = system_clock());

int exit_code_of(const Error& error);

}  // namespace cellar::cli
