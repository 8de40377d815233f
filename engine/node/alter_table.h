// TableAlterations: alters tables, and undoes changes of rules. On shard 0.
//
// One manifest edit changes a table's schema, which is then installed in every tablet.
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
// Rule changes. The change has one stamp E for all tablets, above everything committed before it,
// and is in force from E. It acts as a commit of each tablet: what is committed or read before it
// has the old rules and lies before E, what is committed or read after it has the new ones and lies
// after E. Therefore
//   1. the tablets hold their writes, at most kHoldUs, until all earlier ones are visible, and on
//      disk whatever their level: a durable commit makes every earlier one durable;
//   2. then they hold reads, and cursors of clients between two rows; only now E is chosen. A read
//      by the old rules later than E could find a cell dead that a looser rule in force from E
//      brings back. A row that a cursor has begun is read to its end at its earlier stamp and time;
//   3. after the manifest edit and the installation, or when the change has failed, the tablets are
//      released. Held writes continue in the order of their arrival; reads were ABORTED, and the
//      server starts them again on the next map, which is published when no tablet is held any
//      more.
// Each shard's clock is raised to E with the change, because reads apply the rule from E. A removal
// that judges by the old rules must not judge later than E: from step 2 on a tablet plans no flush,
// no merge and no removal of dead tables (RuleHold::rules_known). A plan made earlier that has not
// been installed by then is discarded (is_outdated() in plan_merge.h). The same holds for an undo,
// which restores only what no merge has removed.
// While the outcome of the edit is unknown (a failed manifest), reads go on by the old rules.
//
// A drop of families holds the tablets in the same way. Otherwise a write to the family that waits
// for its log could become visible after the drop was answered, with what else it wrote.
//
// Work in progress with the old schema. A cursor pins its snapshot together with what it reads, and
// is opened again behind a row that it has ended. A merge planned before a drop keeps the cells of
// the family, which the new schema hides. A merge planned while the family did not exist drops its
// cells; all of its inputs were written before the family could be added again, so none of the new
// cells is among them.
#pragma once

#include <string>
#include <vector>

#include "engine/node/clock_keeper.h"
#include "engine/node/node_catalog.h"
#include "engine/node/node_shards.h"

namespace cellar::engine {

class TableAlterations {
 public:
  // The longest time for which writes are held before a change of rules or a drop is stamped.
  static constexpr int64_t kHoldUs = 5'000'000;

  TableAlterations(NodeShards& shards, NodeCatalog& catalog, ClockKeeper& clock)
      : shards_(shards), catalog_(catalog), clock_(clock) {}

  // See Node::alter_table and Node::undo_rule.
  Async<Result<TableEntry>> alter(TableChange change, Author by);
  Async<Result<TableEntry>> undo(RuleUndo undo, Author by);
  // Completes a planned alteration: sets `created` of the added families, and the history of those
  // that get another rule. REQUIRES: the catalog's lock.
  Async<Result<void>> stamp_changes(Catalog::Alteration& alteration, const TabletsByShard& ids,
                                    bool close_oldest_undo_window);

 private:
  // alter() while the tablets are held, if rules change or families are dropped.
  Async<Result<TableEntry>> alter_held(Catalog::Alteration alteration, TableChange change,
                                       const TabletsByShard& ids, Author by);
  // undo() while the tablets are held.
  Async<Result<TableEntry>> undo_held(Catalog::Alteration alteration, RuleUndo undo,
                                      const TabletsByShard& ids, Author by);
  // Steps 1 to 3 of a change of rules. hold(): UNAVAILABLE when a log has failed or is slow; the
  // tablets are then released. It resumes when the logs have answered.
  Async<Result<void>> hold(const TabletsByShard& ids, std::string table);
  Async<Result<void>> hold_reads(const TabletsByShard& ids);
  Async<void> call_off(const TabletsByShard& ids);
  // The manifest edit, then every tablet, which is released, and then every map.
  Async<Result<TableEntry>> put_in_force(Catalog::Alteration alteration, const TabletsByShard& ids,
                                         std::vector<AuditEntry> entries, Author by);

  NodeShards& shards_;
  NodeCatalog& catalog_;
  ClockKeeper& clock_;
};

}  // namespace cellar::engine
