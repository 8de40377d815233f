// Node: forwards each call to the component that does it, on the shard on which that runs.
#include "engine/node.h"

#include <utility>

#include "engine/backup/backup.h"
#include "engine/node/node_parts.h"
#include "engine/node/reclaim_report.h"
#include "engine/node/recovery.h"

namespace cellar::engine {

Node::Node(std::unique_ptr<NodeParts> parts) : parts_(std::move(parts)) {}
Node::~Node() = default;

namespace {

Async<Result<std::unique_ptr<Node>>> open_node(std::unique_ptr<NodeParts> parts) {
  Recovery recovery(*parts);
  auto ran = co_await recovery.run();
  if (!ran) {
    co_await parts->discard(ran.error());
    co_await recovery.give_back();
    co_return std::unexpected(std::move(ran).error());
  }
  co_return std::make_unique<Node>(std::move(parts));
}

}  // namespace

Async<Result<std::unique_ptr<Node>>> Node::open(EngineOptions options, std::vector<ShardEnv> shards,
                                                ManifestStore& manifest, Mailboxes& mailboxes) {
  return open_node(std::make_unique<NodeParts>(std::move(options), std::move(shards), manifest,
                                               mailboxes, std::nullopt));
}

Async<Result<std::unique_ptr<Node>>> Node::open_read_only(EngineOptions options,
                                                          std::vector<ShardEnv> shards,
                                                          ManifestStore& manifest,
                                                          Mailboxes& mailboxes, Error why) {
  return open_node(std::make_unique<NodeParts>(std::move(options), std::move(shards), manifest,
                                               mailboxes, std::move(why)));
}

const Error* Node::read_only_start() const {
  return parts_->read_only ? &*parts_->read_only : nullptr;
}

Engine& Node::engine(ShardId shard) { return parts_->shards.engine(shard); }

const TableMap& Node::tables(ShardId shard) const { return parts_->shards.part(shard).tables; }

void Node::watch_tables(ShardId shard, TableMapWatcher* watcher) {
  parts_->shards.part(shard).watcher = watcher;
}

// ---- tables

Async<Result<TableEntry>> Node::create_table(ShardId from, TableSpec spec, Author by) {
  auto there = [&to = parts_->creations, mine = std::move(spec), who = std::move(by)]() mutable {
    return to.create(std::move(mine), std::move(who));
  };
  return parts_->shards.at_home(from, std::move(there));
}

Async<Result<TableEntry>> Node::alter_table(ShardId from, TableChange change, Author by) {
  auto there = [&to = parts_->alterations, mine = std::move(change),
                who = std::move(by)]() mutable {
    return to.alter(std::move(mine), std::move(who));
  };
  return parts_->shards.at_home(from, std::move(there));
}

Async<Result<TableEntry>> Node::undo_rule(ShardId from, RuleUndo undo, Author by) {
  auto there = [&to = parts_->alterations, mine = std::move(undo), who = std::move(by)]() mutable {
    return to.undo(std::move(mine), std::move(who));
  };
  return parts_->shards.at_home(from, std::move(there));
}

Async<Result<void>> Node::drop_table(ShardId from, std::string name, Author by) {
  auto there = [&to = parts_->drops, mine = std::move(name), who = std::move(by)]() mutable {
    return to.drop(std::move(mine), std::move(who));
  };
  return parts_->shards.at_home(from, std::move(there));
}

Async<Result<TableEntry>> Node::restore_table(ShardId from, std::string name, Author by) {
  auto there = [&to = parts_->drops, mine = std::move(name), who = std::move(by)]() mutable {
    return to.restore(std::move(mine), std::move(who));
  };
  return parts_->shards.at_home(from, std::move(there));
}

Async<std::vector<DroppedTable>> Node::dropped_tables(ShardId from) {
  auto there = [&to = parts_->drops] { return to.list(); };
  return parts_->shards.at_home(from, std::move(there));
}

Async<AuditPage> Node::audit_log(ShardId from, AuditQuery query) {
  auto there = [&to = parts_->catalog, mine = std::move(query)]() -> Async<AuditPage> {
    co_return to.audit_log(mine);
  };
  return parts_->shards.at_home(from, std::move(there));
}

Async<Result<PreviewReport>> Node::preview_rule(ShardId from, PreviewRequest request,
                                                PreviewListener& listener) {
  return parts_->previews.run(from, std::move(request), listener);
}

// ---- tablets

Async<Result<void>> Node::flush_table(ShardId from, std::string name) {
  return parts_->calls.flush(from, std::move(name));
}

Async<Result<void>> Node::compact_table(ShardId from, std::string name) {
  return parts_->calls.compact(from, std::move(name));
}

Async<Result<std::vector<TabletSize>>> Node::tablet_sizes(ShardId from, TableId table) {
  return parts_->calls.sizes(from, table);
}

Async<Result<std::vector<TabletFigures>>> Node::tablet_figures(ShardId from, TableId table) {
  return parts_->calls.figures(from, table);
}

Async<std::vector<EngineStats>> Node::stats(ShardId from) { return parts_->calls.stats(from); }

Async<Result<ReclaimReport>> Node::reclaim_report(ShardId from, ReclaimQuestion question) {
  return parts_->calls.reclaim_report(from, question);
}

Async<Result<std::vector<TabletDescriptor>>> Node::split_tablet(ShardId from, TabletId tablet,
                                                                std::string row) {
  auto there = [&to = parts_->reshape, tablet, mine = std::move(row)]() mutable {
    return to.split(tablet, std::move(mine));
  };
  return parts_->shards.at_home(from, std::move(there));
}

Async<Result<TabletDescriptor>> Node::merge_tablets(ShardId from, TabletId left, TabletId right) {
  auto there = [&to = parts_->reshape, left, right] { return to.merge(left, right); };
  return parts_->shards.at_home(from, std::move(there));
}

Async<Result<TabletDescriptor>> Node::move_tablet(ShardId from, TabletId tablet, ShardId to) {
  auto there = [&reshape = parts_->reshape, tablet, to] { return reshape.move(tablet, to); };
  return parts_->shards.at_home(from, std::move(there));
}

// ---- backups

Async<Result<void>> Node::back_up(ShardId from, BackupStore& store, BackupRequest request,
                                  BackupProgress& progress) {
  auto there = [&to = parts_->backups, &store, mine = std::move(request), &progress]() mutable {
    return to.take(store, std::move(mine), progress);
  };
  return parts_->shards.at_home(from, std::move(there));
}

Async<Result<TableEntry>> Node::restore_backup(ShardId from, BackupStore& store,
                                               RestoreRequest request, Author by,
                                               BackupProgress& progress) {
  auto there = [&to = parts_->backups, &store, mine = std::move(request), who = std::move(by),
                &progress]() mutable {
    return to.restore(store, std::move(mine), std::move(who), progress);
  };
  return parts_->shards.at_home(from, std::move(there));
}

// ---- time

Async<int64_t> Node::catch_up(ShardId from) {
  auto there = [&to = parts_->clocks.keeper()] { return to.catch_up(); };
  return parts_->shards.at_home(from, std::move(there));
}

int64_t Node::clock_lag_us() const { return parts_->clocks.keeper().lag_us(); }

Async<ClockReport> Node::clock_report(ShardId from) {
  auto there = [&to = parts_->clocks.keeper()]() -> Async<ClockReport> { co_return to.report(); };
  return parts_->shards.at_home(from, std::move(there));
}

Async<Result<void>> Node::renew_clock(ShardId from) {
  auto there = [&to = parts_->clocks.keeper()] { return to.renew(); };
  return parts_->shards.at_home(from, std::move(there));
}

Async<Result<ClockReport>> Node::release_held_time(ShardId from) {
  auto there = [&to = parts_->clocks.keeper()] { return to.release(); };
  return parts_->shards.at_home(from, std::move(there));
}

const RecoveryReport& Node::recovery() const { return parts_->recovery; }

Async<Result<void>> Node::close() { return parts_->close(); }

}  // namespace cellar::engine
