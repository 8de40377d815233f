// Catalog: which tables and tablets exist, as shard 0 knows them, and the edits that change that.
// It plans and remembers; Node (node.cc) carries plans out: manifest edit first, then the shards,
// then the published map. Plans are made one at a time, under Node's catalog lock.
//
// Ids are never reused: a planned table takes its ids in the same edit that creates it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/catalog/audit_trail.h"
#include "engine/catalog/table_change.h"
#include "engine/catalog/table_map.h"
#include "engine/manifest/clock_state.h"
#include "engine/manifest/tablet_seed.h"

namespace cellar::engine {

inline constexpr size_t kMaxSplits = 4096;     // of one table, at creation
inline constexpr size_t kMaxTables = 10'000;   // of one node, dropped ones included
inline constexpr size_t kMaxTablets = 65'536;  // of one table, however it came to them

// The manifest as it was found, decoded and checked against itself.
struct ManifestContents {
  struct Table {
    TableSchema schema;
    uint64_t version = kAbsent;
    std::optional<DropMark> drop;
  };
  NodeState node;
  uint64_t node_version = kAbsent;  // kAbsent: a new directory
  std::map<TableId, Table> tables;
  std::vector<TabletSeed> tablets;  // sorted by id
  std::optional<ClockState> clock;
  uint64_t clock_version = kAbsent;
  AuditTrail audit;
};

// DATA_LOSS when an entry cannot be read, names what does not exist, or tablets of a table leave a
// gap; FAILED_PRECONDITION when it was written by a newer program.
Result<ManifestContents> decode_manifest(const std::map<Subject, SubjectState>& subjects);

class Catalog {
 public:
  explicit Catalog(uint32_t shards) : shards_(shards) {}

  // Another session, for blob ids: it belongs to whoever draws it, and the next start's is greater.
  struct NewSession {
    NodeState node;
    SubjectEdit edit;
  };
  NewSession plan_session() const;
  void drawn(const NewSession& plan, uint64_t version);

  // What the manifest said at this start.
  void load(const ManifestContents& manifest);

  ShardId shard_of(uint32_t home) const { return ShardId{home % shards_}; }
  const TableMap& map() const { return map_; }
  const NodeState& node() const { return node_; }
  uint64_t node_version() const { return node_version_; }

  struct Creation {
    NodeState node;  // with the ids taken
    TableEntry entry;
    std::vector<TabletSeed> seeds;   // in the order of entry.tablets; versions not yet known
    std::vector<SubjectEdit> edits;  // node, table, then the tablets
  };
  // INVALID_ARGUMENT, ALREADY_EXISTS, RESOURCE_EXHAUSTED (too many tables). Commits of the tablets
  // will be stamped above `floor`; `log_of` names the open log of each shard.
  Result<Creation> plan_create(TableSpec spec, CommitStamp floor,
                               const std::vector<LogId>& log_of) const;
  // A table that comes with its tables on disk (restore_backup.cc): it gets an id, and so do its
  // tablets, in order of rows, whose states are complete but for homes and spans. ALREADY_EXISTS,
  // RESOURCE_EXHAUSTED, DATA_LOSS (they do not cover its rows). catalog_adopt.cc
  Result<Creation> plan_adopt(TableSchema schema, std::vector<TabletSeed> tablets,
                              const std::vector<LogId>& log_of) const;
  // The edit went through with these versions, which the seeds take.
  void created(Creation& creation, const std::vector<uint64_t>& versions);

  struct Alteration {
    TableEntry entry;                // with the new schema
    std::vector<std::string> added;  // families whose `created` is still to be set
    // Families that get another rule: as they were. Their history is still to be written.
    std::vector<FamilySchema> ruled;
    bool empty = true;  // nothing differs
  };
  // See Node::alter_table.
  Result<Alteration> plan_alter(const TableChange& change) const;
  // See Node::undo_rule: all of it but the history of the family.
  Result<Alteration> plan_undo(const RuleUndo& undo) const;
  SubjectEdit edit_of(const Alteration& alteration) const;
  // The edit went through with this version.
  void altered(const Alteration& alteration, uint64_t version);

  // ---- drops (drop_table.cc)
  struct Drop {
    TableEntry entry;
    std::optional<DropMark> mark;  // absent: it goes for good, with its tablets
    SubjectEdit table_edit;        // those that remove tablets need their versions
  };
  Result<Drop> plan_drop(Bytes name, int64_t now_us) const;  // NOT_FOUND
  void dropped(const Drop& drop, uint64_t version);
  // NOT_FOUND, ALREADY_EXISTS.
  struct Restoration {
    TableEntry entry;
    SubjectEdit table_edit;
  };
  Result<Restoration> plan_restore(Bytes name, int64_t now_us) const;
  void restored(const Restoration& restoration, uint64_t version);
  // The end of a dropped table that could be restored before `now_us` only; nothing where there is
  // none.
  std::optional<Drop> plan_end(int64_t now_us) const;
  void ended(const Drop& drop);
  const std::map<TableId, DroppedTable>& dropped() const { return dropped_; }
  // The first trusted time at which the next end is due, `margin_us` behind its window; INT64_MAX.
  int64_t next_end_us(int64_t margin_us) const;

  // ---- reshapes (reshape.h)
  // Where a tablet stands in its table. NOT_FOUND.
  struct Place {
    const TableEntry* entry = nullptr;
    size_t index = 0;  // in entry->tablets
    // A copy: while its holder waits, the catalog may put others in its place.
    TabletDescriptor tablet() const { return entry->tablets[index]; }
  };
  Result<Place> place_of(TabletId id) const;
  // Marks the tablets [first, first + count) of the table, or takes the mark away.
  void hold(TableId table, size_t first, size_t count, bool held);
  // The edit went through: `children`, held, stand in the place of the table's tablets
  // [first, first + count). The node's entry has a new version, unless that is kAbsent.
  void reshaped(TableId table, size_t first, size_t count, const std::vector<TabletSeed>& children,
                const NodeState& node, uint64_t node_version);

 private:
  uint32_t shards_;
  NodeState node_;
  uint64_t node_version_ = kAbsent;
  std::map<TableId, uint64_t> table_versions_;
  TableMap map_;
  std::map<TableId, DroppedTable> dropped_;  // not in map_
};

}  // namespace cellar::engine
