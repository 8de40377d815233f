#include "bench/simulate/shard_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/compaction/time_windows.h"
#include "engine/gc/reclaim_queue.h"

namespace cellar::simulate {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kUs = 1e6;
// As in the engine: a tenth of the lead as reserve, and at most three quarters of reclaim_within
// (engine/gc/reclaim_queue.h, reclaim_forecast.h).
constexpr double kSafety = 1.1;
constexpr double kMostLead = 0.75;

}  // namespace

ShardModel::ShardModel(const Machine& machine, const Load& load, const Policy& policy)
    : machine_(machine),
      load_(load),
      policy_(policy),
      live_(std::min(policy.tablet_bytes, load.live_bytes)) {
  const auto count = static_cast<size_t>(std::max(1.0, std::round(load.live_bytes / live_)));
  // Each tablet begins in its undisturbed state: one run with all live cells. Memtables are as full
  // as if they had been flushed in turn.
  const double round_s = policy.flush_bytes * static_cast<double>(count) / load.ingest;
  for (size_t i = 0; i < count; ++i) {
    const double part = static_cast<double>(count - i) / static_cast<double>(count);
    tablets_.push_back({.runs = {{live_, -load.age_s, 0}}, .flushed_s = -part * round_s});
  }
}

// The share of a run's cells that were dead at that time.
double ShardModel::dead_by(const Tablet& tablet, size_t i, double at_s) const {
  const Run& run = tablet.runs[i];
  if (load_.kind == Load::Kind::ages) {
    const double gone_s = at_s - load_.age_s - run.from_s;
    const double span_s = std::max(run.to_s - run.from_s, 1e-9);
    return run.bytes * std::clamp(gone_s / span_s, 0.0, 1.0);
  }
  double left = 1;
  for (size_t j = i + 1; j < tablet.runs.size(); ++j) {
    const Run& newer = tablet.runs[j];
    const double span_s = std::max(newer.to_s - newer.from_s, 1e-9);
    const double written = std::clamp((at_s - newer.from_s) / span_s, 0.0, 1.0);
    left *= 1 - std::min(1.0, written * newer.bytes / live_);
  }
  const double rate = load_.ingest / static_cast<double>(tablets_.size());
  const double in_memory = std::max(0.0, std::min(at_s, now_s_) - tablet.flushed_s) * rate;
  return run.bytes * (1 - left * std::exp(-in_memory / live_));
}

ShardModel::Dead ShardModel::dead_of(const Tablet& tablet, size_t i) const {
  const double removable_s = now_s_ - policy_.margin_s;
  return {dead_by(tablet, i, removable_s),
          dead_by(tablet, i, removable_s - policy_.reclaim_within_s)};
}

ShardModel::Run ShardModel::merged(const Tablet& tablet, size_t first, size_t count) const {
  Run out{0, tablet.runs[first].from_s, tablet.runs[first + count - 1].to_s};
  if (load_.kind == Load::Kind::ages) {
    const double oldest_s = now_s_ - policy_.margin_s - load_.age_s;
    for (size_t i = first; i < first + count; ++i)
      out.bytes += tablet.runs[i].bytes - dead_of(tablet, i).bytes;
    out.from_s = std::clamp(oldest_s, out.from_s, out.to_s);
    return out;
  }
  double missing = 1;
  for (size_t i = first; i < first + count; ++i)
    missing *= 1 - std::min(1.0, tablet.runs[i].bytes / live_);
  out.bytes = live_ * (1 - missing);
  return out;
}

bool ShardModel::is_free(size_t tablet) const {
  return !(merge_.running && merge_.tablet == tablet) &&
         !(reclaim_.running && reclaim_.tablet == tablet);
}

void ShardModel::begin(Job& job, size_t tablet, size_t first, size_t count, double share,
                       double write_part) {
  const Tablet& of = tablets_[tablet];
  job = {.running = true,
         .tablet = tablet,
         .first = first,
         .count = count,
         .result = merged(of, first, count)};
  for (size_t i = first; i < first + count; ++i) job.read += of.runs[i].bytes;
  job.written = job.result.bytes;
  // The log and the flushes have priority.
  const double left = std::max(machine_.write_rate - 2 * load_.ingest, machine_.write_rate / 100);
  const double slowest =
      std::max({job.read / machine_.read_rate, job.read / machine_.merge_rate, job.written / left});
  const double least_s = job.written / (write_part * machine_.write_rate);
  job.ends_s = now_s_ + std::max(slowest / share, least_s);
  if (measuring_) sum_.worked_s += slowest;
}

// A flush may have added newer runs meanwhile; the tablet has no other changes.
void ShardModel::finish(Job& job, double& written) {
  std::vector<Run>& runs = tablets_[job.tablet].runs;
  const auto begin = runs.begin() + static_cast<ptrdiff_t>(job.first);
  *begin = job.result;
  runs.erase(begin + 1, begin + static_cast<ptrdiff_t>(job.count));
  if (job.result.bytes < 1) runs.erase(runs.begin() + static_cast<ptrdiff_t>(job.first));
  job.running = false;
  tablets_[job.tablet].deadline_s = -1;
  waiting_.insert(job.tablet);
  if (!measuring_) return;
  written += job.written;
  sum_.merge_read += job.read;
}

// Flushes the largest memtable.
void ShardModel::flush() {
  const auto oldest =
      std::min_element(tablets_.begin(), tablets_.end(),
                       [](const Tablet& a, const Tablet& b) { return a.flushed_s < b.flushed_s; });
  flush(static_cast<size_t>(oldest - tablets_.begin()));
}

void ShardModel::flush(size_t id) {
  Tablet& tablet = tablets_[id];
  const double rate = load_.ingest / static_cast<double>(tablets_.size());
  const double gathered = (now_s_ - tablet.flushed_s) * rate;
  double bytes = gathered;
  // Overwrites within a memtable cost nothing.
  if (load_.kind == Load::Kind::overwrites) bytes = live_ * (1 - std::exp(-bytes / live_));
  tablet.runs.push_back({bytes, tablet.flushed_s, now_s_});
  tablet.flushed_s = now_s_;
  tablet.deadline_s = -1;
  waiting_.insert(id);
  if (!measuring_) return;
  sum_.flushed += bytes;
  sum_.ingested += gathered;
}

std::optional<engine::RunWindow> ShardModel::pick(const Tablet& tablet) const {
  std::vector<uint64_t> sizes;
  for (const Run& run : tablet.runs) sizes.push_back(static_cast<uint64_t>(run.bytes));
  if (!policy_.windows) return engine::pick_merge(sizes);
  // Flushes as large as memory allows, each worth a file.
  constexpr size_t kAllowed = engine::kMostTimeRuns;
  const double since_s = -2 * load_.age_s;  // avoids negative times
  std::vector<engine::TimedRun> runs;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const double middle_s = (tablet.runs[i].from_s + tablet.runs[i].to_s) / 2 - since_s;
    runs.push_back({sizes[i], static_cast<int64_t>(middle_s * kUs)});
  }
  const auto age_us = static_cast<int64_t>(load_.age_s * kUs);
  return engine::pick_time_merge(runs, engine::time_window_us(age_us, kAllowed), kAllowed);
}

void ShardModel::begin_merge() {
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    const size_t id = *it;
    if (!is_free(id)) {
      ++it;
      continue;
    }
    it = waiting_.erase(it);
    const auto window = pick(tablets_[id]);
    if (window) return begin(merge_, id, window->first, window->count, 1, 1);
  }
}

// Runs whose every cell is dead are dropped unread.
void ShardModel::drop_dead_runs() {
  if (load_.kind != Load::Kind::ages) return;
  const double oldest_s = now_s_ - policy_.margin_s - load_.age_s;
  for (size_t i = 0; i < tablets_.size(); ++i) {
    if (!is_free(i)) continue;
    const size_t gone =
        std::erase_if(tablets_[i].runs, [&](const Run& r) { return r.to_s < oldest_s; });
    if (gone != 0) tablets_[i].deadline_s = -1;
  }
}

double ShardModel::overdue_at(const Tablet& tablet, double at_s) const {
  double overdue = 0;
  const double died_s = at_s - policy_.margin_s - policy_.reclaim_within_s;
  for (size_t i = 0; i < tablet.runs.size(); ++i) overdue += dead_by(tablet, i, died_s);
  return overdue;
}

// Overdue bytes only grow, so the deadline is found by bisection.
double ShardModel::deadline_of(Tablet& tablet) const {
  if (tablet.deadline_s >= 0) return tablet.deadline_s;
  const double allowed = policy_.dead_slack * live_;
  double from_s = 0;
  double to_s = now_s_ + policy_.margin_s + policy_.reclaim_within_s;
  if (load_.kind == Load::Kind::ages) to_s += load_.age_s;
  tablet.deadline_s = kNever;
  if (overdue_at(tablet, to_s) <= allowed) return tablet.deadline_s;
  while (to_s - from_s > 1e-3) {
    const double middle_s = (from_s + to_s) / 2;
    (overdue_at(tablet, middle_s) > allowed ? to_s : from_s) = middle_s;
  }
  return tablet.deadline_s = to_s;
}

// Like engine/gc/reclaim_queue.h.
void ShardModel::plan_reclaim() {
  next_reclaim_s_ = kNever;
  if (policy_.reclaim_share <= 0) return;
  std::vector<engine::ReclaimDemand> demands;
  std::vector<size_t> ids;
  for (size_t id = 0; id < tablets_.size(); ++id) {
    if (!is_free(id)) continue;
    const double due_s = deadline_of(tablets_[id]);
    if (due_s == kNever) continue;
    double bytes = 0;
    for (const Run& run : tablets_[id].runs) bytes += run.bytes;
    demands.push_back({.due_us = static_cast<int64_t>(due_s * kUs),
                       .within_us = static_cast<int64_t>(policy_.reclaim_within_s * kUs),
                       .share = policy_.reclaim_share,
                       .work_us = bytes / machine_.merge_rate * kUs,
                       .least_us = bytes / (policy_.reclaim_share * machine_.write_rate) * kUs});
    ids.push_back(id);
  }
  const std::vector<engine::ReclaimTime> times = engine::ReclaimQueue::plan(demands);
  double best_due_s = kNever;
  for (size_t i = 0; i < ids.size(); ++i) {
    const double due_s = tablets_[ids[i]].deadline_s;
    const double lead_s = kSafety * (due_s - static_cast<double>(times[i].begin_us) / kUs);
    const double begin_s =
        std::max(now_s_, due_s - std::min(lead_s, kMostLead * policy_.reclaim_within_s));
    const bool first = begin_s != next_reclaim_s_ ? begin_s < next_reclaim_s_ : due_s < best_due_s;
    if (!first) continue;
    next_reclaim_s_ = begin_s;
    best_due_s = due_s;
    next_reclaimed_ = ids[i];
    next_share_ = std::min(times[i].share, 1.0);
  }
}

void ShardModel::begin_reclaim() {
  plan_reclaim();
  if (next_reclaim_s_ <= now_s_) reclaim(next_reclaimed_, next_share_);
}

// The merge that removes the most for the bytes it reads: a single run if cells die of age,
// otherwise all runs from one to the oldest.
void ShardModel::reclaim(size_t id, double share) {
  // The overwrites in the memtable count too.
  if (load_.kind == Load::Kind::overwrites) flush(id);
  const Tablet& tablet = tablets_[id];
  size_t first = 0;
  size_t count = 0;
  double best = 0;
  double bytes = 0;
  for (size_t i = 0; i < tablet.runs.size(); ++i) {
    const bool alone = load_.kind == Load::Kind::ages;
    bytes = (alone ? 0 : bytes) + tablet.runs[i].bytes;
    const size_t from = alone ? i : 0;
    const double dead = bytes - merged(tablet, from, i + 1 - from).bytes;
    if (dead < 1 || dead / bytes <= best) continue;
    best = dead / bytes;
    first = from;
    count = i + 1 - from;
  }
  if (count != 0) begin(reclaim_, id, first, count, share, policy_.reclaim_share);
}

void ShardModel::look() {
  drop_dead_runs();
  if (!measuring_) return;
  double on_disk = 0;
  double all_overdue = 0;
  size_t runs = 0;
  for (const Tablet& tablet : tablets_) {
    double overdue = 0;
    for (size_t i = 0; i < tablet.runs.size(); ++i) {
      on_disk += tablet.runs[i].bytes;
      overdue += dead_of(tablet, i).overdue;
    }
    runs += tablet.runs.size();
    sum_.most_runs = std::max(sum_.most_runs, tablet.runs.size());
    sum_.worst_tablet = std::max(sum_.worst_tablet, overdue / live_);
    all_overdue += overdue;
    // Time since the slack was exceeded: the excess over the rate at which the tablet's cells die.
    const double excess = overdue - policy_.dead_slack * live_;
    const double rate = load_.ingest / static_cast<double>(tablets_.size());
    sum_.latest_s = std::max(sum_.latest_s, excess / rate);
  }
  const double live = live_ * static_cast<double>(tablets_.size());
  sum_.space += on_disk / live;
  sum_.most_overdue = std::max(sum_.most_overdue, all_overdue / live);
  sum_.runs += static_cast<double>(runs) / static_cast<double>(tablets_.size());
  ++looks_;
}

Outcome ShardModel::run(double turns) {
  const double total_s = turns * load_.live_bytes / load_.ingest;
  const double flush_every_s = policy_.flush_bytes / load_.ingest;
  const double look_every_s = std::clamp(total_s / 2000, 1.0, 600.0);
  double next_flush_s = 0;
  double next_look_s = 0;
  while (now_s_ < total_s) {
    // Time advances even if something due cannot be done.
    const double earliest_s = now_s_ + 0.1;
    if (!measuring_ && now_s_ >= total_s / 2) measuring_ = true;
    now_s_ = std::min(next_flush_s, next_look_s);
    if (!reclaim_.running) now_s_ = std::min(now_s_, std::max(next_reclaim_s_, earliest_s));
    if (merge_.running) now_s_ = std::min(now_s_, merge_.ends_s);
    if (reclaim_.running) now_s_ = std::min(now_s_, reclaim_.ends_s);
    if (merge_.running && merge_.ends_s <= now_s_) finish(merge_, sum_.merged);
    if (reclaim_.running && reclaim_.ends_s <= now_s_) finish(reclaim_, sum_.reclaimed);
    if (next_flush_s <= now_s_) {
      flush();
      next_flush_s += flush_every_s;
    }
    if (next_look_s <= now_s_) {
      look();
      next_look_s += look_every_s;
    }
    if (!reclaim_.running) begin_reclaim();
    if (!merge_.running) begin_merge();
  }
  sum_.time_s = total_s / 2;
  sum_.space /= static_cast<double>(std::max<size_t>(looks_, 1));
  sum_.runs /= static_cast<double>(std::max<size_t>(looks_, 1));
  sum_.backlog = waiting_.size();
  return sum_;
}

}  // namespace cellar::simulate
