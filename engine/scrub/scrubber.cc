#include "engine/scrub/scrubber.h"

#include <algorithm>
#include <utility>

#include "engine/manifest/states.h"
#include "engine/store/blob/blob_files.h"
#include "io/base/log.h"

namespace cellar::engine {
namespace {

template <class Visit>
void for_each_table(const Tablet& tablet, Visit visit) {
  for (const TabletRun& run : tablet.version().runs) {
    for (const Ref<TabletTable>& table : run.tables) visit(*table);
  }
}

}  // namespace

Scrubber::Scrubber(ShardContext& shard, const TabletTableOfShard& tablets, uint32_t shards)
    : shard_(shard),
      tablets_(tablets),
      shards_(shards),
      work_(shard.background, BackgroundKind::merge),
      alarm_(
          shard.runtime.timers,
          [](void* wake) { static_cast<ConditionVariable*>(wake)->notify_all(); }, &wake_) {}

void Scrubber::start() {
  if (every_us() == 0) return;
  started_us_ = now_us();
  spawn(shard_.runtime.executor, run());
}

Async<void> Scrubber::stop() {
  stopping_ = true;
  wake_.notify_all();
  co_await loop_.close();
}

// ---- figures

VerifiedFigures Scrubber::figures(const Tablet& tablet) const {
  VerifiedFigures figures;
  const int64_t from_us = every_us() == 0 ? INT64_MAX : now_us() - every_us();
  for_each_table(tablet, [&](const TabletTable& table) {
    const int64_t at_us = table.item().verified_us;
    figures.since_us = std::min(figures.since_us, at_us);
    if (at_us != 0 && at_us >= from_us) figures.bytes += table.slice().bytes();
    figures.damaged += is_damaged(table) ? 1 : 0;
  });
  return figures;
}

ScrubFigures Scrubber::figures() const {
  ScrubFigures figures = figures_;
  for (const auto& [id, tablet] : tablets_) {
    for_each_table(*tablet, [&](const TabletTable& table) {
      figures.damaged_tables += is_damaged(table) ? 1 : 0;
    });
  }
  return figures;
}

// ---- the order

// A table without a time, or with one that only a wrong clock can have given, becomes due at the
// start.
int64_t Scrubber::since_us(const TabletTable& table) const {
  int64_t since_us = table.item().verified_us;
  if (since_us == 0 || since_us > now_us() + every_us()) {
    since_us = started_us_ - every_us() / kYoungShare;
  }
  const int64_t young_us = every_us() / kYoungShare;
  const auto after = [&](const absl::flat_hash_map<BlobId, int64_t>& tried, int64_t pause_us) {
    const auto at = tried.find(table.blob());
    if (at == tried.end()) return;
    since_us = std::max(since_us, at->second + std::min(pause_us, young_us) - young_us);
  };
  after(found_, kRetryUs);
  after(unreached_, kUnreachableUs);
  return since_us;
}

void Scrubber::add_tables(const Tablet& tablet,
                          absl::flat_hash_map<BlobId, Target>& targets) const {
  for_each_table(tablet, [&](const TabletTable& table) {
    if (table.slice().table().is_lost()) return;  // its index is lost
    const int64_t since = since_us(table);
    Target& target = targets.try_emplace(table.blob(), Target{table.blob(), since}).first->second;
    target.since_us = std::min(target.since_us, since);
    target.tablets.push_back(tablet.id());
  });
}

Async<void> Scrubber::list() {
  std::vector<TabletId> ids;
  for (const auto& [id, tablet] : tablets_) ids.push_back(id);
  std::ranges::sort(ids);
  absl::flat_hash_map<BlobId, Target> targets;
  size_t looked_at = 0;
  for (const TabletId id : ids) {
    const auto it = tablets_.find(id);
    if (it != tablets_.end()) add_tables(*it->second, targets);
    if (++looked_at % kTabletsAtOnce == 0) co_await yield_now();
  }
  const auto is_gone = [&](const auto& one) { return !targets.contains(one.first); };
  absl::erase_if(found_, is_gone);
  absl::erase_if(unreached_, is_gone);
  queue_.clear();
  for (auto& [blob, target] : targets) queue_.push_back(std::move(target));
  std::ranges::sort(queue_, [](const Target& a, const Target& b) {
    return std::pair(a.since_us, a.blob) < std::pair(b.since_us, b.blob);
  });
  const auto bytes = static_cast<double>(shard_.files.open_tables.file_bytes());
  const double wanted = bytes * kLateShare / static_cast<double>(every_us());
  const double per_second = 1e6 * shards_;
  rate_ = std::clamp(wanted, kLeastRate / per_second, kMostRate / per_second);
}

Async<void> Scrubber::run() {
  auto pass = loop_.enter();
  budget_.earn(0, shard_.runtime.timers.now_us());
  while (pass && !stopping_) {
    if (queue_.empty()) co_await list();
    const int64_t young_us = every_us() / kYoungShare;
    const int64_t due_us = queue_.empty() ? INT64_MAX : queue_.front().since_us + young_us;
    const int64_t now = now_us();
    if (due_us > now) {
      queue_.clear();
      const int64_t most_us = std::clamp(young_us / kLooksWithin, kLeastWaitUs, kMostWaitUs);
      co_await sleep(std::clamp(due_us - now, kLeastWaitUs, most_us));
      continue;
    }
    Target target = std::move(queue_.front());
    queue_.pop_front();
    co_await scrub(std::move(target));
  }
}

// Returns earlier if the shard stops.
Async<void> Scrubber::sleep(int64_t us) {
  if (stopping_) co_return;
  alarm_.arm_after_us(us);
  co_await wake_.wait();
}

// ---- one table

Ref<TabletTable> Scrubber::find(TabletId id, BlobId blob) const {
  const auto it = tablets_.find(id);
  if (it == tablets_.end()) return nullptr;
  for (const TabletRun& run : it->second->version().runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      if (table->blob() == blob) return table;
    }
  }
  return nullptr;
}

Ref<TabletTable> Scrubber::find(const Target& target) const {
  for (const TabletId id : target.tablets) {
    if (Ref<TabletTable> table = find(id, target.blob)) return table;
  }
  return nullptr;
}

Async<void> Scrubber::scrub(Target target) {
  co_await wait_for_load(late_us(target));
  const int64_t began_us = now_us();
  TableCheck check(target.blob);
  const Reading reading = co_await read_all(target, check);
  figures_.reading_bytes = 0;
  unreached_.erase(target.blob);
  if (reading == Reading::unreachable) unreached_.emplace(target.blob, now_us());
  if (reading != Reading::whole) co_return;
  if (check.damage().any()) co_return report(target, check.damage(), began_us);
  found_.erase(target.blob);
  ++figures_.verified_tables;
  for (const TabletId id : target.tablets) co_await record(id, target.blob, began_us);
}

// Given up: the table is not used any more, or the shard stops.
Async<Scrubber::Reading> Scrubber::read_all(const Target& target, TableCheck& check) {
  for (;;) {
    co_await wait_for_load(late_us(target));
    co_await wait_for_rate();
    const Ref<TabletTable> table = find(target);
    // A tablet that was moved away and back has opened it again, and may have found it lost.
    if (stopping_ || !table || table->slice().table().is_lost()) {
      co_return Reading::given_up;
    }
    TableReader& reader = table->slice().table();
    const auto piece = check.next(reader);
    if (!piece) co_return Reading::whole;
    budget_.spend(static_cast<double>(piece->bytes));
    auto bytes =
        co_await read_blob(reader.blob(), piece->offset, piece->bytes, IoClass::compaction);
    if (!bytes && is_unreachable(bytes.error())) co_return Reading::unreachable;
    if (!bytes) {
      check.failed(bytes.error());
      ++figures_.failed_reads;
      continue;
    }
    const uint64_t damaged_before = check.damage().blocks;
    co_await work_.begin();
    check.take(*bytes);
    work_.end();
    figures_.read_bytes += piece->bytes;
    figures_.reading_bytes = check.checked_bytes();
    figures_.damaged_blocks += check.damage().blocks - damaged_before;
  }
}

Async<void> Scrubber::wait_for_rate() {
  while (!stopping_) {
    budget_.earn(rate_, shard_.runtime.timers.now_us());
    const double wait_us = budget_.wait_us(rate_);
    if (wait_us <= 0) co_return;
    co_await sleep(std::max(static_cast<int64_t>(wait_us), Timers::kTickUs));
  }
}

Async<bool> Scrubber::is_busy() {
  int busy = 0;
  co_await work_.begin();  // only the time between two slices in a row tells of the load
  for (int look = 0; look < kBusyLooks; ++look) {
    co_await work_.begin();
    busy += shard_.background.turn_was_idle() ? 0 : 1;
  }
  work_.end();
  co_return busy * 2 > kBusyLooks;
}

Async<void> Scrubber::wait_for_load(int64_t late_us) {
  const Timers& timers = shard_.runtime.timers;
  if (timers.now_us() - looked_us_ < kLookUs) co_return;
  while (!stopping_ && now_us() < late_us) {
    const bool busy = co_await is_busy();
    if (!busy) break;
    co_await sleep(kPauseUs);
  }
  looked_us_ = timers.now_us();
}

void Scrubber::report(const Target& target, const TableDamage& damage, int64_t began_us) {
  const bool is_new = found_.insert_or_assign(target.blob, began_us).second;
  const Ref<TabletTable> table = find(target);
  if (table && damage.blocks > 0) {
    TableReader& reader = table->slice().table();
    if (damage.met) reader.note_damage(*damage.met);
    if (!damage.met && damage.blocks > damage.sections) reader.note_tail_damage();
    if (damage.sections > 0) reader.note_section_damage();
  }
  if (damage.sections > 0) {
    for (const TabletId id : target.tablets) shard_.watcher->section_damaged(id);
  }
  if (!is_new) return;
  log_error("scrub", "shard={} {}: {} damaged blocks, {} failed reads, the first at {}: {}",
            shard_.shard, blob_path(target.blob), damage.blocks, damage.failed_reads, damage.offset,
            damage.first->to_string());
}

// The tablet's edits are made under its lock (tablet.h).
Async<void> Scrubber::record(TabletId id, BlobId blob, int64_t began_us) {
  const auto it = tablets_.find(id);
  if (it == tablets_.end()) co_return;
  Tablet& tablet = *it->second;
  auto pass = tablet.gate().enter();
  if (!pass) co_return;
  const AsyncMutex::Lock lock = co_await tablet.edit_lock().lock();
  const Ref<TabletTable> table = find(id, blob);
  if (tablet.obsolete() || !table) co_return;
  table->verified(began_us);
  if (shard_.wal.is_stopped()) co_return;  // of use until the next start
  VersionEdit edit;
  edit.key = key_of(id);
  edit.expected_version = tablet.manifest_version();
  edit.put_items.emplace_back(blob.value(), encode_table_item(table->item()));
  const Result<uint64_t> version = co_await shard_.files.manifest.commit(std::move(edit));
  if (version) {
    tablet.installed(*version);
  } else if (!shard_.wal.is_stopped()) {
    log_warn("scrub", "shard={} tablet={} {}: the time of its verification is not on disk: {}",
             shard_.shard, id, blob_path(blob), version.error().to_string());
  }
}

}  // namespace cellar::engine
