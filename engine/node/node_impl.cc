#include "engine/node/node_impl.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/catalog/audit_trail.h"
#include "engine/node.h"
#include "engine/node/recovery.h"
#include "io/base/check.h"
#include "io/base/log.h"

namespace cellar::engine {

NodeImpl::NodeImpl(EngineOptions options, std::vector<ShardEnv> shards, ManifestStore& manifest,
                   Mailboxes& mailboxes, std::optional<Error> read_only)
    : options_(std::move(options)),
      read_only_(std::move(read_only)),
      envs_(std::move(shards)),
      manifest_(manifest),
      mailboxes_(mailboxes),
      old_logs_(envs_.front().runtime, envs_.front().logs),
      home_deleter_(envs_.front().runtime, envs_.front().blobs),
      shared_blobs_(home_deleter_),
      clock_(envs_.front().runtime, manifest_, *this,
             {.max_trusted_gap_us = options_.max_trusted_gap_us,
              .permit_us = options_.clock_permit_us},
             options_.clock_renew_us),
      asked_clocks_(envs_.size()),
      parts_(envs_.size()),
      catalog_(static_cast<uint32_t>(envs_.size())),
      drop_keeper_(
          envs_.front().runtime,
          [this] { return catalog_.next_end_us(options_.removal_margin_us); },
          [this] { return end_due_table(); }) {
  CHECK(!envs_.empty() && envs_.size() == mailboxes_.shards(), "{} shards, {} mailboxes",
        envs_.size(), mailboxes_.shards());
  manifest_.on_failure([this](const Error& error) { manifest_failed(error); });
}

NodeImpl::~NodeImpl() { manifest_.on_failure({}); }

namespace {

Async<Result<std::unique_ptr<Node>>> open_node(std::unique_ptr<NodeImpl> node) {
  Recovery recovery(*node);
  auto ran = co_await recovery.run();
  if (!ran) {
    co_await node->discard(ran.error());
    co_await recovery.give_back();
    co_return std::unexpected(std::move(ran).error());
  }
  co_return std::unique_ptr<Node>(std::move(node));
}

}  // namespace

Async<Result<std::unique_ptr<Node>>> Node::open(EngineOptions options, std::vector<ShardEnv> shards,
                                                ManifestStore& manifest, Mailboxes& mailboxes) {
  return open_node(std::make_unique<NodeImpl>(std::move(options), std::move(shards), manifest,
                                              mailboxes, std::nullopt));
}

Async<Result<std::unique_ptr<Node>>> Node::open_read_only(EngineOptions options,
                                                          std::vector<ShardEnv> shards,
                                                          ManifestStore& manifest,
                                                          Mailboxes& mailboxes, Error why) {
  return open_node(std::make_unique<NodeImpl>(std::move(options), std::move(shards), manifest,
                                              mailboxes, std::move(why)));
}

// ---- work on many shards

Async<void> NodeImpl::run_on(ShardId shard, const ShardWork& work, Result<void>& outcome,
                             size_t& left, Waiter& all_done) {
  auto there = [&work, shard] { return work(shard); };
  outcome = co_await mailbox(kHomeShard).call_on(shard, std::move(there));
  if (--left == 0) all_done.resume();
}

Async<Result<void>> NodeImpl::on_every_shard(ShardWork work) {
  std::vector<Result<void>> outcomes(shards());
  size_t left = shards();
  Waiter all_done;
  for (uint32_t i = 0; i < shards(); ++i) {
    spawn(envs_.front().runtime.executor, run_on(ShardId{i}, work, outcomes[i], left, all_done));
  }
  co_await all_done.wait();
  for (Result<void>& outcome : outcomes) {
    if (!outcome) co_return std::move(outcome);
  }
  co_return Result<void>{};
}

Async<Result<void>> NodeImpl::publish() {
  auto install = [this](ShardId shard) -> Async<Result<void>> {
    part(shard).install(catalog_.map());
    co_return Result<void>{};
  };
  co_return co_await on_every_shard(std::move(install));
}

// ---- sessions

void NodeImpl::ask_session(ShardId shard) {
  const auto give = [this, shard] { spawn(envs_.front().runtime.executor, give_session(shard)); };
  if (shard == kHomeShard) return give();
  mailbox(shard).post_on(kHomeShard, give);
}

Async<void> NodeImpl::give_session(ShardId shard) {
  auto pass = sessions_.enter();
  if (!pass) co_return;
  auto drawn = co_await draw_session();
  if (!drawn) {
    log_warn("node", "no session for the blobs of shard {}, the next one asks again: {}", shard,
             drawn.error().to_string());
  }
  const auto take = [this, shard, session = drawn ? *drawn : SessionEpoch{}] {
    SessionBlobIds& ids = part(shard).engine.blob_ids();
    session == SessionEpoch{} ? ids.not_drawn() : ids.renew(session);
  };
  if (shard == kHomeShard) {
    take();
  } else {
    mailbox(kHomeShard).post_on(shard, take);
  }
}

Async<Result<SessionEpoch>> NodeImpl::draw_session() {
  AsyncMutex::Lock lock = co_await catalog_lock_.lock();
  const Catalog::NewSession plan = catalog_.plan_session();
  std::vector<VersionEdit> edits{plan.edit};
  CO_TRY(const std::vector<uint64_t> versions, co_await manifest_.commit(std::move(edits)));
  catalog_.drawn(plan, versions.front());
  co_return plan.node.session;
}

// ---- the catalog

// A shard processes this message before later ones, so also before the parts are destroyed. Shard
// 0's own part is notified directly.
void NodeImpl::manifest_failed(const Error& error) {
  const auto tell = [this](ShardId shard, const Error& why) {
    if (parts_[shard.value()]) part(shard).engine.manifest_failed(why);
  };
  tell(kHomeShard, error);
  for (uint32_t i = 1; i < shards(); ++i) {
    mailbox(kHomeShard).post_on(ShardId{i}, [tell, shard = ShardId{i}, error] {
      tell(shard, error);
    });
  }
}

Async<Result<std::vector<uint64_t>>> NodeImpl::commit_change(std::vector<VersionEdit> edits,
                                                             std::vector<AuditEntry> entries,
                                                             Author by) {
  if (entries.empty()) co_return co_await manifest_.commit(std::move(edits));
  for (AuditEntry& entry : entries) {
    entry.at_us = now_us();
    entry.by = by;
  }
  AuditTrail::Addition addition = audit_.plan(std::move(entries));
  edits.push_back(addition.edit);
  CO_TRY(std::vector<uint64_t> versions, co_await manifest_.commit(std::move(edits)));
  audit_.written(std::move(addition), versions.back());
  versions.pop_back();
  co_return versions;
}

Async<AuditPage> NodeImpl::audit_log(ShardId from, AuditQuery query) {
  auto there = [this, mine = std::move(query)]() -> Async<AuditPage> {
    co_return audit_.read(mine);
  };
  co_return co_await mailbox(from).call_on(kHomeShard, std::move(there));
}

Async<Result<TableEntry>> NodeImpl::create_table(ShardId from, TableSpec spec, Author by) {
  auto there = [this, mine = std::move(spec), who = std::move(by)]() mutable {
    return create_here(std::move(mine), std::move(who));
  };
  co_return co_await mailbox(from).call_on(kHomeShard, std::move(there));
}

Async<Result<TableEntry>> NodeImpl::create_here(TableSpec spec, Author by) {
  (void)co_await clock_.catch_up();
  AsyncMutex::Lock lock = co_await catalog_lock_.lock();
  const CommitStamp floor{static_cast<uint64_t>(now_us()) * 1000};
  auto plan = catalog_.plan_create(std::move(spec), floor, log_of_);
  if (!plan) co_return std::unexpected(std::move(plan).error());
  auto versions =
      co_await commit_change(plan->edits, describe_creation(plan->entry.schema), std::move(by));
  if (!versions) co_return std::unexpected(std::move(versions).error());
  catalog_.created(*plan, *versions);

  std::vector<std::vector<TabletSeed>> seeds(shards());
  for (TabletSeed& seed : plan->seeds) {
    seeds[catalog_.shard_of(seed.state.home).value()].push_back(std::move(seed));
  }
  auto install = [this, &seeds](ShardId shard) -> Async<Result<void>> {
    part(shard).engine.add(std::move(seeds[shard.value()]));
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await on_every_shard(std::move(install)));
  CO_TRY_VOID(co_await publish());
  co_return std::move(plan->entry);
}

std::vector<std::vector<TabletId>> NodeImpl::tablets_of(const TableEntry& entry) const {
  std::vector<std::vector<TabletId>> ids(shards());
  for (const TabletDescriptor& tablet : entry.tablets) {
    ids[tablet.shard.value()].push_back(tablet.id);
  }
  return ids;
}

// ---- admin

// Attempts of a call that finds a tablet split, merged or moved; each uses the current map.
constexpr int kMapAttempts = 8;

Async<Result<void>> NodeImpl::each_tablet(ShardId from, std::string name, TabletWork work) {
  Result<void> done;
  for (int attempt = 0; attempt < kMapAttempts; ++attempt) {
    const TableEntry* entry = part(from).tables.find(Bytes(name));
    if (entry == nullptr) {
      co_return fail(Errc::not_found, "table '{}' does not exist", escape_bytes(name));
    }
    const std::vector<TabletDescriptor> tablets = entry->tablets;  // the map may change meanwhile
    done = {};
    for (const TabletDescriptor& tablet : tablets) {
      auto there = [this, &work, shard = tablet.shard, id = tablet.id] {
        return work(part(shard).engine, id);
      };
      done = co_await mailbox(from).call_on(tablet.shard, std::move(there));
      if (!done) break;
    }
    if (done || done.error().code != Errc::aborted) break;
  }
  co_return done;
}

Async<Result<void>> NodeImpl::flush_table(ShardId from, std::string name) {
  TabletWork work = [](ShardEngine& engine, TabletId id) { return engine.flush(id); };
  co_return co_await each_tablet(from, std::move(name), std::move(work));
}

Async<Result<void>> NodeImpl::compact_table(ShardId from, std::string name) {
  TabletWork work = [](ShardEngine& engine, TabletId id) { return engine.compact(id); };
  co_return co_await each_tablet(from, std::move(name), std::move(work));
}

Async<Result<std::vector<TabletSize>>> NodeImpl::tablet_sizes(ShardId from, TableId table) {
  std::vector<TabletSize> sizes;
  Result<void> done;
  for (int attempt = 0; attempt < kMapAttempts; ++attempt) {
    const TableEntry* entry = part(from).tables.find(table);
    if (entry == nullptr) co_return fail(Errc::not_found, "table {} does not exist", table);
    const std::vector<TabletDescriptor> tablets = entry->tablets;  // the map may change meanwhile
    sizes.assign(tablets.size(), TabletSize{});
    for (uint32_t i = 0; i < shards(); ++i) {
      auto there = [this, &tablets, &sizes, shard = ShardId{i}]() -> Async<Result<void>> {
        for (size_t t = 0; t < tablets.size(); ++t) {
          if (tablets[t].shard != shard) continue;
          sizes[t].end = tablets[t].end;
          CO_TRY(sizes[t].bytes, part(shard).engine.tablet_bytes(tablets[t].id));
        }
        co_return Result<void>{};
      };
      done = co_await mailbox(from).call_on(ShardId{i}, std::move(there));
      if (!done) break;
    }
    if (done || done.error().code != Errc::aborted) break;
  }
  if (!done) co_return std::unexpected(std::move(done).error());
  co_return sizes;
}

Async<std::vector<EngineStats>> NodeImpl::stats(ShardId from) {
  std::vector<EngineStats> all;
  for (uint32_t i = 0; i < shards(); ++i) {
    auto there = [this, i]() -> Async<EngineStats> { co_return part(ShardId{i}).engine.stats(); };
    all.push_back(co_await mailbox(from).call_on(ShardId{i}, std::move(there)));
  }
  co_return all;
}

// ---- time

Async<Result<std::vector<ClockPoint>>> NodeImpl::begin_lines() {
  std::vector<ClockPoint> points(shards());
  auto begin = [this, &points](ShardId shard) -> Async<Result<void>> {
    points[shard.value()] = envs_[shard.value()].runtime.clock.begin_line();
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await on_every_shard(std::move(begin)));
  co_return points;
}

Async<Result<void>> NodeImpl::spread(ClockAnchor anchor) {
  auto install = [this, anchor](ShardId shard) -> Async<Result<void>> {
    envs_[shard.value()].runtime.clock.anchor(anchor);
    co_return Result<void>{};
  };
  co_return co_await on_every_shard(std::move(install));
}

Async<Result<void>> NodeImpl::listen(bool yes) {
  auto install = [this, yes](ShardId shard) -> Async<Result<void>> {
    AskedClock& asked = asked_clocks_[shard.value()] = {this, shard};
    const auto tell = [](void* context) {
      const auto& one = *static_cast<AskedClock*>(context);
      one.node->clock_asked(one.shard);
    };
    if (yes) {
      envs_[shard.value()].runtime.clock.on_asked(tell, &asked);
    } else {
      envs_[shard.value()].runtime.clock.on_asked(nullptr, nullptr);
    }
    co_return Result<void>{};
  };
  co_return co_await on_every_shard(std::move(install));
}

void NodeImpl::clock_asked(ShardId shard) {
  if (shard == kHomeShard) return clock_.asked();
  mailbox(shard).post_on(kHomeShard, [this] { clock_.asked(); });
}

Async<int64_t> NodeImpl::catch_up(ShardId from) {
  auto there = [this] { return clock_.catch_up(); };
  co_return co_await mailbox(from).call_on(kHomeShard, std::move(there));
}

Async<ClockReport> NodeImpl::clock_report(ShardId from) {
  auto there = [this]() -> Async<ClockReport> { co_return clock_.report(); };
  co_return co_await mailbox(from).call_on(kHomeShard, std::move(there));
}

Async<Result<void>> NodeImpl::renew_clock(ShardId from) {
  auto there = [this] { return clock_.renew(); };
  co_return co_await mailbox(from).call_on(kHomeShard, std::move(there));
}

Async<Result<ClockReport>> NodeImpl::release_held_time(ShardId from) {
  auto there = [this] { return clock_.release(); };
  co_return co_await mailbox(from).call_on(kHomeShard, std::move(there));
}

// ---- the end

Async<void> NodeImpl::discard(const Error& why) {
  co_await sessions_.close();
  co_await clock_.stop();
  co_await drop_keeper_.stop();
  auto end = [this, &why](ShardId shard) -> Async<Result<void>> {
    if (!parts_[shard.value()]) co_return Result<void>{};
    ShardEngine& engine = part(shard).engine;
    engine.stop_writes(why);
    auto closed = co_await engine.close();
    parts_[shard.value()].reset();
    co_return closed;
  };
  auto ended = co_await on_every_shard(std::move(end));
  co_await old_logs_.drain();
  co_await home_deleter_.drain();
  if (!ended) log_warn("node", "closing after a failed start: {}", ended.error().to_string());
}

Async<Result<void>> NodeImpl::close() {
  co_await sessions_.close();
  co_await clock_.stop();
  co_await drop_keeper_.stop();
  auto end = [this](ShardId shard) { return part(shard).engine.close(); };
  Result<void> outcome = co_await on_every_shard(std::move(end));
  co_await old_logs_.drain();
  auto destroy = [this](ShardId shard) -> Async<Result<void>> {
    parts_[shard.value()].reset();
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await on_every_shard(std::move(destroy)));
  co_await home_deleter_.drain();
  auto closed = co_await manifest_.close();
  if (!closed && outcome) outcome = std::move(closed);
  co_return outcome;
}

}  // namespace cellar::engine
