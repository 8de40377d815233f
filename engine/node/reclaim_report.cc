#include "engine/node/reclaim_report.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <utility>

#include "engine/gc/shard_reclaim.h"
#include "engine/node/tablet_calls.h"

namespace cellar::engine {
namespace {

ReclaimReason reason_of(PinnedFile::By by) {
  if (by == PinnedFile::By::readers) return ReclaimReason::pinned_by_readers;
  if (by == PinnedFile::By::backup) return ReclaimReason::pinned_by_backup;
  return ReclaimReason::not_removed;
}

ReclaimFile file_of(const PinnedFile& pinned) {
  ReclaimFile file;
  file.tablet = pinned.blob.tablet;
  file.blob = pinned.blob.id;
  file.bytes = file.dead_bytes = pinned.blob.bytes;
  file.wholly_dead = true;
  file.since_us = pinned.blob.since_us;
  file.count = pinned.readers;
  file.reason = reason_of(pinned.by);
  file.error = pinned.error;
  return file;
}

std::vector<ReclaimReasonSum> sums_of(const WorstFiles& files) {
  std::vector<ReclaimReasonSum> sums;
  for (size_t i = 1; i < kReclaimReasons; ++i) {
    const auto reason = static_cast<ReclaimReason>(i);
    const WorstFiles::Sum& of = files.of(reason);
    if (of.files == 0) continue;
    sums.push_back({reason, of.files, of.bytes, of.dead_bytes, of.overdue_bytes});
  }
  std::sort(sums.begin(), sums.end(), [](const ReclaimReasonSum& a, const ReclaimReasonSum& b) {
    return std::pair(a.overdue_bytes, a.dead_bytes) > std::pair(b.overdue_bytes, b.dead_bytes);
  });
  return sums;
}

// Adds up the shards' figures of the requested tables.
class Sum {
 public:
  Sum(ReclaimReport& report, size_t files) : report_(report), files_(files) {}

  void add_table(const TableEntry& entry, int64_t margin_us) {
    TableReclaim& table = report_.tables.emplace_back();
    const TableOptions& options = entry.schema.options;
    table.id = entry.schema.id;
    table.name = entry.schema.name;
    table.reclaim_within_us = options.reclaim_within_us;
    table.margin_us = margin_us;
    table.dead_slack = options.dead_slack;
    table.reclaim_share = options.reclaim_share;
    for (const TabletDescriptor& tablet : entry.tablets) {
      table_of_[tablet.id] = report_.tables.size() - 1;
    }
    by_id_[table.id] = report_.tables.size() - 1;
  }

  void add_shard(ShardReclaim part) {
    ReclaimFigures& shard = report_.shards.emplace_back();
    for (const auto& [tablet, figures] : part.figures) {
      shard.add(figures);
      report_.tables[table_of_.at(tablet)].figures.add(figures);
    }
    files_.merge(std::move(part.files));
    cut_.insert(cut_.end(), part.cut.begin(), part.cut.end());
    for (const PinnedFile& file : part.pinned) add_pinned(file, shard);
  }

  void finish() {
    for (ReclaimFile& file : shared_leftovers(std::move(cut_))) files_.add(std::move(file));
    for (TableReclaim& table : report_.tables) {
      table.missed_since_us = missed_since_us(table.figures, table.dead_slack, report_.now_us);
    }
    report_.reasons = sums_of(files_);
    report_.files_there = files_.there();
    report_.files = files_.take();
  }

 private:
  void add_pinned(const PinnedFile& pinned, ReclaimFigures& shard) {
    const auto it = by_id_.find(pinned.blob.table);
    if (it == by_id_.end()) return;  // of a table that was dropped or not requested
    TableReclaim& table = report_.tables[it->second];
    ReclaimFigures figures;
    figures.pinned_bytes = pinned.blob.bytes;
    figures.file_due_us = due_us(pinned.blob.since_us, table.reclaim_within_us, table.margin_us);
    shard.add(figures);
    table.figures.add(figures);
    files_.add(file_of(pinned));
  }

  ReclaimReport& report_;
  WorstFiles files_;
  std::vector<CutTable> cut_;
  absl::flat_hash_map<TabletId, size_t> table_of_;
  absl::flat_hash_map<TableId, size_t> by_id_;
};

}  // namespace

Async<Result<ReclaimReport>> TabletCalls::reclaim_report(ShardId from, ReclaimQuestion question) {
  const TableMap map = shards_.part(from).tables;  // a copy: the map may change meanwhile
  if (question.table != TableId{} && map.find(question.table) == nullptr) {
    co_return fail(Errc::not_found, "table {} does not exist", question.table);
  }
  ReclaimReport report;
  Sum sum(report, std::min(question.files, kMaxReclaimFiles));
  TabletsByShard ids(shards_.count());
  for (const auto& [name, entry] : map.tables()) {
    if (question.table != TableId{} && entry->schema.id != question.table) continue;
    sum.add_table(*entry, margin_us_);
    for (const TabletDescriptor& tablet : entry->tablets) {
      ids[tablet.shard.value()].push_back(tablet.id);
    }
  }
  for (uint32_t i = 0; i < shards_.count(); ++i) {
    auto there = [this, &ids, shard = ShardId{i}, files = question.files]() -> Async<ShardReclaim> {
      ShardReclaim found = co_await shards_.engine(shard).shard_reclaim(ids[shard.value()], files);
      if (shard == kHomeShard) add_kept_files(home_deleter_, found.pinned);
      co_return found;
    };
    sum.add_shard(co_await shards_.mailbox(from).call_on(ShardId{i}, std::move(there)));
  }
  report.now_us = shards_.env(from).runtime.clock.now_us();
  sum.finish();
  co_return report;
}

}  // namespace cellar::engine
