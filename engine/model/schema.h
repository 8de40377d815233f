// The schema of a table: families, granularity, options. Immutable once published; a change makes a
// new one with version + 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/index_schema.h"
#include "engine/model/retention_rule.h"
#include "engine/model/types.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar {

// What a timestamp means in a family (SEMANTICS 4). Numbers are on disk and on the wire.
enum class TimestampMeaning : uint8_t { time = 0, expiry = 1, sequence = 2 };
// The treatment of a write that would be dead on arrival.
enum class BornDead : uint8_t { refuse = 0, accept = 1 };

// Timestamps allowed in a write, relative to now; an absent side is unbounded.
struct WriteWindow {
  enum class Unit : uint8_t { exact = 0, seconds = 1 };
  std::optional<int64_t> past_us;
  std::optional<int64_t> future_us;
  Unit unit = Unit::exact;  // seconds: both sides are rounded down to seconds and compared

  bool operator==(const WriteWindow&) const = default;
};

inline constexpr int64_t kDefaultUndoWindowUs = 86'400'000'000;  // 24 h

// A rule that was replaced.
struct PastRule {
  RetentionRule rule;
  CommitStamp until;  // stamp of the change; the next rule is in force from it on
  // Trusted time until which the change may be undone; 0: never. See retention/change_rule.h.
  int64_t undo_until_us = 0;

  bool can_be_undone(int64_t now_us) const { return undo_until_us != 0 && now_us <= undo_until_us; }
  bool operator==(const PastRule&) const = default;
};

inline constexpr size_t kMaxUndoWindows = 8;  // open at a time, per family
inline constexpr size_t kMaxPastRules = 64;   // remembered, per family

// Parts of a family that come from its table's profile and have not been set by a request. If
// another meaning of `timestamps` forbids such a part, it is dropped; a part that was set makes the
// alteration fail instead (SEMANTICS 8).
struct ProfileParts {
  bool born_dead = false;
  bool window = false;

  bool operator==(const ProfileParts&) const = default;
};

// One family. `created` hides cells of an earlier family of the same name: cells committed at or
// before it are dead.
//
// The fields after `created` are its retention: the rule, the meaning of timestamps, and what is
// refused (SEMANTICS 3 to 5).
struct FamilySchema {
  std::string name;
  CommitStamp created;
  RetentionRule rule = {};
  TimestampMeaning timestamps = TimestampMeaning::time;
  BornDead born_dead = BornDead::refuse;
  WriteWindow window = {};
  ProfileParts from_profile = {};
  int64_t undo_window_us = kDefaultUndoWindowUs;
  std::vector<PastRule> history = {};  // oldest first, ascending `until`

  bool operator==(const FamilySchema&) const = default;
};

inline constexpr size_t kMaxFamilies = 1000;
inline constexpr uint32_t kMinBlockBytes = 1024;  // before compression
inline constexpr uint32_t kMaxBlockBytes = 1u << 20;

// Compression of blocks on disk. Numbers are on disk and on the wire; zstd occurs in files but is
// not a table option: see BottomCompression.
enum class Compression : uint8_t { none = 0, lz4 = 1, zstd = 2 };

// Compression of the output of bottommost merges (engine/jobs/output_format.h): Zstandard if
// it pays, as `compression` says, or Zstandard whenever it saves bytes. Numbers are on disk and on
// the wire.
enum class BottomCompression : uint8_t { automatic = 0, same = 1, zstd = 2 };

// Strategy that selects the runs of a tablet to merge (engine/compaction/strategy.h): automatic by
// rules and data, or named. Numbers are on disk and on the wire.
enum class Compaction : uint8_t { automatic = 0, tiered = 1, time_window = 2 };

inline constexpr int64_t kMinReclaimWithinUs = 1'000'000;

struct TableOptions {
  Durability durability = Durability::sync;
  Compression compression = Compression::lz4;
  uint32_t block_bytes = 4096;  // kMinBlockBytes to kMaxBlockBytes, before compression
  // How fast dead bytes leave the disk (SEMANTICS 3).
  int64_t reclaim_within_us = 3'600'000'000;  // at least kMinReclaimWithinUs
  double dead_slack = 0.1;                    // a share of live bytes: 0 to 1
  double reclaim_share = 0.25;                // of the disk's write rate: above 0, to 1
  Compaction compaction = Compaction::automatic;
  BottomCompression bottom_compression = BottomCompression::automatic;

  bool operator==(const TableOptions&) const = default;
};

// Defaults of families (SEMANTICS 8). Numbers are on disk and on the wire.
enum class Profile : uint8_t { none = 0, bigtable = 1, tablestore = 2 };

struct TableSchema {
  TableId id;
  std::string name;
  uint64_t version = 1;
  Granularity granularity = Granularity::millis;
  Profile profile = Profile::none;
  TableOptions options;
  std::vector<FamilySchema> families;  // sorted by name
  std::vector<IndexSchema> indexes;    // sorted by name
  uint64_t next_index = 1;             // id of the next index

  const IndexSchema* find_index(Bytes index_name) const;
  const FamilySchema* find_family(Bytes family_name) const;
  FamilySchema* find_family(Bytes family_name);
};

// INVALID_ARGUMENT with the fault: names outside [_a-zA-Z0-9][-_.a-zA-Z0-9]{0,49} and
// [-_.a-zA-Z0-9]{1,64} (cases/README), options outside their bounds, a duplicate family.
Result<void> validate_table_name(Bytes name);
Result<void> validate_family_name(Bytes name);
Result<void> validate_options(const TableOptions& options);
// Also for a malformed rule, write window or born_dead setting, one that the family's `timestamps`
// forbid, and a negative duration.
Result<void> validate_family(const FamilySchema& family);
Result<void> validate_schema(const TableSchema& schema);

// For the manifest; see FORMATS.md. decode returns DATA_LOSS for invalid bytes and
// FAILED_PRECONDITION for another format.
std::string encode_schema(const TableSchema& schema);
Result<TableSchema> decode_schema(Bytes encoded);

}  // namespace cellar
