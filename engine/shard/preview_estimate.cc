#include "engine/shard/preview_estimate.h"

#include <algorithm>
#include <cmath>

#include "engine/model/types.h"
#include "engine/retention/change_rule.h"

namespace cellar::engine {
namespace {

// The age above which the rule may hide a cell; kNeverUs: no age.
int64_t first_due_age_us(const StepRule& rule) {
  if (rule.young_rank() != kNoRank) return -1;
  return rule.steps().empty() ? kNeverUs : rule.steps().front().older_than_us;
}

// The rules of the family before the change, at present and after it.
struct Question {
  const FamilySchema& family;  // before
  FamilyRetention before;
  FamilyRetention after;
  size_t families;
  int64_t now_us;
  int64_t due_age_us = kNeverUs;    // above it the rules after the change may hide
  int64_t fatal_age_us = kNeverUs;  // above it the rule after the change hides
  int64_t gone_age_us = kNeverUs;   // above it the rule before the change hides

  Question(const TableSchema& schema, const TableSchema& changed, Bytes name, int64_t now)
      : family(*schema.find_family(name)),
        before(family),
        after(*changed.find_family(name)),
        families(schema.families.size()),
        now_us(now) {
    for (const FamilyRetention::Era& era : after.eras())
      due_age_us = std::min(due_age_us, first_due_age_us(era.rule));
    fatal_age_us = after.rule().fatal_age_us().value_or(kNeverUs);
    gone_age_us = before.rule().fatal_age_us().value_or(kNeverUs);
  }
};

// The fraction of times older than `age_us`, if times are spread evenly over the bounds.
double share_older(const TimeBounds& bounds, int64_t now_us, int64_t age_us) {
  if (age_us < 0) return 1;
  const auto oldest = static_cast<double>(bounds.min_timestamp_us);
  const auto newest = static_cast<double>(bounds.max_timestamp_us);
  const double edge = static_cast<double>(now_us) - static_cast<double>(age_us);
  if (edge <= oldest) return 0;
  if (edge > newest) return 1;
  return (edge - oldest) / (newest - oldest + 1);
}

bool older(int64_t now_us, int64_t timestamp_us, int64_t age_us) {
  return age_us < 0 || now_us - timestamp_us > age_us;
}

// None of the family's cells in it is visible.
bool is_gone(const Question& q, const TimeBounds& b) {
  const bool aged = !b.any_without_expiry || older(q.now_us, b.max_timestamp_us, q.gone_age_us);
  return aged && q.now_us > b.latest_expiry_us;
}

// The rules after the change hide none of its cells. A cell's own expiry replaces every max_age.
bool is_kept(const Question& q, const TimeBounds& b) {
  if (q.due_age_us < 0) return false;
  return !b.any_without_expiry || !older(q.now_us, b.min_timestamp_us, q.due_age_us);
}

bool is_lost(const Question& q, const SourceFacts& source, const TabletContents& tablet) {
  const TimeBounds& b = source.bounds;
  const bool readable = source.counted && q.families == 1 && !tablet.deletes && q.before.single() &&
                        !q.before.counts() && b.latest_expiry_us == INT64_MIN &&
                        source.min_stamp > q.family.created &&
                        !older(q.now_us, b.min_timestamp_us, q.gone_age_us);
  if (!readable || !older(q.now_us, b.max_timestamp_us, q.fatal_age_us)) return false;
  return std::none_of(tablet.sources.begin(), tablet.sources.end(), [&](const SourceFacts& other) {
    if (&other == &source || (other.bounds.known && !other.bounds.has_cells())) return false;
    return !other.bounds.known || (other.bounds.min_timestamp_us <= b.max_timestamp_us &&
                                   other.bounds.max_timestamp_us >= b.min_timestamp_us);
  });
}

// The estimated fraction of the source's cells that are hidden.
double guess(const Question& q, const TimeBounds& b) {
  if (!b.known) return 1;
  const double due = share_older(b, q.now_us, q.due_age_us);
  const double gone = share_older(b, q.now_us, q.gone_age_us);
  return std::max(due - gone, 0.0) / static_cast<double>(q.families);
}

uint64_t part(uint64_t whole, double share) {
  return static_cast<uint64_t>(std::llround(static_cast<double>(whole) * share));
}

void add(const Question& q, const TabletContents& tablet, PreviewReport& report) {
  uint64_t least_rows = 0;  // a lower bound: sources may hold the same rows
  for (const SourceFacts& source : tablet.sources) {
    const TimeBounds& b = source.bounds;
    if (source.cells == 0 || (b.known && (!b.has_cells() || is_gone(q, b) || is_kept(q, b))))
      continue;
    report.most += {source.cells, source.bytes, source.rows};
    if (b.known && is_lost(q, source, tablet)) {
      // A cell's value is preceded by one byte of flags.
      const PreviewCount lost{source.cells, source.bytes - source.cells, 0};
      report.least += lost;
      report.count += lost;
      report.count.rows += source.rows;
      least_rows = std::max(least_rows, source.rows);
      continue;
    }
    const double share = guess(q, b) * source.share;
    report.count +=
        {part(source.cells, share), part(source.bytes, share), part(source.rows, share)};
  }
  report.least.rows += least_rows;
}

void add_memtable(const Memtable& memtable, TabletContents& contents) {
  SourceFacts facts;
  facts.cells = memtable.entries();
  facts.rows = memtable.entries();
  facts.bytes = memtable.content_bytes();
  facts.min_stamp = memtable.min_stamp();
  facts.bounds = memtable.time_bounds();
  contents.deletes |= !facts.bounds.known || facts.bounds.has_deletes();
  contents.sources.push_back(facts);
}

void add_table(const TabletTable& table, TabletContents& contents) {
  const TableMeta& meta = table.meta();
  SourceFacts facts;
  facts.cells = meta.cells;
  facts.rows = meta.rows;
  facts.bytes = meta.key_bytes + meta.value_bytes;
  facts.counted = !table.slice().is_cut() && meta.entries == meta.cells;
  if (table.slice().is_cut() && meta.data_bytes > 0) {
    facts.share = std::min(
        1.0, static_cast<double>(table.slice().bytes()) / static_cast<double>(meta.data_bytes));
  }
  facts.min_stamp = meta.min_stamp;
  facts.bounds = meta.bounds;
  contents.deletes |= meta.deletes() > 0 || meta.range_deletes > 0;
  contents.sources.push_back(facts);
}

}  // namespace

TabletContents contents_of(const Version& version) {
  TabletContents contents;
  for (const auto& memtable : version.memtables) add_memtable(memtable->entries, contents);
  for (const TabletRun& run : version.runs) {
    for (const Ref<TabletTable>& table : run.tables) add_table(*table, contents);
  }
  return contents;
}

uint64_t rows_about(const std::vector<TabletContents>& tablets) {
  uint64_t rows = 0;
  for (const TabletContents& tablet : tablets) {
    for (const SourceFacts& source : tablet.sources) rows += part(source.rows, source.share);
  }
  return rows;
}

PreviewReport estimate_preview(const TableSchema& before, const TableSchema& after, Bytes family,
                               const std::vector<TabletContents>& tablets, int64_t now_us) {
  PreviewReport report;
  report.approximate = true;
  const Question q(before, after, family, now_us);
  // A rule that keeps everything that the rule in force keeps loses nothing, unless it takes back
  // changes together with the cells that they kept.
  if (!can_undo(q.family, now_us) && q.after.rule().keeps_all_of(q.before.rule())) return report;
  for (const TabletContents& tablet : tablets) add(q, tablet, report);
  report.most.rows = std::min(report.most.rows, report.most.cells);
  report.count.cells = std::clamp(report.count.cells, report.least.cells, report.most.cells);
  report.count.bytes = std::clamp(report.count.bytes, report.least.bytes, report.most.bytes);
  report.count.rows = std::clamp(std::min(report.count.rows, report.count.cells), report.least.rows,
                                 report.most.rows);
  return report;
}

}  // namespace cellar::engine
