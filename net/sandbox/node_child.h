// NodeChild: a node in a process of its own, forked from this one, on loopback.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "io/base/clock.h"
#include "io/base/result.h"

namespace cellar::sandbox {

class NodeChild {
 public:
  // Starts a node with its data and its log in `directory`, which exists and which the node removes
  // at its end, also where this process is killed. Returns when it serves. `arguments`: others of
  // `cellard`. `clock` lies in memory that both processes share, and outlives it. REQUIRES: this
  // process has one thread. Errors: INTERNAL (fork), UNAVAILABLE with the node's last message.
  static Result<std::unique_ptr<NodeChild>> start(const std::string& directory,
                                                  std::vector<std::string> arguments,
                                                  const Clock& clock);
  // Stops it in order; kills it if that takes longer than 10 s.
  ~NodeChild();
  NodeChild(const NodeChild&) = delete;
  NodeChild& operator=(const NodeChild&) = delete;

  const std::string& address() const { return address_; }

 private:
  explicit NodeChild(pid_t pid) : pid_(pid) {}
  bool has_ended();

  pid_t pid_;
  std::string address_;
};

}  // namespace cellar::sandbox
