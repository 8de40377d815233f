#include "net/server/program.h"

#include <csignal>
#include <cstdio>

#include "io/base/log.h"
#include "net/server/server.h"

namespace cellar::server {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

void hold_stop_signals() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

int run_node(const ServerOptions& options, const Clock& clock, ExtraOps* extra) {
  auto server = Server::start(options, clock, extra);
  if (!server) {
    fmt::print(stderr, "cellard: {}\n", server.error().message);
    return kExitCannotStart;
  }
  fmt::print("cellard: ready on {}\n", (*server)->address());
  std::fflush(stdout);

  const sigset_t set = stop_signals();
  int signal = 0;
  while (sigwait(&set, &signal) != 0) {
  }
  log_info("server", "stopping signal={}", signal);
  // From here on a second signal ends the process at once, as by default.
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  return (*server)->stop() ? 0 : kExitCannotStart;
}

}  // namespace cellar::server
