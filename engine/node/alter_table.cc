#include "engine/node/alter_table.h"

#include <algorithm>
#include <utility>

#include "engine/catalog/audit_trail.h"
#include "engine/catalog/index_change.h"
#include "engine/retention/change_rule.h"
#include "io/base/check.h"
#include "io/loop/limited_work.h"

namespace cellar::engine {

namespace {

constexpr uint32_t kRetryMs = 1000;

// Adds the old rules of the families that get another rule to their history.
Result<void> replace_rules(Catalog::Alteration& alteration, CommitStamp stamp,
                           CommitStamp gc_watermark, bool close_oldest_undo_window) {
  TableSchema& schema = alteration.entry.schema;
  const auto now_us = static_cast<int64_t>(stamp.value() / 1000);
  for (FamilySchema& family : schema.families) forget_rules(family, gc_watermark, now_us);
  for (const FamilySchema& before : alteration.ruled) {
    FamilySchema& family = *schema.find_family(before.name);
    RuleChange change;
    change.rule = std::exchange(family.rule, before.rule);
    change.stamp = stamp;
    change.now_us = now_us;
    change.close_oldest_undo_window = close_oldest_undo_window;
    TRY(family, change_rule(family, change));
  }
  return {};
}

}  // namespace

// Sets `created` of the added families, and the history of those that get another rule: one stamp
// for the table, above all commits of its tablets and not before any shard's clock.
Async<Result<void>> TableAlterations::stamp_changes(Catalog::Alteration& alteration,
                                                    const TabletsByShard& ids,
                                                    bool close_oldest_undo_window) {
  CO_TRY(const NodeShards::Stamps stamps, co_await shards_.stamps_of(ids));
  const CommitStamp created = stamps.last;
  for (FamilySchema& family : alteration.entry.schema.families) {
    const auto& added = alteration.added;
    if (std::find(added.begin(), added.end(), family.name) != added.end()) family.created = created;
  }
  if (alteration.ruled.empty()) co_return Result<void>{};
  co_return replace_rules(alteration, CommitStamp{created.value() + 1}, stamps.gc_watermark,
                          close_oldest_undo_window);
}

Async<Result<TableEntry>> TableAlterations::alter(TableChange change, Author by) {
  (void)co_await clock_.catch_up();
  AsyncMutex::Lock lock = co_await catalog_.lock();
  CO_TRY(Catalog::Alteration alteration, catalog_.tables().plan_alter(change));
  if (alteration.empty) co_return std::move(alteration.entry);
  const TabletsByShard ids = shards_.tablets_of(alteration.entry);
  const bool holds = !alteration.ruled.empty() || !change.drop.empty();
  if (holds) CO_TRY_VOID(co_await hold(ids, change.name));
  auto altered = co_await alter_held(std::move(alteration), std::move(change), ids, std::move(by));
  if (holds && !altered) co_await call_off(ids);
  co_return altered;
}

Async<Result<TableEntry>> TableAlterations::alter_held(Catalog::Alteration alteration,
                                                       TableChange change,
                                                       const TabletsByShard& ids, Author by) {
  if (!alteration.added.empty() || !alteration.ruled.empty()) {
    CO_TRY_VOID(co_await stamp_changes(alteration, ids, change.close_oldest_undo_window));
  }
  auto entries =
      describe_alteration(catalog_.map().find(Bytes(change.name))->schema, alteration.entry.schema);
  co_return co_await put_in_force(std::move(alteration), ids, std::move(entries), std::move(by));
}

// ---- holding the tablets

Async<Result<void>> TableAlterations::hold(const TabletsByShard& ids, std::string table) {
  auto hold = [this, &ids](ShardId shard) {
    return shards_.engine(shard).hold_writes(ids[shard.value()]);
  };
  LimitedWork<Result<void>> writes(shards_.home().runtime, kHoldUs,
                                   shards_.on_every(std::move(hold)));
  const bool in_time = co_await writes.in_time();
  if (in_time) {
    Result<void> held = co_await writes.result();
    if (held) held = co_await hold_reads(ids);
    if (!held) co_await call_off(ids);
    co_return held;
  }
  co_await call_off(ids);
  CO_TRY_VOID(co_await writes.result());
  co_return std::unexpected(
      Error(Errc::unavailable,
            fmt::format("the earlier writes to table '{}' were not on disk within {} ms; it is "
                        "not changed",
                        escape_bytes(table), kHoldUs / 1000))
          .retry_after(kRetryMs));
}

Async<Result<void>> TableAlterations::hold_reads(const TabletsByShard& ids) {
  auto hold = [this, &ids](ShardId shard) -> Async<Result<void>> {
    shards_.engine(shard).hold_reads(ids[shard.value()]);
    co_return Result<void>{};
  };
  co_return co_await shards_.on_every(std::move(hold));
}

// The new map follows: what waits for it finds the tablets released on every shard.
Async<void> TableAlterations::call_off(const TabletsByShard& ids) {
  auto release = [this, &ids](ShardId shard) -> Async<Result<void>> {
    shards_.engine(shard).release(ids[shard.value()]);
    co_return Result<void>{};
  };
  Result<void> released = co_await shards_.on_every(std::move(release));
  CHECK(released, "tablets stay held: {}", released.error().to_string());
  catalog_.tables().not_altered();
  released = co_await catalog_.publish();
  CHECK(released, "a map was not installed: {}", released.error().to_string());
}

// ---- putting a schema in force

Async<Result<TableEntry>> TableAlterations::put_in_force(Catalog::Alteration alteration,
                                                         const TabletsByShard& ids,
                                                         std::vector<AuditEntry> entries,
                                                         Author by) {
  std::vector<VersionEdit> edits;
  edits.push_back(catalog_.tables().edit_of(alteration));
  CO_TRY(const std::vector<uint64_t> versions,
         co_await catalog_.commit(std::move(edits), std::move(entries), std::move(by)));
  catalog_.tables().altered(alteration, versions.front());
  auto install = [this, &ids,
                  &schema = alteration.entry.schema](ShardId shard) -> Async<Result<void>> {
    shards_.engine(shard).alter(ids[shard.value()], schema);
    shards_.engine(shard).release(ids[shard.value()]);
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await shards_.on_every(std::move(install)));
  CO_TRY_VOID(co_await catalog_.publish());
  co_return std::move(alteration.entry);
}

// ---- undoing

// The history becomes the one without the change; no era begins, so nothing is stamped. Merges have
// kept what it restores (FamilyRetention::firm). The window is checked against the most advanced of
// the shards' clocks, as in merges.
Async<Result<TableEntry>> TableAlterations::undo(RuleUndo undo, Author by) {
  (void)co_await clock_.catch_up();
  AsyncMutex::Lock lock = co_await catalog_.lock();
  CO_TRY(Catalog::Alteration alteration, catalog_.tables().plan_undo(undo));
  const TabletsByShard ids = shards_.tablets_of(alteration.entry);
  CO_TRY_VOID(co_await hold(ids, undo.table));
  auto undone = co_await undo_held(std::move(alteration), std::move(undo), ids, std::move(by));
  if (!undone) co_await call_off(ids);
  co_return undone;
}

Async<Result<TableEntry>> TableAlterations::undo_held(Catalog::Alteration alteration, RuleUndo undo,
                                                      const TabletsByShard& ids, Author by) {
  CO_TRY(const NodeShards::Stamps stamps, co_await shards_.stamps_of(ids));
  FamilySchema& family = *alteration.entry.schema.find_family(undo.family);
  CO_TRY(family, undo_change(family, static_cast<int64_t>(stamps.last.value() / 1000)));
  if (const auto valid = validate_family(family); !valid) {
    co_return fail(Errc::failed_precondition, "the rule '{}' cannot come back: {}",
                   describe_rule(family.rule), valid.error().message);
  }
  const TableSchema& before = catalog_.map().find(Bytes(undo.table))->schema;
  CO_TRY_VOID(check_families_fit_indexes(before, alteration.entry.schema));
  auto entries = describe_undo(before, alteration.entry.schema, undo.family);
  co_return co_await put_in_force(std::move(alteration), ids, std::move(entries), std::move(by));
}

}  // namespace cellar::engine
