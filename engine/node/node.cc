// Node: forwards each call to the component that does it, on the shard on which that runs.
#include "engine/node.h"

#include <functional>
#include <utility>

#include "engine/backup/backup.h"
#include "engine/node/node_parts.h"
#include "engine/node/reclaim_report.h"
#include "engine/node/recovery.h"

namespace cellar::engine {

Node::Node(std::unique_ptr<NodeParts> parts) : parts_(std::move(parts)) {}
Node::~Node() = default;

namespace {

Async<Result<std::unique_ptr<Node>>> open_parts(std::unique_ptr<NodeParts> parts) {
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
  return open_parts(std::make_unique<NodeParts>(std::move(options), std::move(shards), manifest,
                                                mailboxes, std::nullopt));
}

Async<Result<std::unique_ptr<Node>>> Node::open_read_only(EngineOptions options,
                                                          std::vector<ShardEnv> shards,
                                                          ManifestStore& manifest,
                                                          Mailboxes& mailboxes, Error why) {
  return open_parts(std::make_unique<NodeParts>(std::move(options), std::move(shards), manifest,
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
  return parts_->shards.at_home(from, parts_->creations, &TableCreations::create, std::move(spec),
                                std::move(by));
}

Async<Result<TableEntry>> Node::alter_table(ShardId from, TableChange change, Author by) {
  return parts_->shards.at_home(from, parts_->alterations, &TableAlterations::alter,
                                std::move(change), std::move(by));
}

Async<Result<TableEntry>> Node::undo_rule(ShardId from, RuleUndo undo, Author by) {
  return parts_->shards.at_home(from, parts_->alterations, &TableAlterations::undo, std::move(undo),
                                std::move(by));
}

Async<Result<void>> Node::drop_table(ShardId from, std::string name, Author by) {
  return parts_->shards.at_home(from, parts_->drops, &DroppedTables::drop, std::move(name),
                                std::move(by));
}

Async<Result<TableEntry>> Node::restore_table(ShardId from, std::string name, Author by) {
  return parts_->shards.at_home(from, parts_->drops, &DroppedTables::restore, std::move(name),
                                std::move(by));
}

Async<std::vector<DroppedTable>> Node::dropped_tables(ShardId from) {
  return parts_->shards.at_home(from, parts_->drops, &DroppedTables::list);
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

Async<Result<IndexStates>> Node::index_states(ShardId from, std::string table) {
  return parts_->calls.index_states(from, std::move(table));
}

Async<Result<IndexCheckReport>> Node::check_index(ShardId from, std::string table,
                                                  std::string index, IndexCheckListener& listener) {
  return parts_->index_checks.run(from, std::move(table), std::move(index), listener);
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
  return parts_->shards.at_home(from, parts_->reshape, &Reshape::split, tablet, std::move(row));
}

Async<Result<TabletDescriptor>> Node::merge_tablets(ShardId from, TabletId left, TabletId right) {
  return parts_->shards.at_home(from, parts_->reshape, &Reshape::merge, left, right);
}

Async<Result<TabletDescriptor>> Node::move_tablet(ShardId from, TabletId tablet, ShardId to) {
  return parts_->shards.at_home(from, parts_->reshape, &Reshape::move, tablet, to);
}

// ---- backups

Async<Result<void>> Node::back_up(ShardId from, BackupStore& store, BackupRequest request,
                                  BackupProgress& progress) {
  return parts_->shards.at_home(from, parts_->backups, &Backups::take, std::ref(store),
                                std::move(request), std::ref(progress));
}

Async<Result<TableEntry>> Node::restore_backup(ShardId from, BackupStore& store,
                                               RestoreRequest request, Author by,
                                               BackupProgress& progress) {
  return parts_->shards.at_home(from, parts_->backups, &Backups::restore, std::ref(store),
                                std::move(request), std::move(by), std::ref(progress));
}

// ---- time

Async<int64_t> Node::catch_up(ShardId from) {
  return parts_->shards.at_home(from, parts_->clocks.keeper(), &ClockKeeper::catch_up);
}

int64_t Node::clock_lag_us() const { return parts_->clocks.keeper().lag_us(); }

Async<ClockReport> Node::clock_report(ShardId from) {
  auto there = [&to = parts_->clocks.keeper()]() -> Async<ClockReport> { co_return to.report(); };
  return parts_->shards.at_home(from, std::move(there));
}

Async<Result<void>> Node::renew_clock(ShardId from) {
  return parts_->shards.at_home(from, parts_->clocks.keeper(), &ClockKeeper::renew);
}

Async<Result<ClockReport>> Node::release_held_time(ShardId from) {
  return parts_->shards.at_home(from, parts_->clocks.keeper(), &ClockKeeper::release);
}

const RecoveryReport& Node::recovery() const { return parts_->recovery; }

Async<Result<void>> Node::close() { return parts_->close(); }

}  // namespace cellar::engine
