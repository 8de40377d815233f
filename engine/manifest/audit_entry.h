// AuditEntry: one change of a table's schema or rules: author, time, old and new values. The audit
// trail is one key of the manifest, each entry an item under its sequence number; it is written
// in the same edit as the change. See FORMATS.md, "Audit trail".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/retention_rule.h"
#include "engine/model/types.h"
#include "engine/store/manifest_store.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::engine {

// The author of a change, as known to the node.
struct Author {
  std::string client;   // its own name; empty: none given
  std::string address;  // empty: the node itself

  bool operator==(const Author&) const = default;
};

enum class AuditAction : uint8_t {  // on disk and on the wire
  create_table = 1,
  drop_table = 2,
  restore_table = 3,
  alter_table = 4,  // table options
  add_family = 5,
  alter_family = 6,
  drop_family = 7,
  undo_rule = 8,
  // The first detail is `index`, its name before and after the change.
  create_index = 9,
  alter_index = 10,
  drop_index = 11,
};

// A property by its name in the schema, unit last; old and new value, numbers in decimal. Empty:
// absent.
struct AuditDetail {
  std::string name;
  std::string before;
  std::string after;

  bool operator==(const AuditDetail&) const = default;
};

struct AuditEntry {
  static constexpr uint8_t kVersion = 1;

  uint64_t sequence = 0;  // counts from 1, over all tables; the item's number
  int64_t at_us = 0;      // trusted time
  AuditAction action = AuditAction::create_table;
  Author by;
  TableId table_id;
  uint64_t schema_version = 0;  // after the change
  std::string table;
  std::string family;  // or that of the index; empty: the table changed
  // For a family: the rule before and after the change, if any.
  std::optional<RetentionRule> old_rule;
  std::optional<RetentionRule> new_rule;
  std::vector<AuditDetail> details;  // the other differences

  bool operator==(const AuditEntry&) const = default;
};

// The key's state: the number of the next entry, never reused.
struct AuditState {
  static constexpr uint8_t kVersion = 1;
  uint64_t next_sequence = 1;
};

inline constexpr ManifestKey kAuditKey{ManifestKey::Kind::audit, 0};

// Without the sequence number. Decoding returns DATA_LOSS for invalid bytes and FAILED_PRECONDITION
// for another version.
std::string encode_audit_entry(const AuditEntry& entry);
Result<AuditEntry> decode_audit_entry(uint64_t sequence, Bytes encoded);
std::string encode_audit_state(const AuditState& state);
Result<AuditState> decode_audit_state(Bytes encoded);

}  // namespace cellar::engine
