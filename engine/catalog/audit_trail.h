// AuditTrail: the recorded changes of schemas and rules, oldest first. On shard 0, beside the
// catalog and under its lock: a change plans the edit of its entries, commits it together with its
// own, and reports success. An entry is therefore on disk if and only if its change is.
//
// Bounded: beyond kMaxAuditEntries or kMaxAuditBytes the oldest entries are removed in the edit
// that adds newer ones.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "engine/manifest/audit_entry.h"
#include "engine/model/schema.h"

namespace cellar::engine {

inline constexpr size_t kMaxAuditEntries = 10'000;
inline constexpr size_t kMaxAuditBytes = 4u << 20;   // encoded size
inline constexpr size_t kMaxAuditPage = 1'000;       // entries per answer
inline constexpr size_t kAuditPageBytes = 1u << 20;  // a page ends after this size

// A query for entries, newest first.
struct AuditQuery {
  std::string table;     // name of the table, also a former one; empty: all
  int64_t since_us = 0;  // lower bound of the time
  uint64_t before = 0;   // only lower sequence numbers; 0: start at the newest
  size_t limit = 100;    // 1 to kMaxAuditPage
};
struct AuditPage {
  std::vector<AuditEntry> entries;
  uint64_t next_before = 0;  // for the next page; 0: no more
  uint64_t oldest = 0;       // oldest sequence number still recorded; 0: none
};

class AuditTrail {
 public:
  static Result<AuditTrail> decode(const ManifestEntry& entry);

  struct Addition {
    VersionEdit edit;
    std::vector<AuditEntry> entries;  // numbered
    size_t leaving = 0;               // number of oldest entries to remove
    AuditState state;
  };
  Addition plan(std::vector<AuditEntry> entries) const;
  // The edit succeeded with this version.
  void written(Addition addition, uint64_t version);

  AuditPage read(const AuditQuery& query) const;
  size_t size() const { return entries_.size(); }

 private:
  struct Kept {
    AuditEntry entry;
    size_t bytes = 0;
  };
  uint64_t version_ = kAbsent;
  AuditState state_;
  std::deque<Kept> entries_;  // oldest first
  size_t bytes_ = 0;
};

// Describes a change of a table as audit entries: one for the table if it is created or its options
// change, one per family or index created, dropped or changed.

// An entry about the table, without details.
AuditEntry entry_about(AuditAction action, const TableSchema& schema);
std::vector<AuditEntry> describe_creation(const TableSchema& schema);
// Effects on the rule history are not described.
std::vector<AuditEntry> describe_alteration(const TableSchema& before, const TableSchema& after);
// The rule in force may be unchanged if only the history changes.
std::vector<AuditEntry> describe_undo(const TableSchema& before, const TableSchema& after,
                                      Bytes family);

}  // namespace cellar::engine
