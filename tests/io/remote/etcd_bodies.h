// The bodies of EtcdPort under the conformance suite: the simulated one on virtual time, and the
// gateway with a real etcd.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "io/base/random.h"
#include "io/loop/shard_loop.h"
#include "io/net/tcp_transport.h"
#include "io/remote/etcd/etcd_gateway.h"
#include "io/sim/remote/sim_etcd_port.h"
#include "tests/io/remote/etcd_process.h"

namespace cellar::test {

class EtcdBody {
 public:
  virtual ~EtcdBody() = default;
  virtual EtcdPort& port() = 0;
  virtual void run(Async<void> work) = 0;
  virtual Async<void> sleep(int64_t us) = 0;
  virtual Loop& loop() = 0;
  // Keys of this test begin with it: a real etcd is one for all tests.
  std::string key(const std::string& name) const { return prefix_ + name; }

 protected:
  std::string prefix_ = fmt::format("test/{:016x}/", entropy_seed());
};

class SimBody final : public EtcdBody {
 public:
  ~SimBody() override { world_.crash(); }
  EtcdPort& port() override { return port_; }
  void run(Async<void> work) override { world_.block_on(loop_, std::move(work)); }
  Async<void> sleep(int64_t us) override { return sleep_us(loop_.timers(), us); }
  Loop& loop() override { return loop_; }

 private:
  SimWorld world_{7};
  SimLoop& loop_ = world_.add_loop();
  SimEtcd etcd_{world_};
  SimEtcdPort port_{etcd_, loop_};
};

class GatewayBody final : public EtcdBody {
 public:
  static constexpr int64_t kQuietUs = 400'000;

  explicit GatewayBody(std::vector<Address> endpoints) {
    EtcdOptions options;
    options.endpoints = std::move(endpoints);
    options.watch_quiet_us = kQuietUs;
    auto made =
        EtcdGateway::make(std::move(options), network_, loop_.timers(), loop_.executor(), random_);
    EXPECT_TRUE(made.has_value());
    port_ = std::move(*made);
  }
  ~GatewayBody() override { block_on(loop_, port_->close()); }
  EtcdPort& port() override { return *port_; }
  void run(Async<void> work) override { block_on(loop_, std::move(work)); }
  Async<void> sleep(int64_t us) override { return sleep_us(loop_.timers(), us); }
  Loop& loop() override { return loop_; }

 private:
  ShardLoop loop_;
  TcpNetwork network_{loop_.executor(), loop_.timers()};
  Random random_{1};
  std::unique_ptr<EtcdGateway> port_;
};

// The etcd of this process: the first caller starts it.
inline EtcdProcess& own_etcd() {
  static EtcdProcess etcd;
  return etcd;
}

}  // namespace cellar::test
