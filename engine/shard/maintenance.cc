#include "engine/shard/maintenance.h"

#include <algorithm>
#include <utility>

#include "engine/gc/reclaim.h"
#include "engine/gc/reclaim_forecast.h"
#include "engine/gc/reclaim_queue.h"
#include "engine/jobs/compact.h"
#include "engine/jobs/flush.h"
#include "engine/tablet/memory_deaths.h"
#include "io/base/log.h"
#include "io/loop/rate_budget.h"

namespace cellar::engine {
Maintenance::Maintenance(ShardContext& shard, TabletTableOfShard& tablets)
    : shard_(shard),
      tablets_(tablets),
      log_bound_(
          std::min<uint64_t>(kMaxLogBytes, kMaxLogSegments * shard.options.log_segment_bytes)),
      flush_(shard.runtime.timers),
      compaction_(shard.runtime.timers),
      reclaim_(shard.runtime.timers),
      index_(shard.runtime.timers),
      log_timer_(
          shard.runtime.timers, [](void* deaths) { static_cast<LogDeaths*>(deaths)->wake(); },
          &shard.wal.deaths),
      age_timer_(
          shard.runtime.timers,
          [](void* memtables) {
            auto& gauge = *static_cast<MemtableGauge*>(memtables);
            gauge.blocks.age();
            gauge.release.wake();
          },
          &shard.memory.gauge) {}

void Maintenance::start() {
  spawn(shard_.runtime.executor, flush_loop());
  spawn(shard_.runtime.executor, compaction_loop());
  spawn(shard_.runtime.executor, reclaim_loop());
  spawn(shard_.runtime.executor, index_loop());
  spawn(shard_.runtime.executor, release_loop());
  spawn(shard_.runtime.executor, log_loop());
}

Async<void> Maintenance::stop() {
  stopping_ = true;
  shard_.merge_slot.finish_at_once();
  flush_.wake.notify_all();
  compaction_.wake.notify_all();
  reclaim_.wake.notify_all();
  index_.wake.notify_all();
  shard_.memory.gauge.release.wake();
  shard_.wal.deaths.wake();
  if (shard_.wal.log) shard_.wal.log->give_up_erasing();
  co_await loops_.close();
}

void Maintenance::runs_changed(TabletId tablet) {
  to_compact_.insert(tablet);
  compaction_.wake.notify_all();
  indexes_changed(tablet);
  rules_changed();
}

bool Maintenance::waits(const LoopState& loop) const {
  return loop.not_before_us > shard_.runtime.timers.now_us();
}

void Maintenance::back_off(LoopState& loop, std::string_view what, const Error& error) {
  log_error("shard", "shard={} {} failed, next attempt in {} s: {}", shard_.shard, what,
            kRetryUs / 1'000'000, error.to_string());
  loop.not_before_us = shard_.runtime.timers.now_us() + kRetryUs;
  loop.retry.arm_after_us(kRetryUs);
}

// ---- flushing

Tablet* Maintenance::next_to_flush() const {
  if (shard_.wal.is_stopped()) return nullptr;
  const bool short_of_memory =
      shard_.memory.is_nearly_full() ||
      shard_.memory.gauge.bytes + shard_.memory.refused_bytes > shard_.memory.room();
  const bool log_is_long = shard_.wal.log->needed_bytes() > log_bound_;
  Tablet* biggest = nullptr;
  Tablet* ready = nullptr;
  Tablet* oldest = nullptr;
  for (const auto& [id, tablet] : tablets_) {
    if (!tablet->memtables().has_unflushed()) continue;
    if (!biggest || tablet->memtables().bytes() > biggest->memtables().bytes())
      biggest = tablet.get();
    const bool full = tablet->memtables().active_bytes() >= shard_.options.memtable_bytes;
    if ((full || tablet->memtables().has_frozen()) &&
        (!ready || tablet->memtables().bytes() > ready->memtables().bytes())) {
      ready = tablet.get();
    }
    if (!oldest || tablet->memtables().log_needed_from() < oldest->memtables().log_needed_from())
      oldest = tablet.get();
  }
  if (short_of_memory && biggest) return biggest;
  if (ready) return ready;
  if (flush_ahead_) {
    const auto it = tablets_.find(*flush_ahead_);
    if (it != tablets_.end() && it->second->memtables().has_unflushed()) return it->second.get();
  }
  if (Tablet* dead = longest_dead_in_memory()) return dead;
  const LogPosition flush_to = log_is_long ? shard_.wal.log->end() : log_cleared_to_;
  if (oldest && oldest->memtables().log_needed_from() < flush_to) return oldest;
  return nullptr;
}

Tablet* Maintenance::longest_dead_in_memory() const {
  Tablet* first = nullptr;
  int64_t first_us = shard_.runtime.clock.now_us() + 1;
  for (const auto& [id, tablet] : tablets_) {
    const int64_t due_us = tablet->memtables().has_unflushed() ? memory_due_us(*tablet) : INT64_MAX;
    if (due_us >= first_us) continue;
    first = tablet.get();
    first_us = due_us;
  }
  return first;
}

// Trusted time may stand still on an idle node (clock_keeper.h). Only work that would be due
// requests an anchor.
bool Maintenance::asks_for_time(int64_t due_us) {
  TrustedClock& clock = shard_.runtime.clock;
  if (due_us <= clock.now_us() || due_us > clock.expected_us()) return false;
  clock.ask_us();
  return true;
}

bool Maintenance::memory_asks_for_time() {
  if (!shard_.runtime.clock.stands()) return false;
  int64_t first_us = INT64_MAX;
  for (const auto& [id, tablet] : tablets_) {
    if (tablet->memtables().has_unflushed()) first_us = std::min(first_us, memory_due_us(*tablet));
  }
  return asks_for_time(first_us);
}

int64_t Maintenance::look_again_us() const {
  int64_t least_us = kMostReclaimWaitUs;
  for (const auto& [id, tablet] : tablets_)
    least_us = std::min(least_us, tablet->schema().options.reclaim_within_us / kLooksWithin);
  return std::max(least_us, kLeastLookUs);
}

Async<Result<void>> Maintenance::flush_one(Tablet* tablet) {
  auto pass = tablet->gate().enter();
  if (!pass) co_return Result<void>{};  // the tablet is being dropped
  co_return co_await flush_tablet(*tablet);
}

Async<void> Maintenance::flush_loop() {
  auto pass = loops_.enter();
  while (pass && !stopping_) {
    Tablet* tablet = waits(flush_) ? nullptr : next_to_flush();
    if (tablet == nullptr) {
      if (!waits(flush_)) {
        shard_.memory.refused_bytes = 0;  // there is room now, or nothing to flush
        looks_every_us_ = memory_asks_for_time() ? kLeastLookUs : look_again_us();
        flush_.retry.arm_after_us(looks_every_us_);
      }
      co_await flush_.wake.wait();
      continue;
    }
    if (tablet->id() == flush_ahead_) flush_ahead_.reset();
    auto done = co_await flush_one(tablet);
    shard_.memory.flush_failure.reset();
    // A tablet that was dropped meanwhile keeps no other one waiting.
    if (!done && !is_given_up(done.error()) && !shard_.wal.is_stopped()) {
      back_off(flush_, "flush", done.error());
      shard_.memory.flush_failure = std::move(done).error();
    }
    trim_log();
  }
}

void Maintenance::trim_log() {
  if (shard_.wal.is_stopped() || !shard_.wal.log) return;
  LogPosition needed = shard_.wal.log->end();
  for (const auto& [id, tablet] : tablets_)
    needed = std::min(needed, tablet->memtables().log_needed_from());
  shard_.wal.log->trim(needed);
}

Async<void> Maintenance::release_loop() {
  auto pass = loops_.enter();
  MemtableGauge& gauge = shard_.memory.gauge;
  BlockCache& cache = shard_.files.loader.cache();
  Background::Work work(shard_.background, BackgroundKind::flush);
  const auto is_surplus = [&gauge] { return !gauge.release.empty() || gauge.blocks.has_surplus(); };
  while (pass && !stopping_) {
    if (!is_surplus() && !cache.owes()) {
      co_await rest_of_release();
      continue;
    }
    co_await work.begin();
    while (is_surplus() && !work.over()) gauge.free_some();
    while (cache.owes() && !work.over()) cache.pay();
    gauge.changed();  // the cache may have what was freed
    work.end();
  }
}

// Waits until there is something to free. Free chunks become surplus with time: sooner if the cache
// is full when the wait begins.
Async<void> Maintenance::rest_of_release() {
  MemtableGauge& gauge = shard_.memory.gauge;
  const BlockCache& cache = shard_.files.loader.cache();
  const size_t full = cache.budget_bytes() / 16 * 15;
  const bool wanted = cache.held_bytes() + cache.charged_bytes() >= full;
  if (gauge.blocks.free_bytes() > 0 && !age_timer_.armed())
    age_timer_.arm_after_us(wanted ? kWantedAgeUs : kAgeUs);
  co_await gauge.release.wait();
}

// On a busy shard the log has moved on long before anything is due.
Async<void> Maintenance::log_loop() {
  auto pass = loops_.enter();
  LogDeaths& deaths = shard_.wal.deaths;
  while (pass && !stopping_) {
    const int64_t now_us = shard_.runtime.clock.now_us();
    const int64_t due_us = deaths.due_us();
    const bool stopped = shard_.wal.is_stopped();
    if (due_us > now_us || stopped) {
      const int64_t left_us = due_us - shard_.runtime.clock.expected_us();
      const int64_t wait_us = std::clamp(left_us, kLeastReclaimWaitUs, kMostReclaimWaitUs);
      if (due_us != INT64_MAX && !stopped) {
        log_timer_.arm_after_us(asks_for_time(due_us) ? kLeastLookUs : wait_us);
      }
      co_await deaths.wait();
      continue;
    }
    auto cleared = co_await shard_.wal.log->erase(deaths.take(now_us));
    if (!cleared) continue;  // the log has failed or is closed
    log_cleared_to_ = std::max(log_cleared_to_, *cleared);
    trim_log();
    wake_flush();
  }
}

// ---- compacting

Async<Result<void>> Maintenance::compact_one(TabletId id) {
  const auto it = tablets_.find(id);
  if (it == tablets_.end()) co_return Result<void>{};
  Tablet& tablet = *it->second;
  auto pass = tablet.gate().enter();
  if (!pass) co_return Result<void>{};
  if (waits_for_reclaim(tablet)) {
    to_compact_later_.insert(id);
    co_return Result<void>{};
  }
  auto again = co_await compact_step(tablet);
  if (!again) co_return std::unexpected(std::move(again).error());
  if (*again) to_compact_.insert(id);
  co_return Result<void>{};
}

// The merge that is due would not end before reclaiming has to begin.
bool Maintenance::waits_for_reclaim(const Tablet& tablet) const {
  if (waits(reclaim_) || tablet.runs_behind() >= kRunsThatCannotWait) return false;
  const RunShapes shapes = tablet.run_shapes();
  const std::optional<RunWindow> window = pick_merge_of(shapes);
  if (!window) return false;
  double bytes = 0;
  for (size_t i = 0; i < window->count; ++i)
    bytes += static_cast<double>(shapes.runs[window->first + i].bytes);
  const double takes_us =
      bytes * shard_.merge_slot.speed().us_per_byte() / ReclaimQueue::kMostShare;
  const int64_t now_us = shard_.runtime.clock.now_us();
  return next_reclaim_us_ < now_us + static_cast<int64_t>(std::min(takes_us, 1e15));
}

void Maintenance::resume_merges() {
  if (to_compact_later_.empty()) return;
  to_compact_.merge(to_compact_later_);
  to_compact_later_.clear();
  compaction_.wake.notify_all();
}

namespace {

// Takes the one after the last one. In turns: under load a tablet has its next merge due as soon as
// one ends. REQUIRES: there is one.
TabletId take_next(std::set<TabletId>& tablets, TabletId& last) {
  auto next = tablets.upper_bound(last);
  if (next == tablets.end()) next = tablets.begin();
  last = *next;
  tablets.erase(next);
  return last;
}

}  // namespace

Async<void> Maintenance::compaction_loop() {
  auto pass = loops_.enter();
  while (pass && !stopping_) {
    if (waits(compaction_) || to_compact_.empty() || shard_.wal.is_stopped()) {
      co_await compaction_.wake.wait();
      continue;
    }
    const TabletId id = take_next(to_compact_, compacted_);
    auto done = co_await compact_one(id);
    if (done || shard_.wal.is_stopped()) continue;
    // After a schema change the merge begins again. A dropped tablet is not found again.
    if (done.error().code == Errc::aborted) to_compact_.insert(id);
    if (is_given_up(done.error())) continue;
    to_compact_.insert(id);
    back_off(compaction_, "compaction", done.error());
  }
}

// ---- indexes

Async<Result<void>> Maintenance::index_one(TabletId id, bool extras) {
  const auto it = tablets_.find(id);
  if (it == tablets_.end()) co_return Result<void>{};
  auto pass = it->second->gate().enter();
  if (!pass) co_return Result<void>{};
  CO_TRY(const IndexNext next, co_await build_indexes(*it->second, extras));
  if (next == IndexNext::missing) to_index_.insert(id);
  if (next == IndexNext::extra) extra_indexes_.insert(id);
  co_return Result<void>{};
}

Async<void> Maintenance::index_loop() {
  auto pass = loops_.enter();
  size_t looked_at = 0;
  while (pass && !stopping_) {
    const bool extras = to_index_.empty();
    std::set<TabletId>& due = extras ? extra_indexes_ : to_index_;
    if (waits(index_) || due.empty() || shard_.wal.is_stopped()) {
      co_await index_.wake.wait();
      continue;
    }
    if (++looked_at % kReclaimLooks == 0) co_await yield_now();
    if (due.empty()) continue;
    const TabletId id = take_next(due, indexed_);
    auto done = co_await index_one(id, extras);
    // An alteration tells of the tablet again; a dropped one is not found again.
    if (done || is_given_up(done.error()) || shard_.wal.is_stopped()) continue;
    due.insert(id);
    back_off(index_, "building an index", done.error());
  }
}

// ---- reclaiming

// Ends at stop(): time may stand meanwhile.
Async<void> Maintenance::rest_from_search(int64_t took_us) {
  const int64_t rest_us = std::min(took_us * kSearchRests, kMostSearchRestUs);
  if (rest_us < Timers::kTickUs) co_return;
  const int64_t until_us = shard_.runtime.timers.now_us() + rest_us;
  reclaim_.retry.arm_after_us(rest_us);
  while (!stopping_ && shard_.runtime.timers.now_us() < until_us) co_await reclaim_.wake.wait();
}

Async<ReclaimTurn> Maintenance::next_to_reclaim() {
  std::vector<TabletId> ids;
  for (const auto& [id, tablet] : tablets_) ids.push_back(id);
  size_t looked_at = 0;
  for (const TabletId id : ids) {
    const auto it = tablets_.find(id);
    if (it == tablets_.end()) continue;  // removed while others were examined
    ReclaimForecast& outlook = reclaim_forecast(*it->second);
    const bool looks = outlook.is_stale(*it->second);
    if (looks) (void)outlook.slack_out_us(*it->second);
    if (looks && ++looked_at % kReclaimLooks == 0) co_await yield_now();
  }
  std::vector<Tablet*> tablets;
  for (const auto& [id, tablet] : tablets_) tablets.push_back(tablet.get());
  co_return plan_reclaims(tablets);
}

Async<Result<void>> Maintenance::reclaim_one(ReclaimTurn turn) {
  const auto it = tablets_.find(turn.tablet);
  if (it == tablets_.end()) co_return Result<void>{};
  Tablet& tablet = *it->second;
  flush_ahead_ = turn.following;
  if (flush_ahead_) wake_flush();
  const double share = tablet.schema().options.reclaim_share;
  const Timers& timers = shard_.runtime.timers;
  const int64_t edited_before_us = shard_.reclaim.edit_us;
  auto done = co_await reclaim(tablet);
  // Working at most this share of the time bounds the writes to the same share of the disk's rate.
  // Merges have already rested (compaction/pace.h), and a flush writes what has to be written
  // anyway.
  const auto worked = static_cast<double>(shard_.reclaim.edit_us - edited_before_us);
  const auto pause_us = static_cast<int64_t>(
      std::min(rest_us(worked, share), static_cast<double>(kMostReclaimRestUs)));
  reclaim_.not_before_us = timers.now_us() + pause_us;
  shard_.reclaim.rests_until_us = reclaim_.not_before_us;
  if (pause_us > 0) reclaim_.retry.arm_after_us(pause_us);
  co_return done;
}

Async<void> Maintenance::reclaim_loop() {
  auto pass = loops_.enter();
  while (pass && !stopping_) {
    ++shard_.counters.reclaim_turns;
    const uint64_t told = reclaim_told_;
    ReclaimTurn turn;
    const int64_t began_us = shard_.runtime.clock.machine().boot_us();
    if (!shard_.wal.is_stopped() && !waits(reclaim_)) turn = co_await next_to_reclaim();
    const int64_t took_us = shard_.runtime.clock.machine().boot_us() - began_us;
    next_reclaim_us_ = turn.begin_us;
    resume_merges();
    const int64_t now_us = shard_.runtime.clock.now_us();
    if (turn.begin_us > now_us) {
      co_await rest_from_search(took_us);
      if (stopping_ || reclaim_told_ != told)
        continue;  // something changed while tablets were examined
      if (!waits(reclaim_)) {
        const int64_t left_us = turn.begin_us - shard_.runtime.clock.expected_us();
        reclaim_.retry.arm_after_us(
            asks_for_time(turn.begin_us)
                ? kLeastLookUs
                : std::clamp(left_us, kLeastReclaimWaitUs, look_again_us()));
      }
      co_await reclaim_.wake.wait();
      continue;
    }
    auto done = co_await reclaim_one(turn);
    if (done || is_given_up(done.error()) || shard_.wal.is_stopped()) continue;
    back_off(reclaim_, "reclaim", done.error());
    shard_.reclaim.rests_until_us = reclaim_.not_before_us;
  }
}

}  // namespace cellar::engine
