// NodeShards: the shards of an open node: their services, mailboxes and parts, and work on many of
// them.
//
// Invariants
//   1. A part is built, used and destroyed on its shard.
//   2. A caller on any shard may ask for services and mailboxes; the rest is as each call says.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/files/manifest_client.h"
#include "engine/node.h"
#include "engine/shard/shard_engine.h"
#include "io/loop/mailbox.h"

namespace cellar::engine {

// The parts of one shard.
struct ShardPart {
  ShardPart(const ShardEnv& env, ShardEngine::Setup setup) : engine(env, std::move(setup)) {}
  ShardEngine engine;
  TableMap tables;
  TableMapWatcher* watcher = nullptr;

  void install(const TableMap& newer) {
    tables = newer;
    if (watcher != nullptr) watcher->table_map_changed();
  }
};

// Tablets, grouped by shard.
using TabletsByShard = std::vector<std::vector<TabletId>>;

class NodeShards {
 public:
  using Work = std::function<Async<Result<void>>(ShardId)>;

  // One environment for each mailbox.
  NodeShards(std::vector<ShardEnv> envs, Mailboxes& mailboxes);

  // ---- on any shard
  uint32_t count() const { return static_cast<uint32_t>(envs_.size()); }
  const ShardEnv& env(ShardId shard) const { return envs_[shard.value()]; }
  const ShardEnv& home() const { return env(kHomeShard); }
  Mailbox& mailbox(ShardId shard) { return mailboxes_.of(shard); }
  // Runs the coroutine fn() on shard 0; the answer resumes on `from`.
  template <class F>
  auto at_home(ShardId from, F fn) {
    return mailbox(from).call_on(kHomeShard, std::move(fn));
  }
  // The same for to.method(args...).
  template <class To, class Answer, class... Parameters, class... Args>
  Answer at_home(ShardId from, To& to, Answer (To::*method)(Parameters...), Args... args) {
    return at_home(from, [&to, method, ... mine = std::move(args)]() mutable {
      return (to.*method)(std::move(mine)...);
    });
  }
  TabletsByShard tablets_of(const TableEntry& entry) const;

  // ---- on that shard, while it has a part
  ShardPart& part(ShardId shard) { return *parts_[shard.value()]; }
  const ShardPart& part(ShardId shard) const { return *parts_[shard.value()]; }
  ShardEngine& engine(ShardId shard) { return part(shard).engine; }
  bool has_part(ShardId shard) const { return parts_[shard.value()] != nullptr; }
  void make_part(ShardId shard, ShardEngine::Setup setup);
  void destroy_part(ShardId shard) { parts_[shard.value()].reset(); }

  // ---- on shard 0
  int64_t now_us() const { return home().runtime.clock.now_us(); }
  // The open log of each shard; empty until the start has begun them.
  const std::vector<LogId>& logs() const { return logs_; }
  void logs_begun(SessionEpoch session);
  // Runs work(shard) on all shards concurrently; returns the first error when all have ended.
  Async<Result<void>> on_every(Work work);
  // The newest stamp that one of the tablets has given to a commit, and the least gc watermark
  // of them. `last` is not before any shard's clock.
  struct Stamps {
    CommitStamp last;
    CommitStamp gc_watermark;
  };
  Async<Result<Stamps>> stamps_of(const TabletsByShard& ids);
  // The outcome of an edit is unknown: no shard accepts writes until the next start has found out.
  void manifest_failed(const Error& error);

 private:
  Async<void> run_on(ShardId shard, const Work& work, Result<void>& outcome, size_t& left,
                     Waiter& all_done);

  const std::vector<ShardEnv> envs_;
  Mailboxes& mailboxes_;
  std::vector<std::unique_ptr<ShardPart>> parts_;
  std::vector<LogId> logs_;
};

}  // namespace cellar::engine
