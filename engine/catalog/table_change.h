// Definition and change of a table as requested: families with the named parts; absent parts come
// from the table's profile or stay unchanged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/catalog/table_map.h"
#include "engine/manifest/table_state.h"
#include "engine/model/schema.h"

namespace cellar::engine {

// A new family, whose absent parts take the default of the table's profile (SEMANTICS 8); or
// changes of one, whose absent parts stay.
struct FamilySpec {
  std::string name;
  std::optional<RetentionRule> rule = {};  // empty: keep everything
  std::optional<TimestampMeaning> timestamps = {};
  std::optional<BornDead> born_dead = {};
  std::optional<WriteWindow> window = {};  // both sides and the unit
  std::optional<int64_t> undo_window_us = {};

  // Named parts replace those of `family`; its name stays. Parts from the profile that the meaning
  // of the timestamps forbids are dropped.
  void apply_to(FamilySchema& family) const;
  // The resulting family in a table with the profile.
  FamilySchema under(Profile profile) const;
};

struct TableSpec {
  std::string name;
  Granularity granularity = Granularity::millis;
  Profile profile = Profile::none;
  TableOptions options;
  std::vector<FamilySpec> families;
  std::vector<std::string>
      splits;  // rows at which tablets begin; sorted and distinct after validation
};

// Absent parts stay unchanged.
struct OptionsChange {
  std::optional<Durability> durability;
  std::optional<Compression> compression;  // for tables written from now on
  std::optional<uint32_t> block_bytes;     // for tables written from now on
  std::optional<int64_t> reclaim_within_us;
  std::optional<double> dead_slack;
  std::optional<double> reclaim_share;
  std::optional<Compaction> compaction;                 // for merges from now on
  std::optional<BottomCompression> bottom_compression;  // for merges from now on
  void apply_to(TableOptions& options) const;
};

// A new index; absent parts take their defaults (SEMANTICS 11).
struct IndexSpec {
  std::string name;
  std::string family;
  std::optional<std::string> qualifier;
  std::vector<cellar::IndexPart> parts;  // not the part of an index of a table on disk
  std::optional<IndexType> type;
  IndexMatch match = IndexMatch::newest;
  std::vector<IndexColumn> covered;
  std::optional<int64_t> max_age_us;
  std::optional<TighterBase> tighter_base;  // absent: the profile's
};

// Changes of an index; absent parts stay.
struct IndexChange {
  std::string name;
  std::optional<std::optional<int64_t>> max_age_us;  // an empty one takes the own age away
  std::optional<TighterBase> tighter_base;
};

struct TableChange {
  std::string name;
  std::vector<FamilySpec> add;
  std::vector<FamilySpec> alter;
  std::vector<std::string> drop;  // their cells are dead at once
  std::vector<IndexSpec> add_indexes;
  std::vector<IndexChange> alter_indexes;
  std::vector<std::string> drop_indexes;
  OptionsChange options;
  bool close_oldest_undo_window = false;  // if a tightening would exceed the limit of windows
  uint64_t expected_version = 0;          // schema version seen by the caller; 0: any
};

// Reverts the newest change of a family's rule that can still be undone (SEMANTICS 5).
struct RuleUndo {
  std::string table;
  std::string family;
  uint64_t expected_version = 0;  // schema version seen by the caller; 0: any
};

// INVALID_ARGUMENT for parts that are invalid for every previous family: its name, the form of its
// rule, a negative duration, contradictory parts.
Result<void> validate_spec(const FamilySpec& family);

// INVALID_ARGUMENT: an invalid family, index or option, or a duplicate family or index.
Result<void> validate_change(const TableChange& change);

// NOT_FOUND: the table, or a family or index to alter or drop. ALREADY_EXISTS: one to add.
Result<void> check_exists(const TableChange& change, const TableMap& tables);

// A dropped table that can still be restored.
struct DroppedTable {
  TableEntry entry;
  DropMark mark;
  uint64_t bytes = 0;  // approximate bytes held for it
};

}  // namespace cellar::engine
