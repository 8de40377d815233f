#include "net/server/process/say.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include "net/server/process/program.h"

namespace cellar::server {

bool say(std::FILE* to, std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), to) == text.size();
  return std::fflush(to) == 0 && written;
}

int print_page(std::string_view page) {
  std::signal(SIGPIPE, SIG_DFL);
  if (say(stdout, page)) return 0;
  say(stderr, "cellard: not all of the output could be written: {}\n", std::strerror(errno));
  return kExitCannotStart;
}

}  // namespace cellar::server
