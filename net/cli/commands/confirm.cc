#include "net/cli/commands/confirm.h"

#include <poll.h>

#include <csignal>

namespace cellar::cli {

namespace {

// Blocks SIGINT from the question until the wait for the answer starts, so that a signal in between
// ends the wait and is not lost.
class Question {
 public:
  explicit Question(std::FILE* in) : fd_(::fileno(in)) {
    sigset_t interrupt;
    ::sigemptyset(&interrupt);
    ::sigaddset(&interrupt, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &interrupt, &before_);
  }
  ~Question() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  // False: Ctrl-C. True: input is available or the terminal is closed.
  bool wait() const {
    if (fd_ < 0) return true;
    pollfd typed{fd_, POLLIN, 0};
    return ::ppoll(&typed, 1, nullptr, &before_) >= 0;
  }

 private:
  int fd_;
  sigset_t before_;
};

}  // namespace

std::vector<KeySpec> confirm_keys() { return {{"yes", "", "do not ask"}}; }

Result<void> can_confirm(const Session& session, const Arguments& arguments) {
  TRY(const bool yes, arguments.flag("yes"));
  if (yes || (session.console.in_is_terminal && session.console.in != nullptr)) return {};
  return fail(Errc::invalid_argument, "nobody can be asked here: look first, then add --yes");
}

bool confirmed(const Session& session, const Arguments& arguments, std::string_view question) {
  if (arguments.flag("yes").value_or(false)) return true;
  const Console& console = session.console;
  std::fflush(console.out);
  const Question asked(console.in);
  std::fprintf(console.err, "%.*s [y/N] ", static_cast<int>(question.size()), question.data());
  std::fflush(console.err);
  char answer[16];
  const bool typed = asked.wait() && std::fgets(answer, sizeof answer, console.in) != nullptr;
  if (!typed) {  // Ctrl-C, or Ctrl-D
    std::clearerr(console.in);
    std::fprintf(console.err, "\n");
    return false;
  }
  const std::string_view said(answer);
  return said == "y\n" || said == "yes\n" || said == "Y\n";
}

}  // namespace cellar::cli
