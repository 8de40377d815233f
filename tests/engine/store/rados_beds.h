// Beds of the stores in a Ceph cluster: over the simulated one, and over a real one where the
// environment names it (tests/io/remote/rados_bodies.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/store/rados/rados_backup_store.h"
#include "io/sim/remote/sim_rados.h"
#include "tests/engine/store/store_bed.h"
#include "tests/io/remote/rados_bodies.h"

namespace cellar::engine {

// How a bed shows a backup store: itself, or its blobs.
inline BackupStore& shown(BackupStore& store, BackupStore* /*as*/) { return store; }
inline BlobStore& shown(BackupStore& store, BlobStore* /*as*/) { return store.blobs(); }

template <class Store>
class SimRadosBed final : public BedOf<Store> {
 public:
  SimRadosBed(std::string pool, SimRadosFaults faults) : pool_(std::move(pool)) {
    cluster_.add_pool("replicated");
    cluster_.add_pool("coded", true);
    cluster_.faults() = faults;
  }
  ~SimRadosBed() override { end(); }

  Store& open() override {
    end();
    loop_ = &world_.add_loop();
    runtime_.emplace(Runtime{loop_->executor(), loop_->timers(), clock_, random_});
    port_ = cluster_.connect(*loop_);
    auto opened = this->run(open_rados_backup_store(*port_, *runtime_, {pool_, "node1"}));
    CHECK(opened, "{}", opened.error().to_string());
    store_ = *std::move(opened);
    return shown(*store_, static_cast<Store*>(nullptr));
  }
  ShardExecutor executor() override { return loop_->executor(); }
  bool run_until(const std::function<bool()>& done) override { return world_.run_until(done); }

 private:
  // The process of the last store is killed; what it has sent still takes place.
  void end() {
    if (loop_ != nullptr) std::exchange(loop_, nullptr)->crash();
    store_.reset();
    port_.reset();
  }

  const std::string pool_;
  SimWorld world_{5};
  SimRados cluster_{world_};
  TrustedClock clock_{world_.clock()};
  Random random_{1};
  SimLoop* loop_ = nullptr;
  std::optional<Runtime> runtime_;
  std::unique_ptr<RadosPort> port_;
  std::unique_ptr<BackupStore> store_;
};

template <class Store>
class CephBed final : public BedOf<Store> {
 public:
  explicit CephBed(std::string pool) : pool_(std::move(pool)) {}
  ~CephBed() override { end(); }

  Store& open() override {
    end();
    auto handle = this->run(LibradosHandle::open(blocking_, test::ceph_of_environment(), 1));
    CHECK(handle, "{}", handle.error().to_string());
    handle_ = *std::move(handle);
    port_ = handle_->connect(loop_);
    auto opened = this->run(open_rados_backup_store(*port_, runtime_, {pool_, name_}));
    CHECK(opened, "{}", opened.error().to_string());
    store_ = *std::move(opened);
    return shown(*store_, static_cast<Store*>(nullptr));
  }
  ShardExecutor executor() override { return loop_.executor(); }
  bool run_until(const std::function<bool()>& done) override {
    while (!done()) loop_.turn(true);
    return true;
  }

 private:
  void end() {
    store_.reset();
    if (port_ != nullptr) block_on(loop_, port_->close());
    port_.reset();
    if (handle_ != nullptr) block_on(loop_, handle_->close());
    handle_.reset();
  }

  const std::string pool_;
  const std::string name_ = test::fresh_namespace();
  BlockingPool blocking_{2};
  ShardLoop loop_;
  SystemClock system_;
  TrustedClock clock_{system_};
  Random random_{entropy_seed()};
  Runtime runtime_{loop_.executor(), loop_.timers(), clock_, random_};
  std::unique_ptr<LibradosHandle> handle_;
  std::unique_ptr<RadosPort> port_;
  std::unique_ptr<BackupStore> store_;
};

template <class Store>
std::vector<StoreBody<Store>> rados_bodies() {
  const auto simulated = [](std::string name, std::string pool, SimRadosFaults faults) {
    return StoreBody<Store>{std::move(name), [pool = std::move(pool), faults] {
                              return std::make_unique<SimRadosBed<Store>>(pool, faults);
                            }};
  };
  constexpr SimRadosFaults kHostile = {.lose_request = 0.02,
                                       .lose_reply = 0.05,
                                       .duplicate_request = 0.05,
                                       .duplicate_reply = 0.05,
                                       .delay = 0.05,
                                       .delay_us = 30'000};
  std::vector<StoreBody<Store>> bodies = {simulated("Rados", "replicated", {}),
                                          simulated("RadosHostile", "replicated", kHostile),
                                          simulated("RadosCoded", "coded", {})};
  if (test::environment("CELLAR_TEST_CEPH_CONF").empty()) return bodies;
  for (const auto& [name, variable] : {std::pair("Ceph", "CELLAR_TEST_CEPH_POOL"),
                                       std::pair("CephCoded", "CELLAR_TEST_CEPH_EC_POOL")}) {
    const std::string pool = test::environment(variable);
    if (pool.empty()) continue;
    bodies.push_back({name, [pool] { return std::make_unique<CephBed<Store>>(pool); }});
  }
  return bodies;
}

}  // namespace cellar::engine
