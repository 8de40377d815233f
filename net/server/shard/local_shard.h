// LocalShard: the shard on which a request runs: its engine and table map, clocks, loop, bounds,
// and scratch space for an answer.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <span>

#include "engine/node.h"
#include "io/loop/shard.h"
#include "net/server/config/options.h"
#include "net/server/limits/admission.h"
#include "net/server/limits/disk_room.h"

namespace cellar::server {

class LocalShard {
 public:
  // The references must outlive it.
  LocalShard(Shard& shard, engine::Node& node, const ServerOptions& options, const Clock& wall)
      : shard_(shard),
        node_(node),
        engine_(node.engine(shard.id())),
        wall_(wall),
        started_us_(wall.boot_us()),
        options_(options),
        admission_(options.net.connections) {}
  LocalShard(const LocalShard&) = delete;
  LocalShard& operator=(const LocalShard&) = delete;

  ShardId id() const { return shard_.id(); }
  Loop& loop() { return shard_.loop(); }
  ShardExecutor executor() { return shard_.executor(); }
  Timers& timers() { return shard_.timers(); }
  Mailbox& mailbox() { return shard_.mailbox(); }
  TrustedClock& clock() { return shard_.clock(); }
  const Clock& wall() const { return wall_; }
  int64_t started_us() const { return started_us_; }  // on the boot-time clock
  engine::Node& node() { return node_; }
  engine::Engine& engine() { return engine_; }
  const engine::TableMap& tables() const { return node_.tables(shard_.id()); }
  const ServerOptions& options() const { return options_; }
  Admission& admission() { return admission_; }
  const Admission& admission() const { return admission_; }

  // Free disk space; null if it is not watched. Must outlive the sessions.
  void set_disk(const DiskRoom* room) { disk_ = room; }
  const DiskRoom* disk() const { return disk_; }
  // For requests that add data: RESOURCE_EXHAUSTED while the reserve is in use.
  Result<void> admit_growth() const {
    return disk_ == nullptr ? Result<void>() : disk_->admit(options_.disk.reserve_bytes);
  }
  Result<void> admit_growth(std::span<const Mutation> mutations) const {
    return disk_ == nullptr ? Result<void>() : disk_->admit(options_.disk.reserve_bytes, mutations);
  }

  // For one answer; valid until the next one is built.
  flatbuffers::FlatBufferBuilder& builder() { return builder_; }

 protected:
  ~LocalShard() = default;
  void set_options(const ServerOptions& options) { options_ = options; }

 private:
  Shard& shard_;
  engine::Node& node_;
  engine::Engine& engine_;
  const Clock& wall_;
  const int64_t started_us_;
  ServerOptions options_;
  Admission admission_;
  const DiskRoom* disk_ = nullptr;
  flatbuffers::FlatBufferBuilder builder_;
};

}  // namespace cellar::server
