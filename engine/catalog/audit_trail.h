// AuditTrail: the changes of schemas and rules that the node remembers, oldest first. Lives on
// shard 0, beside the catalog, and is used under the catalog's lock: a change plans the edit of its
// entries, commits it together with its own, and tells when that went through. So an entry is on
// disk if and only if its change is.
//
// Bounded: the oldest entries go, in the edit that adds newer ones, while there are more than
// kMaxAuditEntries or they take more than kMaxAuditBytes.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "engine/manifest/audit_entry.h"
#include "engine/model/schema.h"

namespace cellar::engine {

inline constexpr size_t kMaxAuditEntries = 10'000;
inline constexpr size_t kMaxAuditBytes = 4u << 20;   // as they are encoded
inline constexpr size_t kMaxAuditPage = 1'000;       // entries of one answer
inline constexpr size_t kAuditPageBytes = 1u << 20;  // after which a page ends

// Entries, newest first.
struct AuditQuery {
  std::string table;     // of the table that has or had this name; empty: of all
  int64_t since_us = 0;  // not older
  uint64_t before = 0;   // only lower sequence numbers; 0: from the newest on
  size_t limit = 100;    // 1 to kMaxAuditPage
};
struct AuditPage {
  std::vector<AuditEntry> entries;
  uint64_t next_before = 0;  // to go on with; 0: there are no more
  uint64_t oldest = 0;  // that is remembered of all; entries before have gone. 0: there is none
};

class AuditTrail {
 public:
  // From what the manifest has.
  static Result<AuditTrail> decode(const SubjectState& subject);

  struct Addition {
    SubjectEdit edit;
    std::vector<AuditEntry> entries;  // numbered
    size_t leaving = 0;               // of the oldest
    AuditState state;
  };
  Addition plan(std::vector<AuditEntry> entries) const;
  // The edit went through with this version.
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

// What a change of a table is, said as entries of the audit trail: one for the table where it is
// made or its options differ, one for each family that is made, goes or differs.

// An entry about the table itself, without details.
AuditEntry entry_about(AuditAction action, const TableSchema& schema);
std::vector<AuditEntry> describe_creation(const TableSchema& schema);
// What a change of a rule made of the history is not said.
std::vector<AuditEntry> describe_alteration(const TableSchema& before, const TableSchema& after);
// The rule in force may be the same: only the past of what it hides is another then.
std::vector<AuditEntry> describe_undo(const TableSchema& before, const TableSchema& after,
                                      Bytes family);

}  // namespace cellar::engine
