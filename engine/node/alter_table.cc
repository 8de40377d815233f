// Altering a table: one manifest edit changes its schema, which is then installed in every tablet.
//
//   plan -> stamp of the changes -> manifest edit -> every tablet -> every map -> answer
//
// All steps run under the catalog lock, so one change of the catalog runs at a time.
//
// Installation. A tablet installs a schema in a synchronous call, between two commits; a commit is
// judged and inserted in one synchronous call too, so each is subject to either the old or the new
// schema. After the installation writes to a dropped family are NOT_FOUND and reads do not return
// it.
//
// A family that is added again is empty. Its cells are dead where their stamp is at or below
// FamilySchema::created (read/cell_judge.h). Let the family be dropped by edit D and added by edit
// A.
//   1. No tablet accepts a write to the family between the installations of D and A. So every
//      old cell of a tablet, including those not on disk yet, has a stamp that the tablet had
//      assigned when D was installed, which is before A was planned.
//   2. `created` is the greatest last stamp of all tablets, read after A was planned. By (1) it is
//      at or above every old cell's stamp. It is the greatest because it is one number per table.
//   3. A tablet raises its last stamp to `created` when it installs A, so new cells lie above it.
//
// This holds with a crash at any point.
//   Before the edit is durable: the table is unchanged.
//   After it, before all tablets have installed it: the start opens every tablet with the schema of
//      the manifest. For a drop: what was written to the family meanwhile was committed before the
//      change was answered, and is hidden with the rest; (1) holds with "the start" for "the
//      installation". For an addition: no tablet accepted a write to the family.
//   Any time later: a tablet begins with a last stamp of at least the newest `created` of its
//      schema, whether or not a commit with a greater one has reached the disk, so (3) holds.
//   An edit of unknown outcome stops the writes of every shard until the next start: a write to a
//      family whose drop may be durable must not be acknowledged, since the restart would hide it.
//
// Rule changes. The change has one stamp E for all tablets, above everything committed when the
// tablets were asked, and is in force from E. Before that the tablets are told the coming rules,
// and refuse writes that these refuse: so no write stamped after E is dead by the rule of E when it
// is written. Each shard's clock is raised to E with the change, because reads apply the rule from
// E. For reads a rule is part of the timeline (retention/family_retention.h), so it does not matter
// when a tablet installs it. A removal that judges by the old rules must not judge later than E:
// from the notification until the installation a tablet plans no flush, no merge and no removal of
// dead tables (Tablet::rules_known). A plan made earlier that has not been installed by then is
// discarded (is_outdated() in plan_merge.h). The same holds for an undo, which restores only what
// no merge has removed: the tablets are told before its window is checked.
//
// Work in progress with the old schema. A cursor pins its snapshot together with what it reads: it
// began before the answer and sees the old table. A merge planned before a drop keeps the cells of
// the family, which the new schema hides. A merge planned while the family did not exist drops its
// cells; all of its inputs were written before the family could be added again, so none of the new
// cells is among them.
#include <algorithm>
#include <utility>

#include "engine/catalog/audit_trail.h"
#include "engine/node/node_impl.h"
#include "engine/retention/change_rule.h"

namespace cellar::engine {

Async<Result<TableEntry>> NodeImpl::alter_table(ShardId from, TableChange change, Author by) {
  auto there = [this, mine = std::move(change), who = std::move(by)]() mutable {
    return alter_here(std::move(mine), std::move(who));
  };
  co_return co_await mailbox(from).call_on(kHomeShard, std::move(there));
}

namespace {

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

Async<Result<NodeImpl::Stamps>> NodeImpl::stamps_of(const std::vector<std::vector<TabletId>>& ids) {
  std::vector<CommitStamp> last(shards());
  std::vector<CommitStamp> gc_watermark(shards());
  auto ask = [this, &ids, &last, &gc_watermark](ShardId shard) -> Async<Result<void>> {
    last[shard.value()] = part(shard).engine.last_stamp(ids[shard.value()]);
    gc_watermark[shard.value()] = part(shard).engine.gc_watermark(ids[shard.value()]);
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await on_every_shard(std::move(ask)));
  co_return Stamps{*std::max_element(last.begin(), last.end()),
                   *std::min_element(gc_watermark.begin(), gc_watermark.end())};
}

// Sets `created` of the added families, and the history of those that get another rule: one stamp
// for the table, above all commits of its tablets and not before any shard's clock.
Async<Result<void>> NodeImpl::stamp_changes(Catalog::Alteration& alteration,
                                            const std::vector<std::vector<TabletId>>& ids,
                                            bool close_oldest_undo_window) {
  CO_TRY(const Stamps stamps, co_await stamps_of(ids));
  const CommitStamp created = stamps.last;
  for (FamilySchema& family : alteration.entry.schema.families) {
    const auto& added = alteration.added;
    if (std::find(added.begin(), added.end(), family.name) != added.end()) family.created = created;
  }
  if (alteration.ruled.empty()) co_return Result<void>{};
  co_return replace_rules(alteration, CommitStamp{created.value() + 1}, stamps.gc_watermark,
                          close_oldest_undo_window);
}

Async<Result<TableEntry>> NodeImpl::alter_here(TableChange change, Author by) {
  (void)co_await clock_.catch_up();
  AsyncMutex::Lock lock = co_await catalog_lock_.lock();
  CO_TRY(Catalog::Alteration alteration, catalog_.plan_alter(change));
  if (alteration.empty) co_return std::move(alteration.entry);
  const std::vector<std::vector<TabletId>> ids = tablets_of(alteration.entry);
  if (alteration.ruled.empty()) {
    co_return co_await alter_expected(std::move(alteration), std::move(change), ids, std::move(by));
  }
  const TableSchema before = catalog_.map().find(Bytes(change.name))->schema;
  CO_TRY_VOID(co_await expect_rules(ids, alteration.entry.schema));
  auto altered =
      co_await alter_expected(std::move(alteration), std::move(change), ids, std::move(by));
  if (!altered) CO_TRY_VOID(co_await expect_rules(ids, before));
  co_return altered;
}

Async<Result<void>> NodeImpl::expect_rules(const std::vector<std::vector<TabletId>>& ids,
                                           const TableSchema& coming) {
  auto expect = [this, &ids, &coming](ShardId shard) -> Async<Result<void>> {
    part(shard).engine.expect_rules(ids[shard.value()], coming);
    co_return Result<void>{};
  };
  co_return co_await on_every_shard(std::move(expect));
}

Async<Result<TableEntry>> NodeImpl::alter_expected(Catalog::Alteration alteration,
                                                   TableChange change,
                                                   const std::vector<std::vector<TabletId>>& ids,
                                                   Author by) {
  if (!alteration.added.empty() || !alteration.ruled.empty()) {
    CO_TRY_VOID(co_await stamp_changes(alteration, ids, change.close_oldest_undo_window));
  }
  auto entries =
      describe_alteration(catalog_.map().find(Bytes(change.name))->schema, alteration.entry.schema);
  co_return co_await put_in_force(std::move(alteration), ids, std::move(entries), std::move(by));
}

Async<Result<TableEntry>> NodeImpl::put_in_force(Catalog::Alteration alteration,
                                                 const std::vector<std::vector<TabletId>>& ids,
                                                 std::vector<AuditEntry> entries, Author by) {
  std::vector<VersionEdit> edits;
  edits.push_back(catalog_.edit_of(alteration));
  CO_TRY(const std::vector<uint64_t> versions,
         co_await commit_change(std::move(edits), std::move(entries), std::move(by)));
  catalog_.altered(alteration, versions.front());
  auto install = [this, &ids,
                  &schema = alteration.entry.schema](ShardId shard) -> Async<Result<void>> {
    part(shard).engine.alter(ids[shard.value()], schema);
    part(shard).install(catalog_.map());
    co_return Result<void>{};
  };
  CO_TRY_VOID(co_await on_every_shard(std::move(install)));
  co_return std::move(alteration.entry);
}

// ---- undoing

Async<Result<TableEntry>> NodeImpl::undo_rule(ShardId from, RuleUndo undo, Author by) {
  auto there = [this, mine = std::move(undo), who = std::move(by)]() mutable {
    return undo_here(std::move(mine), std::move(who));
  };
  co_return co_await mailbox(from).call_on(kHomeShard, std::move(there));
}

// The history becomes the one without the change; no era begins, so nothing is stamped. Merges have
// kept what it restores (FamilyRetention::firm). The window is checked against the most advanced of
// the shards' clocks, as in merges.
Async<Result<TableEntry>> NodeImpl::undo_here(RuleUndo undo, Author by) {
  (void)co_await clock_.catch_up();
  AsyncMutex::Lock lock = co_await catalog_lock_.lock();
  CO_TRY(Catalog::Alteration alteration, catalog_.plan_undo(undo));
  const std::vector<std::vector<TabletId>> ids = tablets_of(alteration.entry);
  const TableSchema before = catalog_.map().find(Bytes(undo.table))->schema;
  CO_TRY_VOID(co_await expect_rules(ids, alteration.entry.schema));
  auto undone = co_await undo_expected(std::move(alteration), std::move(undo), ids, std::move(by));
  if (!undone) CO_TRY_VOID(co_await expect_rules(ids, before));
  co_return undone;
}

Async<Result<TableEntry>> NodeImpl::undo_expected(Catalog::Alteration alteration, RuleUndo undo,
                                                  const std::vector<std::vector<TabletId>>& ids,
                                                  Author by) {
  CO_TRY(const Stamps stamps, co_await stamps_of(ids));
  FamilySchema& family = *alteration.entry.schema.find_family(undo.family);
  CO_TRY(family, undo_change(family, static_cast<int64_t>(stamps.last.value() / 1000)));
  if (const auto valid = validate_family(family); !valid) {
    co_return fail(Errc::failed_precondition, "the rule '{}' cannot come back: {}",
                   describe_rule(family.rule), valid.error().message);
  }
  auto entries = describe_undo(catalog_.map().find(Bytes(undo.table))->schema,
                               alteration.entry.schema, undo.family);
  co_return co_await put_in_force(std::move(alteration), ids, std::move(entries), std::move(by));
}

}  // namespace cellar::engine
