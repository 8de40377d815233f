// What a table is made of and what changes it, as it is asked for: families with the parts that are
// named, the rest taken from the table's profile or left as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/catalog/table_map.h"
#include "engine/manifest/table_state.h"
#include "engine/model/schema.h"

namespace cellar::engine {

// A family to be made, where what is absent takes the default of the table's profile (SEMANTICS 8);
// or changes of one, where what is absent stays.
struct FamilySpec {
  std::string name;
  std::optional<RetentionRule> rule = {};  // an empty one: keep everything
  std::optional<TimestampMeaning> timestamps = {};
  std::optional<BornDead> born_dead = {};
  std::optional<WriteWindow> window = {};  // both sides and the unit
  std::optional<int64_t> undo_window_us = {};

  // Named parts replace those of `family`; its name stays. What the profile gave and the meaning of
  // the timestamps forbids is dropped.
  void apply_to(FamilySchema& family) const;
  // The family that this makes in a table with the profile.
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

// What is absent stays as it is.
struct OptionsChange {
  std::optional<Durability> durability;
  std::optional<Compression> compression;  // of tables written from now on
  std::optional<uint32_t> block_bytes;     // likewise
  std::optional<int64_t> reclaim_within_us;
  std::optional<double> dead_slack;
  std::optional<double> reclaim_share;
  std::optional<Compaction> compaction;                 // of merges from now on
  std::optional<BottomCompression> bottom_compression;  // likewise
  void apply_to(TableOptions& options) const;
};

struct TableChange {
  std::string name;
  std::vector<FamilySpec> add;
  std::vector<FamilySpec> alter;
  std::vector<std::string> drop;  // their cells are dead at once
  OptionsChange options;
  bool close_oldest_undo_window = false;  // where a tightening would open one too many
};

// Takes the newest change of a family's rule back that can still be undone (SEMANTICS 5).
struct RuleUndo {
  std::string table;
  std::string family;
  uint64_t expected_version = 0;  // of the schema, as the caller saw it; 0: any
};

// INVALID_ARGUMENT for what cannot be whatever the family was before: its name, the form of its
// rule, a negative duration, parts that are named together and forbid each other.
Result<void> validate_spec(const FamilySpec& family);

// INVALID_ARGUMENT: a family or an option that cannot be, a family named twice.
Result<void> validate_change(const TableChange& change);

// FAILED_PRECONDITION: an option that a data directory of this format (store/format_file.h) does
// not know. What the table had `before` stays: earlier programs have written `compaction` into
// directories of format 1, and no table is lost for it.
Result<void> check_format(const TableOptions& options, uint32_t format,
                          const TableOptions& before = {});
// The same, but that what such a directory does not know is automatic.
TableOptions known_to_format(TableOptions options, uint32_t format);

// NOT_FOUND: the table, or a family to alter or drop. ALREADY_EXISTS: a family to add.
Result<void> check_exists(const TableChange& change, const TableMap& tables);

// A table that was dropped and can still be restored.
struct DroppedTable {
  TableEntry entry;
  DropMark mark;
  uint64_t bytes = 0;  // about as many are held for it
};

}  // namespace cellar::engine
