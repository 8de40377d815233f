#include "engine/jobs/plan_merge.h"

#include <algorithm>

#include "io/base/check.h"

namespace cellar::engine {
namespace {

// The facts about one source that a merge needs.
struct SourceFacts {
  TimeBounds bounds;
  CommitStamp min_stamp = kMaxStamp;
  CommitStamp gc_watermark = kMaxStamp;
};

std::vector<SourceFacts> sources_of(const Version& version) {
  std::vector<SourceFacts> sources;
  for (const auto& memtable : version.memtables) {
    const Memtable& entries = memtable->entries;
    sources.push_back({entries.time_bounds(), entries.min_stamp(), CommitStamp{}});
  }
  for (const TabletRun& run : version.runs) {
    SourceFacts facts;
    for (const Ref<TabletTable>& table : run.tables) {
      facts.bounds.merge(table->meta().bounds);
      facts.min_stamp = std::min(facts.min_stamp, table->meta().min_stamp);
      facts.gc_watermark = std::min(facts.gc_watermark, table->meta().watermark());
    }
    sources.push_back(facts);
  }
  return sources;
}

bool may_expire(const TimeBounds& bounds) {
  return !bounds.known || bounds.latest_expiry_us != INT64_MIN;
}

// Adds a source that is older than the inputs.
void add_older(MergeFacts& facts, const TimeBounds& bounds) {
  facts.older_expiry |= may_expire(bounds);
  facts.older_min_us = std::min(facts.older_min_us, bounds.known ? bounds.min_timestamp_us : 0);
  facts.older_max_us =
      std::max(facts.older_max_us, bounds.known ? bounds.max_timestamp_us : INT64_MAX);
}

}  // namespace

MergePlan plan_merge(Tablet& tablet, const Version& version, size_t newer, size_t inputs) {
  CHECK(tablet.rule_hold().rules_are_known(),
        "a merge of tablet {} is planned amid a change of its rules", tablet.id());
  const ShardContext& shard = tablet.shard();
  MergePlan plan;
  plan.schema = tablet.schema();
  plan.tablet = tablet.id();
  plan.tablet_start = tablet.state().start;
  plan.tablet_end = tablet.state().end;
  plan.table_bytes = shard.options.table_bytes;
  plan.tablet_gc_watermark = gc_watermark_of(version);

  const std::vector<SourceFacts> sources = sources_of(version);
  MergeFacts& facts = plan.facts;
  facts.now_us = std::max(tablet.shard().runtime.clock.now_us(),
                          static_cast<int64_t>(tablet.last_stamp().value() / 1000));
  facts.schema_version = plan.schema.version;
  facts.margin_us = shard.options.removal_margin_us;
  facts.bottom = newer + inputs >= sources.size();
  facts.any_expiry = facts.older_expiry = false;
  facts.older_min_us = INT64_MAX;
  facts.older_max_us = INT64_MIN;
  plan.inputs_gc_watermark = kMaxStamp;
  for (size_t i = 0; i < sources.size(); ++i) {
    const SourceFacts& source = sources[i];
    facts.any_expiry |= may_expire(source.bounds);
    if (i < newer) {
      facts.newer_from = std::min(facts.newer_from, source.min_stamp);
    } else if (i < newer + inputs) {
      plan.inputs_gc_watermark = std::min(plan.inputs_gc_watermark, source.gc_watermark);
    } else {
      add_older(facts, source.bounds);
    }
  }
  return plan;
}

bool is_outdated(const MergeFacts& facts, const Tablet& tablet) {
  return tablet.schema().version != facts.schema_version;
}

}  // namespace cellar::engine
