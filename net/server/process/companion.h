// Companion: what runs beside the node in its process and looks into it: the HTTP listener. The
// program tells it as the node comes and goes; all calls come from the program's main thread.
#pragma once

#include "io/base/result.h"
#include "net/server/config/config.h"

namespace cellar::server {

class Readiness;
class Server;

class Companion {
 public:
  virtual ~Companion() = default;
  // Before anything of the node is there. An error, a sentence for an operator, ends the program.
  // Configuration and readiness outlive the companion's stop().
  virtual Result<void> start(const Config& config, Readiness& readiness) = 0;
  // The node serves; until stop() it may be asked.
  virtual void serve(Server& server) = 0;
  // The node will end: returns when nothing asks it any more. Told once, also where serve() was
  // not.
  virtual void stop() = 0;
};

}  // namespace cellar::server
