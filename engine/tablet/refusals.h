// Why a shard or one of its tablets does not take a write: the words that a user is shown and the
// hint by which a client tries again. Nothing of such a write was applied. That of a read-only
// shard is in shard_context.h, those of a mutation's own faults in engine/model.
#pragma once

#include "engine/model/types.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::engine {

struct ShardContext;

// ABORTED: the table was dropped, or its rows are in other tablets now.
Error tablet_is_gone(TabletId tablet);
// ABORTED, with a hint: its rows are about to be in other tablets.
Error tablet_is_reshaped(TabletId tablet);
// UNAVAILABLE, with a hint: a rule that refuses the write is about to be in force.
Error rule_is_changed(TabletId tablet);
// ABORTED: the caller's map of tablets is old.
Error row_is_elsewhere(Bytes row, TabletId tablet);
// RESOURCE_EXHAUSTED, with a hint. Where flushing fails it says why: above all that the disk is
// full, for then more memory would not help.
Error memtables_are_full(const ShardContext& shard);

}  // namespace cellar::engine
