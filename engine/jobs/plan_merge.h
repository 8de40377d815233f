// The common part of all merges of a tablet's data.
#pragma once

#include "engine/compaction/plan.h"
#include "engine/tablet/tablet.h"

namespace cellar::engine {

// A plan without inputs, for a merge of neighbouring sources of `version`, the tablet's: skips the
// `newer` newest sources, then takes `inputs`. Sources are the memtables and then the runs, newest
// first. REQUIRES: tablet.rule_hold().rules_are_known().
MergePlan plan_merge(Tablet& tablet, const Version& version, size_t newer, size_t inputs);

// The schema has changed since the plan was made, possibly at an instant that the plan considered
// past: its result is not installed.
bool is_outdated(const MergeFacts& facts, const Tablet& tablet);

}  // namespace cellar::engine
