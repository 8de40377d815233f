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
  explicit EtcdProcess(std::string certificate = {}, std::string key = {});
  ~EtcdProcess();
  EtcdProcess(const EtcdProcess&) = delete;
  EtcdProcess& operator=(const EtcdProcess&) = delete;

  // Empty: it runs. Otherwise why not: it is not installed, or did not start.
  const std::string& lacking() const { return lacking_; }
  const Address& endpoint() const { return endpoint_; }
  void stop() { signal(19); }
  void resume() { signal(18); }
  // kill -9, and a start on the same directory.
  void kill_and_start();

 private:
  void start();
  void signal(int number) const;
  void kill_now();
  bool answers() const;

  const std::string certificate_;
  const std::string key_;
  std::string program_;
  std::string directory_;
  std::string lacking_;
  Address endpoint_;
  uint16_t peer_port_ = 0;
  uint16_t health_port_ = 0;  // without TLS
  pid_t pid_ = -1;
};

// The endpoints that CELLAR_ETCD_ENDPOINTS names (HOST:PORT, separated by commas): a cluster that
// runs already. Empty: there is none.
std::vector<Address> endpoints_of_environment();

}  // namespace cellar::test
