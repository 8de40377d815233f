#include "engine/node/drop_table.h"

#include <algorithm>
#include <utility>

#include "engine/catalog/audit_trail.h"
#include "io/base/log.h"

namespace cellar::engine {

DroppedTables::DroppedTables(NodeShards& shards, NodeCatalog& catalog, ClockKeeper& clock,
                             const EngineOptions& options)
    : shards_(shards),
      catalog_(catalog),
      clock_(clock),
      margin_us_(options.removal_margin_us),
      keeper_(
          shards_.home().runtime, [this] { return catalog_.tables().next_end_us(margin_us_); },
          [this] { return end_due_table(); }) {}

Async<Result<void>> DroppedTables::drop(std::string name, Author by) {
  (void)co_await clock_.catch_up();
  AsyncMutex::Lock lock = co_await catalog_.lock();
  CO_TRY(Catalog::Drop drop, catalog_.tables().plan_drop(name, shards_.now_us()));
  std::vector<AuditEntry> entries;
  entries.push_back(entry_about(AuditAction::drop_table, drop.entry.schema));
  if (!drop.mark) co_return co_await end_table(std::move(drop), std::move(entries), std::move(by));
  entries.front().details.push_back(
      {"restorable_until_us", "", fmt::format("{}", drop.mark->restorable_until_us)});
  std::vector<VersionEdit> edits;
  edits.push_back(drop.table_edit);
  CO_TRY(const std::vector<uint64_t> versions,
         co_await catalog_.commit(std::move(edits), std::move(entries), std::move(by)));
  catalog_.tables().dropped(drop, versions.front());
  CO_TRY_VOID(co_await catalog_.publish());
  CO_TRY_VOID(co_await hide_tablets(drop.entry, true));
  keeper_.wake();
  co_return Result<void>{};
}

Async<Result<void>> DroppedTables::hide_tablets(const TableEntry& entry, bool hidden) {
  const TabletsByShard ids = shards_.tablets_of(entry);
  auto hide = [this, &ids, hidden](ShardId shard) -> Async<Result<void>> {
    shards_.engine(shard).hide(ids[shard.value()], hidden);
    co_return Result<void>{};
  };
  co_return co_await shards_.on_every(std::move(hide));
}

Async<Result<TableEntry>> DroppedTables::restore(std::string name, Author by) {
  (void)co_await clock_.catch_up();
  AsyncMutex::Lock lock = co_await catalog_.lock();
  CO_TRY(Catalog::Restoration restoration, catalog_.tables().plan_restore(name, shards_.now_us()));
  std::vector<AuditEntry> entries;
  entries.push_back(entry_about(AuditAction::restore_table, restoration.entry.schema));
  std::vector<VersionEdit> edits;
  edits.push_back(restoration.table_edit);
  CO_TRY(const std::vector<uint64_t> versions,
         co_await catalog_.commit(std::move(edits), std::move(entries), std::move(by)));
  catalog_.tables().restored(restoration, versions.front());
  CO_TRY_VOID(co_await hide_tablets(restoration.entry, false));
  CO_TRY_VOID(co_await catalog_.publish());
  keeper_.wake();
  co_return std::move(restoration.entry);
}

Async<std::vector<DroppedTable>> DroppedTables::list() {
  std::vector<DroppedTable> tables;
  for (const auto& [id, table] : catalog_.tables().dropped()) {
    if (table.mark.restorable_until_us >= shards_.now_us()) tables.push_back(table);
  }
  for (uint32_t i = 0; i < shards_.count(); ++i) {
    auto there = [this, &tables, shard = ShardId{i}]() -> Async<void> {
      for (DroppedTable& table : tables) {
        const std::vector<TabletId> ids = shards_.tablets_of(table.entry)[shard.value()];
        const auto figures = co_await shards_.engine(shard).figures(ids);
        for (const TabletFigures& of : figures) table.bytes += of.bytes;
      }
      co_return;
    };
    co_await shards_.mailbox(kHomeShard).call_on(ShardId{i}, std::move(there));
  }
  co_return tables;
}

Async<Result<void>> DroppedTables::end_due_table() {
  AsyncMutex::Lock lock = co_await catalog_.lock();
  std::optional<Catalog::Drop> due = catalog_.tables().plan_end(shards_.now_us() - margin_us_);
  if (!due) co_return Result<void>{};
  log_info("node", "table={} name={} tablets={} can be restored no more, its files go",
           due->entry.schema.id, due->entry.schema.name, due->entry.tablets.size());
  co_return co_await end_table(*std::move(due), {}, {});
}

Async<Result<void>> DroppedTables::end_table(Catalog::Drop drop, std::vector<AuditEntry> entries,
                                             Author by) {
  const TabletsByShard ids = shards_.tablets_of(drop.entry);
  // No flush or compaction edits the tablets between begin_drop and the edit that removes them.
  std::vector<std::vector<uint64_t>> versions(shards_.count());
  auto begin = [this, &ids, &versions](ShardId shard) -> Async<Result<void>> {
    versions[shard.value()] = co_await shards_.engine(shard).begin_drop(ids[shard.value()]);
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await shards_.on_every(std::move(begin)));
  std::vector<VersionEdit> edits;
  edits.push_back(drop.table_edit);
  for (uint32_t shard = 0; shard < shards_.count(); ++shard) {
    for (size_t i = 0; i < ids[shard].size(); ++i) {
      edits.push_back(remove_key(key_of(ids[shard][i]), versions[shard][i]));
    }
  }
  auto edited = co_await catalog_.commit(std::move(edits), std::move(entries), std::move(by));
  if (!edited) {
    auto cancel = [this, &ids](ShardId shard) -> Async<Result<void>> {
      shards_.engine(shard).cancel_drop(ids[shard.value()]);
      co_return Result<void>{};
    };
    CO_TRY_VOID(co_await shards_.on_every(std::move(cancel)));
    co_return std::unexpected(std::move(edited).error());
  }
  catalog_.tables().ended(drop);
  CO_TRY_VOID(co_await catalog_.publish());
  auto finish = [this, &ids](ShardId shard) -> Async<Result<void>> {
    co_await shards_.engine(shard).finish_drop(ids[shard.value()]);
    co_return Result<void>{};
  };
  co_return co_await shards_.on_every(std::move(finish));
}

DropKeeper::DropKeeper(const Runtime& runtime, Due due_us, EndOne end_one)
    : runtime_(runtime),
      due_us_(std::move(due_us)),
      end_one_(std::move(end_one)),
      timer_(runtime_.timers, &DropKeeper::on_timer, this) {}

void DropKeeper::serve() { spawn(runtime_.executor, loop()); }

Async<void> DropKeeper::stop() {
  stopping_ = true;
  wake_.notify_all();
  co_await running_.close();
}

Async<void> DropKeeper::loop() {
  auto pass = running_.enter();
  while (pass && !stopping_) {
    const int64_t due_us = due_us_();
    const int64_t now_us = runtime_.clock.now_us();
    const int64_t backing_off_us = not_before_us_ - runtime_.timers.now_us();
    if (due_us > now_us || backing_off_us > 0) {
      if (due_us != INT64_MAX) {
        // Trusted time may stand still on an idle node.
        const int64_t expected_us = runtime_.clock.expected_us();
        if (due_us > now_us && due_us <= expected_us) runtime_.clock.ask_us();
        const int64_t wait_us = due_us > expected_us ? due_us - expected_us : 0;
        timer_.arm_after_us(
            std::clamp(std::max(wait_us, backing_off_us), kLeastWaitUs, kMostWaitUs));
      }
      co_await wake_.wait();
      continue;
    }
    const Result<void> ended = co_await end_one_();
    if (!ended) {
      not_before_us_ = runtime_.timers.now_us() + kRetryUs;
      if (!failed_) {
        log_error("node", "a dropped table stays though its time is over: {}",
                  ended.error().to_string());
      }
    }
    failed_ = !ended;
  }
  timer_.cancel();
}

}  // namespace cellar::engine
