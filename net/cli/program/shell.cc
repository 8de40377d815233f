#include "net/cli/program/shell.h"

#include <csignal>

#include <boost/asio/signal_set.hpp>

#include "net/cli/program/app.h"
#include "net/cli/program/complete.h"
#include "net/cli/program/invocation.h"
#include "net/cli/program/line_editor.h"
#include "net/cli/text/words.h"
#include "net/cli/transfer/record_source.h"

namespace cellar::cli {

namespace {

// At the prompt SIGINT only ends the reading of the line.
void quiet_interrupts() {
  struct sigaction action{};
  action.sa_handler = +[](int) {};
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
}

// Restarts writes to the terminal interrupted by SIGINT. Otherwise stdio would count them as
// failed, and the shell would exit with an error.
void restart_calls() {
  struct sigaction action{};
  ::sigaction(SIGINT, nullptr, &action);
  action.sa_flags |= SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
}

// While a command runs, SIGINT closes its connections, which ends all waits.
class Interruptible {
 public:
  explicit Interruptible(client::SyncClient& client)
      : client_(client), signals_(client.loop().executor(), SIGINT) {
    restart_calls();
    signals_.async_wait([this](const boost::system::error_code& error, int) {
      if (error) return;
      interrupted_ = true;
      client_.client().close();
    });
  }
  ~Interruptible() {
    boost::system::error_code ignored;
    signals_.cancel(ignored);
    client_.loop().turn(false);
    client_.loop().turn(false);
  }
  bool interrupted() const { return interrupted_; }

 private:
  client::SyncClient& client_;
  asio::signal_set signals_;
  bool interrupted_ = false;
};

class Shell {
 public:
  explicit Shell(Session& session) : session_(session) {}

  int interactive() {
    quiet_interrupts();
    const Console& console = session_.console;
    console.print("cellar 0.1.0 at {}. help tells the commands, Ctrl-D ends.\n",
                  session_.options.address);
    LineEditor editor(console, "cellar> ", history_path(), [this](const std::string& line) {
      CutLine cut = cut_line(line);
      return complete(session_, cut.before, cut.current);
    });
    std::string line;
    while (true) {
      std::fflush(console.out);
      const LineEditor::End end = editor.next(line);
      if (end == LineEditor::End::end_of_input) break;
      if (end == LineEditor::End::interrupted) {
        console.print("\n");
        continue;
      }
      run_line(line, true);
      if (ended_) return kDone;
    }
    console.print("\n");
    return kDone;
  }

  int script(bool stop_on_error) {
    LineReader lines(session_.console.in);
    uint64_t failed = 0;
    while (!ended_) {
      const auto line = lines.next();
      if (!line) return session_.fail(line.error());
      if (!*line) break;
      const int code = run_line(std::string(**line), false);
      if (code == kDone) continue;
      ++failed;
      session_.console.complain("line {} failed{}", lines.line(),
                                stop_on_error ? "; stopped there" : "");
      if (stop_on_error) return code;
    }
    return failed > 0 ? kPartial : kDone;
  }

 private:
  int run_line(const std::string& line, bool at_terminal) {
    auto words = split_words(line);
    if (!words) return session_.usage(words.error());
    if (!words->empty() && words->front() == "cellar") words->erase(words->begin());
    if (words->empty()) return kDone;
    const std::string& first = words->front();
    if (first == "exit" || first == "quit") {
      ended_ = true;
      return kDone;
    }
    if (first == "help") return help(*words);
    auto invocation = parse_invocation(*words);
    if (!invocation) return session_.usage(invocation.error());
    if (invocation->globals.help || !invocation->spec) return help(*words);
    if (invocation->spec->run == &shell) {
      return session_.usage(Error(Errc::invalid_argument, "this is the shell"));
    }
    const int code = run_command(*invocation, join_words(*words), at_terminal);
    std::fflush(session_.console.out);
    return code;
  }

  int run_command(const Invocation& invocation, std::string line, bool at_terminal) {
    auto own =
        make_session(invocation.globals.over(session_.globals), session_.console, *session_.clock);
    if (!own) return session_.usage(own.error());
    if (!at_terminal) own->console.in = nullptr;  // it is the script
    own->command_line = std::move(line);
    own->take_client(session_);
    int code = kDone;
    bool interrupted = false;
    if (at_terminal) {
      {
        const Interruptible interruptible(own->client());
        code = own->exit_code(invocation.spec->run(*own, invocation.arguments));
        interrupted = interruptible.interrupted();
      }
      quiet_interrupts();
    } else {
      code = own->exit_code(invocation.spec->run(*own, invocation.arguments));
    }
    if (interrupted)
      return kInterrupted;  // its connections are closed; the next command opens new ones
    if (!own->reconnect) session_.take_client(*own);
    return code;
  }

  int help(const std::vector<std::string>& words) {
    std::string said = " ";
    for (const std::string& word : words) said += word + " ";
    for (const CommandSpec& spec : commands()) {
      if (said.find(" " + spec.name + " ") != said.npos) {
        session_.console.write(command_help(spec));
        return kDone;
      }
    }
    for (const CommandSpec& spec : commands()) {
      const size_t blank = spec.name.find(' ');
      if (blank == said.npos || said.find(" " + spec.name.substr(0, blank + 1)) == said.npos) {
        continue;
      }
      session_.console.write(group_help(spec.name.substr(0, blank)));
      return kDone;
    }
    session_.console.write(overview_help());
    session_.console.print(
        "\nIn the shell: help [COMMAND], exit; Tab completes, Ctrl-C ends a command.\n");
    return kDone;
  }

  Session& session_;
  bool ended_ = false;
};

}  // namespace

CommandResult shell(Session& session, const Arguments& arguments) {
  TRY(const bool stop_on_error, usage(arguments.flag("stop-on-error")));
  Shell one(session);
  const Console& console = session.console;
  if (console.in_is_terminal && console.out_is_terminal) return one.interactive();
  return one.script(stop_on_error);
}

}  // namespace cellar::cli
