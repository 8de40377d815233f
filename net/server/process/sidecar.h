// Sidecar: a component beside the node in its process, namely the HTTP listener. The program
// announces the start and end of the node; all calls come from the program's main thread.
#pragma once

#include "io/base/result.h"
#include "net/server/config/config.h"

namespace cellar::server {

class Readiness;
class Server;

class Sidecar {
 public:
  virtual ~Sidecar() = default;
  // Called before the node is opened. An error, a sentence for the operator, ends the program. Both
  // arguments outlive stop().
  virtual Result<void> start(const Config& config, Readiness& readiness) = 0;
  // The node serves and may be called until stop().
  virtual void serve(Server& server) = 0;
  // The node is about to end. Returns when the sidecar no longer uses it. Called once, even
  // without serve().
  virtual void stop() = 0;
};

}  // namespace cellar::server
