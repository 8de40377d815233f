// NodeLife: one life of a whole node on a simulated machine: sessions, shards, engine, compaction,
// backups. It shares world, network and disk with what outlives it.
//
// A life that is killed, or whose machine loses power, is cut off from the network and from the
// disk of the next life (which gets a crash image), and then ends in its own time, unseen: so the
// objects of a real server are destroyed as they are in production, whatever they were doing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/balance/balancer.h"
#include "engine/node.h"
#include "engine/store/local/local_stores.h"
#include "io/loop/shard.h"
#include "io/sim/faulty_fs.h"
#include "io/sim/mem_fs.h"
#include "io/sim/sim_loop.h"
#include "io/sim/sim_transport.h"
#include "net/server/backup_places.h"
#include "net/server/disk_watch.h"
#include "net/server/requests/backup_jobs.h"
#include "net/server/shard/shard_server.h"

namespace cellar::simulation {

inline constexpr const char* kHost = "node";
inline constexpr uint16_t kPort = 7420;

// The clocks of the machine. Real time is the world's wall clock, which never jumps.
class MachineClock final : public Clock {
 public:
  explicit MachineClock(const ManualClock& world) : world_(world) {}
  int64_t wall_us() const override { return world_.wall_us() + wall_error_us_; }
  int64_t boot_us() const override { return world_.boot_us() - boot_at_us_; }
  std::string boot_id() const override { return "boot" + std::to_string(boots_); }
  bool synchronised() const override { return synchronised_; }

  int64_t wall_error_us() const { return wall_error_us_; }
  void set_wall_error_us(int64_t error_us) { wall_error_us_ = error_us; }
  void reboot(bool synchronised) {
    ++boots_;
    boot_at_us_ = world_.boot_us();
    synchronised_ = synchronised;
  }
  void set_synchronised(bool yes) { synchronised_ = yes; }

 private:
  const ManualClock& world_;
  int64_t wall_error_us_ = 0;
  int64_t boot_at_us_ = 0;
  uint64_t boots_ = 1;
  bool synchronised_ = true;
};

struct LifeOptions {
  server::ServerOptions server;  // with the number of shards
  size_t segment_bytes = 256u << 10;
  int64_t min_latency_us = 20, max_latency_us = 200;  // of every disk operation
  bool balancer = false;
  uint64_t seed = 1;
};

class NodeLife {
 public:
  // All references must outlive it. The disks belong to this life until it is cut off.
  NodeLife(SimWorld& world, SimFabric& fabric, std::shared_ptr<MemDisk> disk,
           std::shared_ptr<MemDisk> backups, const MachineClock& clock, LifeOptions options);
  ~NodeLife();
  NodeLife(const NodeLife&) = delete;
  NodeLife& operator=(const NodeLife&) = delete;

  void start();
  // The result of the start, once it is over.
  const std::optional<Result<void>>& started() const { return started_; }
  // Only started without error.
  bool read_only() const;

  // An orderly stop, as by SIGTERM; also what becomes of a life after cut_off().
  void stop();
  // Nothing that this life does from here on reaches a client. Follow with stop().
  void cut_off(HostEnd how);
  bool stopped() const { return stopped_; }
  // The result of an orderly stop.
  const Result<void>& closed() const { return closed_; }

  MemDisk& disk() { return *disk_; }
  const std::shared_ptr<MemDisk>& shared_disk() { return disk_; }
  FaultRules& faults() { return faults_; }
  void release_hung();
  uint32_t shards() const { return static_cast<uint32_t>(parts_.size()); }

 private:
  struct Part {
    SimLoop* loop = nullptr;
    std::unique_ptr<Shard> shard;
    std::optional<Runtime> runtime;
    std::unique_ptr<FaultyFs> fs;
    std::unique_ptr<engine::StoreFactory> stores;
    std::unique_ptr<engine::LogStore> logs;
    std::unique_ptr<engine::BlobStore> blobs;
    std::unique_ptr<SimNetwork> network;
    std::unique_ptr<server::ShardServer> server;
  };
  void add_part(Part& part, uint32_t i);
  Async<void> run();
  Async<Result<void>> open();
  void open_servers();
  Async<void> end();
  Async<void> stop_server(Part& part);
  Async<Result<server::OpenedPlace>> open_backups(DirectoryRequest request);

  SimWorld& world_;
  SimFabric& fabric_;
  const std::shared_ptr<MemDisk> disk_;
  const std::shared_ptr<MemDisk> backups_disk_;
  const MachineClock& clock_;
  const LifeOptions options_;
  FaultRules faults_;
  Mailboxes mailboxes_;
  std::vector<Part> parts_;
  std::unique_ptr<server::NodeShared> shared_;
  std::unique_ptr<engine::ManifestStore> manifest_;
  std::unique_ptr<engine::Node> node_;
  std::unique_ptr<server::BackupJobs> backups_;
  std::unique_ptr<server::DiskWatch> disk_watch_;
  std::unique_ptr<engine::Balancer> balancer_;
  std::optional<Result<void>> started_;
  Result<void> closed_;
  size_t serving_ = 0;
  bool stopping_ = false;
  bool cut_off_ = false;
  bool stopped_ = false;
};

}  // namespace cellar::simulation
