// What every merge of a tablet's data has in common.
#pragma once

#include "engine/compaction/plan.h"
#include "engine/tablet/tablet.h"

namespace cellar::engine {

// A plan without inputs, for a merge of some neighbours among the sources of `version`, which is
// the tablet's: so many of the newest are not among them, then so many are. Sources are the
// memtables and then the runs, newest first. REQUIRES: tablet.rules_are_known().
MergePlan plan_merge(Tablet& tablet, const Version& version, size_t newer, size_t inputs);

// The schema was changed since such a plan was made, perhaps at an instant that it took for past:
// what came of it is not installed.
bool is_outdated(const MergeFacts& facts, const Tablet& tablet);

}  // namespace cellar::engine
