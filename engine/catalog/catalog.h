// Catalog: the tables and tablets of the node on shard 0, and the edits that change them. It plans
// and records; NodeCatalog's users (node/node_catalog.h) execute plans: first the manifest edit,
// then the shards, then the published map. Plans are made one at a time, under NodeCatalog's lock.
//
// Ids are never reused: a planned table takes its ids in the edit that creates it.
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

inline constexpr size_t kMaxSplits = 4096;     // of one table at creation
inline constexpr size_t kMaxTables = 10'000;   // of one node, including dropped ones
inline constexpr size_t kMaxTablets = 65'536;  // of one table

// The manifest, decoded and checked for consistency.
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

// DATA_LOSS if an entry is unreadable or refers to a missing one, or the tablets of a table leave a
// gap; FAILED_PRECONDITION for another format.
Result<ManifestContents> decode_manifest(const std::map<ManifestKey, ManifestEntry>& entries);

class Catalog {
 public:
  explicit Catalog(uint32_t shards) : shards_(shards) {}

  // A new session for blob ids, owned by its requester; the next start's is greater.
  struct NewSession {
    NodeState node;
    VersionEdit edit;
  };
  NewSession plan_session() const;
  void drawn(const NewSession& plan, uint64_t version);

  // Loads the manifest's contents at a start.
  void load(const ManifestContents& manifest);

  ShardId shard_of(uint32_t home) const { return ShardId{home % shards_}; }
  const TableMap& map() const { return map_; }
  const NodeState& node() const { return node_; }
  uint64_t node_version() const { return node_version_; }

  struct Creation {
    NodeState node;  // with the ids taken
    TableEntry entry;
    std::vector<TabletSeed> seeds;   // in the order of entry.tablets; versions unknown
    std::vector<VersionEdit> edits;  // node, table, then the tablets
  };
  // INVALID_ARGUMENT, ALREADY_EXISTS, RESOURCE_EXHAUSTED (too many tables). Commits of the tablets
  // get stamps above `floor`; `log_of` names the open log of each shard.
  Result<Creation> plan_create(TableSpec spec, CommitStamp floor,
                               const std::vector<LogId>& log_of) const;
  // A table with existing tables on disk (create_table.h): it and its tablets, in row order, get
  // ids; their states are complete except for homes and spans. ALREADY_EXISTS, RESOURCE_EXHAUSTED,
  // DATA_LOSS (they do not cover the rows).
  Result<Creation> plan_adopt(TableSchema schema, std::vector<TabletSeed> tablets,
                              const std::vector<LogId>& log_of) const;
  // The edit succeeded with these versions, which the seeds take.
  void created(Creation& creation, const std::vector<uint64_t>& versions);

  struct Alteration {
    TableEntry entry;                // with the new schema
    std::vector<std::string> added;  // families whose `created` is not yet set
    // Families with a new rule, in their old state. Their history is not yet written.
    std::vector<FamilySchema> ruled;
    bool empty = true;  // no difference
  };
  // See Node::alter_table.
  Result<Alteration> plan_alter(const TableChange& change) const;
  // See Node::undo_rule; everything except the family's history.
  Result<Alteration> plan_undo(const RuleUndo& undo) const;
  VersionEdit edit_of(const Alteration& alteration) const;
  // The edit succeeded with this version.
  void altered(const Alteration& alteration, uint64_t version);
  // The edit did not succeed. The map gets a new version, so that requests that wait for one look
  // again.
  void not_altered() { ++map_.version; }

  // ---- drops (drop_table.h)
  struct Drop {
    TableEntry entry;
    std::optional<DropMark> mark;  // absent: permanent, with its tablets
    VersionEdit table_edit;        // edits that remove tablets need their versions
  };
  Result<Drop> plan_drop(Bytes name, int64_t now_us) const;  // NOT_FOUND
  void dropped(const Drop& drop, uint64_t version);
  // NOT_FOUND, ALREADY_EXISTS.
  struct Restoration {
    TableEntry entry;
    VersionEdit table_edit;
  };
  Result<Restoration> plan_restore(Bytes name, int64_t now_us) const;
  void restored(const Restoration& restoration, uint64_t version);
  // The permanent end of a dropped table whose restore window ended before `now_us`; empty if there
  // is none.
  std::optional<Drop> plan_end(int64_t now_us) const;
  void ended(const Drop& drop);
  const std::map<TableId, DroppedTable>& dropped() const { return dropped_; }
  // Trusted time of the next end, `margin_us` after its window; INT64_MAX: none.
  int64_t next_end_us(int64_t margin_us) const;

  // ---- reshapes (reshape.h)
  // The position of a tablet in its table. NOT_FOUND.
  struct Place {
    const TableEntry* entry = nullptr;
    size_t index = 0;  // in entry->tablets
    // A copy, because the catalog may replace the tablets while the caller waits.
    TabletDescriptor tablet() const { return entry->tablets[index]; }
  };
  Result<Place> place_of(TabletId id) const;
  // Sets or clears the mark on tablets [first, first + count) of the table.
  void hold(TableId table, size_t first, size_t count, bool held);
  // The edit succeeded: `children`, held, replace the table's tablets [first, first + count). The
  // node's entry has a new version, unless that is kAbsent.
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
