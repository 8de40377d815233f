// What every merge of a tablet's data has in common.
#pragma once

#include "engine/compaction/plan.h"
#include "engine/tablet.h"

namespace cellar::engine {

// A plan without inputs.
inline MergePlan plan_merge(Tablet& tablet) {
  MergePlan plan;
  plan.schema = tablet.schema();
  plan.trusted_now_us = tablet.shard().runtime.clock.now_us();
  plan.tablet = tablet.id();
  plan.tablet_start = tablet.state().start;
  plan.tablet_end = tablet.state().end;
  plan.table_bytes = tablet.shard().options.table_bytes;
  return plan;
}

}  // namespace cellar::engine
