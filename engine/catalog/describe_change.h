// What a change of a table is, said as entries of the audit trail: one for the table where it is
// made or its options differ, one for each family that is made, goes or differs.
#pragma once

#include <vector>

#include "engine/manifest/audit_entry.h"
#include "engine/model/schema.h"

namespace cellar::engine {

// An entry about the table itself, without details.
AuditEntry entry_about(AuditAction action, const TableSchema& schema);
std::vector<AuditEntry> describe_creation(const TableSchema& schema);
// What a change of a rule made of the history is not said.
std::vector<AuditEntry> describe_alteration(const TableSchema& before, const TableSchema& after);
// The rule in force may be the same: only the past of what it hides is another then.
std::vector<AuditEntry> describe_undo(const TableSchema& before, const TableSchema& after,
                                      Bytes family);

}  // namespace cellar::engine
