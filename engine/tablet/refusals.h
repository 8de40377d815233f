// Errors with which a shard or a tablet refuses a write, with retry hints. Nothing of such a write
// was applied. The refusal of a read-only shard is ShardLog::refusal(), those of invalid mutations
// in engine/model.
#pragma once

#include "engine/model/types.h"
#include "io/base/bytes.h"
#include "io/base/result.h"
#include "io/loop/mailbox.h"

namespace cellar::engine {

struct MemtableBudget;  // memtable_budget.h

// ABORTED: the table was dropped, or its rows have moved to other tablets.
Error tablet_is_gone(TabletId tablet);
// ABORTED, with a hint: its rows are moving to other tablets.
Error tablet_is_reshaped(TabletId tablet);
// ABORTED, with a hint: reads wait until a change of a rule is in force or called off.
Error rule_is_changed(TabletId tablet);
// ABORTED: the caller's table map is outdated.
Error row_is_elsewhere(Bytes row, TabletId tablet);
// RESOURCE_EXHAUSTED, with a hint: merges drop range deletes.
Error range_deletes_are_full(TabletId tablet, uint64_t bytes, uint64_t most_bytes);
// RESOURCE_EXHAUSTED, with a hint. Includes the error of a failing flush, such as a full disk, for
// which more memory would not help.
Error memtables_are_full(ShardId shard, const MemtableBudget& memory);

}  // namespace cellar::engine
