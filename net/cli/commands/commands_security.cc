// Client-side security commands: tokens, and verification of a security log. None contacts a node.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "net/cli/commands/commands.h"
#include "net/cli/text/text.h"
#include "net/cli/transfer/output_file.h"
#include "net/client/connections/dialler.h"
#include "net/security/audit_chain.h"
#include "net/security/token.h"

namespace cellar::cli {

namespace {

// Only the owner may read it; an existing file is not overwritten.
Result<void> write_secret(const std::string& path, const std::string& token) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return std::unexpected(os_error(errno, fmt::format("making '{}'", path)));
  OutputFile output = OutputFile::of_descriptor(file);
  Result<void> written = output.write(token + "\n");
  if (::fsync(file) != 0 && written) {
    written = std::unexpected(os_error(errno, fmt::format("writing '{}'", path)));
  }
  ::close(file);
  return written;
}

void show_hash(const Session& session, const std::string& token) {
  const std::string hash = security::hash_text(token);
  if (session.json) {
    session.console.print("{{\"hash\":{}}}\n", json_string(hash));
  } else {
    session.console.print("tokens = [\"{}\"]\n", hash);
  }
}

CommandResult create_token(Session& session, const Arguments& arguments) {
  TRY(const auto token, security::create_token());
  TRY_VOID(write_secret(arguments[0], token));
  show_hash(session, token);
  return kDone;
}

CommandResult hash_token(Session& session, const Arguments& arguments) {
  TRY(const auto token, client::read_token_file(arguments[0]));
  show_hash(session, token);
  return kDone;
}

}  // namespace

CommandResult verify_audit(Session& session, std::vector<std::string> files,
                           const std::string& expected_end) {
  std::sort(files.begin(), files.end());  // the names sort in line order
  security::ChainReader reader;
  for (const std::string& path : files) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    if (!file) return fail(Errc::not_found, "cannot read '{}'", path);
    const auto read = security::read_chain(reader, text.str());
    if (!read) {
      return fail(Errc::data_loss, "{}: {}", path, read.error().message);
    }
  }
  const std::string end =
      fmt::format("{}:{}", reader.end().sequence, security::to_hex(reader.end().hash));
  if (!expected_end.empty() && expected_end != end) {
    return fail(Errc::data_loss, "the log ends with {}, not with {}", end, expected_end);
  }
  if (session.json) {
    session.console.print("{{\"lines\":{},\"end\":{}}}\n", reader.lines(), json_string(end));
  } else {
    session.console.print("{} lines, none missing or changed; the end is {}\n", reader.lines(),
                          end);
  }
  return kDone;
}

std::vector<CommandSpec> security_commands() {
  return {
      CommandSpec(
          "token create", "Security", "FILE", 1, 1, false,
          "Make a token, and show the line that lets it in.",
          "The token goes to FILE, which only its owner may read; clients take it from there\n"
          "(--token-file). The line that is shown holds its SHA-256: paste it into the node's file "
          "of\n"
          "principals. A principal may have two tokens at a time, so that a new one can be handed "
          "out\n"
          "before the old one is removed. No node is asked.",
          {}, {"cellar token create ~/.cellar-token"}, &create_token),
      CommandSpec("token hash", "Security", "FILE", 1, 1, false,
                  "Show the line that lets the token in FILE in.", "", {},
                  {"cellar token hash ~/.cellar-token"}, &hash_token),
  };
}

}  // namespace cellar::cli
