// AuditEntry: who changed what of a table's schema or rules, when, and from what to what. The trail
// of them is one subject of the manifest, each entry an item under its sequence number; an entry is
// written in the same edit as the change that it tells of. See FORMATS.md, "Audit trail".
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

// Who asks for a change, as the node knows it.
struct Author {
  std::string client;   // the name that it gave itself; empty: none was given
  std::string address;  // where it comes from; empty: the node itself

  bool operator==(const Author&) const = default;
};

enum class AuditAction : uint8_t {  // on disk and on the wire
  create_table = 1,
  drop_table = 2,
  restore_table = 3,
  alter_table = 4,  // its options
  add_family = 5,
  alter_family = 6,
  drop_family = 7,
  undo_rule = 8,
};

// A property by the name that it has in the schema, units last; what it was and what it is, numbers
// in decimal. Empty: it was not there.
struct AuditDetail {
  std::string name;
  std::string before;
  std::string after;

  bool operator==(const AuditDetail&) const = default;
};

struct AuditEntry {
  static constexpr uint8_t kVersion = 1;

  uint64_t sequence = 0;  // counts up from 1, over all tables; the item's number
  int64_t at_us = 0;      // trusted time
  AuditAction action = AuditAction::create_table;
  Author by;
  TableId table_id;
  uint64_t schema_version = 0;  // after the change
  std::string table;
  std::string family;  // empty: the change is of the table
  // Of a family: the rule before and after, where there is a before and an after.
  std::optional<RetentionRule> old_rule;
  std::optional<RetentionRule> new_rule;
  std::vector<AuditDetail> details;  // what else is different

  bool operator==(const AuditEntry&) const = default;
};

// The subject's state: the number of the next entry, which is never used twice.
struct AuditState {
  static constexpr uint8_t kVersion = 1;
  uint64_t next_sequence = 1;
};

inline constexpr Subject kAuditSubject{Subject::Kind::audit, 0};

// Without the sequence number. Decoding answers DATA_LOSS for bytes that are none and
// FAILED_PRECONDITION for those of a newer program.
std::string encode_audit_entry(const AuditEntry& entry);
Result<AuditEntry> decode_audit_entry(uint64_t sequence, Bytes encoded);
std::string encode_audit_state(const AuditState& state);
Result<AuditState> decode_audit_state(Bytes encoded);

}  // namespace cellar::engine
