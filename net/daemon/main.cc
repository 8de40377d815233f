// cellard: the storage node.
#include "net/http/http_companion.h"
#include "net/server/process/program.h"
#include "net/server/process/say.h"

int main(int argc, char** argv) {
  using namespace cellar;
  server::hold_stop_signals();
  auto config = server::parse_command_line(argc, argv);
  if (!config) {
    server::say(stderr, "cellard: {}\n", config.error().message);
    return server::kExitUsage;
  }
  if (!config->print.empty()) return server::print_page(config->print);
  const SystemClock clock;
  const auto http = http::make_companion(clock);
  return server::run_node(*config, clock, http.get());
}
