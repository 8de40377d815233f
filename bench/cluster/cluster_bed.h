// ClusterBed: a client of a real Ceph cluster for measurements, one namespace of its own, and the
// processor time of the client and of the OSDs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/loop/shard_loop.h"
#include "io/remote/rados/librados_handle.h"

namespace cellar::bench {

struct ClusterOptions {
  std::string config;
  std::string client = "client.admin";
  std::string pool;        // replicated
  std::string coded_pool;  // erasure-coded; empty: its measurements are left out
};

// Seconds since the start of this process.
double client_cpu_s();
// Of all ceph-osd processes of this machine that were started with this configuration.
double osd_cpu_s(const std::string& config);

class ClusterBed {
 public:
  static constexpr int64_t kCallUs = 120'000'000;

  // Ends the program with a sentence if it cannot connect.
  explicit ClusterBed(const ClusterOptions& options);
  ~ClusterBed();
  ClusterBed(const ClusterBed&) = delete;
  ClusterBed& operator=(const ClusterBed&) = delete;

  template <class T>
  T run(Async<T> work) {
    return block_on(loop_, std::move(work));
  }
  void run(Async<void> work) { block_on(loop_, std::move(work)); }

  ShardLoop& loop() { return loop_; }
  RadosPort& port() { return *port_; }
  RadosPool pool() const { return pool_; }
  RadosPool coded_pool() const { return coded_pool_; }
  bool has_coded_pool() const { return !options_.coded_pool.empty(); }
  const ClusterOptions& options() const { return options_; }
  // Removes what was measured with.
  Async<void> remove_all(RadosPool pool);

 private:
  RadosPool open(const std::string& name);

  const ClusterOptions options_;
  BlockingPool blocking_{2};
  ShardLoop loop_;
  std::unique_ptr<LibradosHandle> handle_;
  std::unique_ptr<RadosPort> port_;
  const std::string name_space_;
  RadosPool pool_;
  RadosPool coded_pool_;
};

}  // namespace cellar::bench
