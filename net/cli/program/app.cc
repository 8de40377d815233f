#include "net/cli/program/app.h"

#include <algorithm>

#include "io/base/log.h"
#include "net/cli/program/complete.h"
#include "net/cli/program/invocation.h"
#include "net/cli/program/shell.h"
#include "net/cli/text/words.h"

namespace cellar::cli {
namespace {

int run_words(const std::vector<std::string>& words, const Console& console, const Clock& clock) {
  if (!words.empty() && words[0] == "__complete") {
    return complete_for_shell({words.begin() + 1, words.end()}, console);
  }
  Session usage_session;
  usage_session.console = console;
  usage_session.console.json = std::ranges::find(words, "--json") != words.end();
  auto invocation = parse_invocation(words);
  if (!invocation) return usage_session.usage(invocation.error());
  if (invocation->globals.version) {
    console.print("cellar 0.1.0\n");
    return kDone;
  }
  if (invocation->spec && invocation->globals.help) {
    console.write(command_help(*invocation->spec));
    return kDone;
  }
  if (!invocation->group.empty()) {
    console.write(group_help(invocation->group));
    return kDone;
  }
  const bool interactive = console.in_is_terminal && console.out_is_terminal;
  const bool bare = !invocation->spec && words.empty();
  if (!invocation->spec && !(bare && interactive)) {
    console.write(overview_help());
    return invocation->any_word ? kDone : kUsage;
  }
  auto session = make_session(invocation->globals, console, clock);
  if (!session) return usage_session.usage(session.error());
  session->command_line = "cellar " + join_words(words);
  return session->exit_code(invocation->spec
                                ? invocation->spec->run(*session, invocation->arguments)
                                : shell(*session, Arguments()));
}

}  // namespace

int run(const std::vector<std::string>& words, const Console& console, const Clock& clock) {
  set_log_level(LogLevel::off);
  const int code = run_words(words, console, clock);
  const Result<void> written = console.finish();
  if (written) return code;
  // A closed pipe (EPIPE) is not reported as an error.
  if (written.error().code != Errc::cancelled) console.complain("{}", written.error().message);
  return code == kDone ? kFailed : code;
}

}  // namespace cellar::cli
