// The bodies of RadosPort under the conformance tests, each with its own loop. The real one is
// played where a cluster is configured:
//
//   CELLAR_TEST_CEPH_CONF     ceph.conf of a cluster for tests
//   CELLAR_TEST_CEPH_POOL     a replicated pool; the tests leave objects in namespaces of their own
//   CELLAR_TEST_CEPH_EC_POOL  an erasure-coded pool; without it its tests are skipped
//   CELLAR_TEST_CEPH_CLIENT   the name in cephx (client.admin)
//   CELLAR_TEST_CEPH_KEYRING  as ceph.conf says
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "io/base/random.h"
#include "io/loop/shard_loop.h"
#include "io/remote/rados/librados_handle.h"
#include "io/sim/remote/sim_rados.h"

namespace cellar::test {

inline std::string environment(const char* name, const char* otherwise = "") {
  const char* const value = std::getenv(name);  // NOLINT: no thread changes it
  return value != nullptr ? value : otherwise;
}

inline CephConfig ceph_of_environment() {
  CephConfig config;
  config.config_file = environment("CELLAR_TEST_CEPH_CONF");
  config.keyring = environment("CELLAR_TEST_CEPH_KEYRING");
  config.client = environment("CELLAR_TEST_CEPH_CLIENT", "client.admin");
  return config;
}

inline constexpr int64_t kCallUs = 30'000'000;

// One cluster and clients of it.
class RadosMachine {
 public:
  explicit RadosMachine(const std::string& body) : real_(body == "ceph") {
    if (real_) return;
    cluster_ = std::make_unique<SimRados>(*world_);
    cluster_->add_pool("replicated");
    cluster_->add_pool("coded", true);
    if (body == "simulated_faulty") {
      cluster_->faults() = {.lose_request = 0.02,
                            .lose_reply = 0.05,
                            .duplicate_request = 0.05,
                            .duplicate_reply = 0.05,
                            .delay = 0};
    }
    sim_loop_ = &world_->add_loop();
  }
  ~RadosMachine() {
    for (const auto& port : ports_) run(port->close());
    ports_.clear();
    for (const auto& handle : handles_) run(handle->close());
    blocking_.stop();
  }
  RadosMachine(const RadosMachine&) = delete;
  RadosMachine& operator=(const RadosMachine&) = delete;

  static bool available(const std::string& body, std::string& why) {
    if (body != "ceph" || !environment("CELLAR_TEST_CEPH_CONF").empty()) return true;
    why = "CELLAR_TEST_CEPH_CONF names no cluster";
    return false;
  }

  template <class T>
  T run(Async<T> work) {
    return real_ ? block_on(real_loop_, std::move(work))
                 : world_->block_on(*sim_loop_, std::move(work));
  }
  void run(Async<void> work) {
    if (real_) {
      block_on(real_loop_, std::move(work));
    } else {
      world_->block_on(*sim_loop_, std::move(work));
    }
  }

  // A client of its own. Null: it cannot connect.
  RadosPort* connect() {
    if (!real_) {
      ports_.push_back(cluster_->connect(*sim_loop_));
      return ports_.back().get();
    }
    auto handle = run(LibradosHandle::open(blocking_, ceph_of_environment(), 1));
    EXPECT_TRUE(handle) << handle.error().to_string();
    if (!handle) return nullptr;
    handles_.push_back(*std::move(handle));
    ports_.push_back(handles_.back()->connect(real_loop_));
    return ports_.back().get();
  }

  std::string pool() const { return real_ ? environment("CELLAR_TEST_CEPH_POOL") : "replicated"; }
  // Empty: there is none.
  std::string coded_pool() const {
    return real_ ? environment("CELLAR_TEST_CEPH_EC_POOL") : "coded";
  }
  Loop& loop() {
    if (real_) return real_loop_;
    return *sim_loop_;
  }
  bool real() const { return real_; }

 private:
  const bool real_;
  ShardLoop real_loop_;
  BlockingPool blocking_{2};
  std::unique_ptr<SimWorld> world_ = std::make_unique<SimWorld>(7);
  std::unique_ptr<SimRados> cluster_;
  SimLoop* sim_loop_ = nullptr;
  std::vector<std::unique_ptr<LibradosHandle>> handles_;
  std::vector<std::unique_ptr<RadosPort>> ports_;
};

// A namespace that no other run uses.
inline std::string fresh_namespace() { return fmt::format("test-{:016x}", entropy_seed()); }

}  // namespace cellar::test
