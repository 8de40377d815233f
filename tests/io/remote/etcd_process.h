// EtcdProcess: one etcd of the test's own, on loopback ports that the kernel chooses and in a
// temporary directory. It ends with the test.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "io/net/transport.h"

namespace cellar::test {

class EtcdProcess {
 public:
  // With files of a certificate and its key: over TLS.
  // `more`: further options of etcd.
  explicit EtcdProcess(std::string certificate = {}, std::string key = {},
                       std::vector<std::string> more = {});
  ~EtcdProcess();
  EtcdProcess(const EtcdProcess&) = delete;
  EtcdProcess& operator=(const EtcdProcess&) = delete;

  // Why there is none: it is not installed. A reason to skip a test.
  const std::string& lacking() const { return lacking_; }
  // Why the one that is installed does not run. A reason to fail.
  const std::string& failure() const { return failure_; }
  const Address& endpoint() const { return endpoint_; }
  // Returns when all of its threads are stopped.
  void stop() const;
  void resume() const;
  // kill -9, and a start on the same directory.
  void kill_and_start();

 private:
  void start();
  void kill_now();
  bool answers() const;

  const std::string certificate_;
  const std::string key_;
  const std::vector<std::string> more_;
  std::string program_;
  std::string directory_;
  std::string lacking_;
  std::string failure_;
  Address endpoint_;
  uint16_t peer_port_ = 0;
  uint16_t health_port_ = 0;  // without TLS
  pid_t pid_ = -1;
};

// The endpoints that CELLAR_ETCD_ENDPOINTS names (HOST:PORT, separated by commas): a cluster that
// runs already. Empty: there is none. INVALID_ARGUMENT: it is set, and names something else.
Result<std::vector<Address>> endpoints_of_environment();

}  // namespace cellar::test
