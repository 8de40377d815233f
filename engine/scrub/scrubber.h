// Scrubber: reads every table on disk of a shard within EngineOptions::scrub_every_us, verifies all
// its checksums, and records when each was last found whole. It finds damage in tables that no
// request reads.
//
// A table's time is TableItem::verified_us: when it was written, or when its last complete
// verification began. The time is kept in the manifest, so that a start continues where the last
// one ended. A table without a time (of a restored backup) is due at once.
//
// With T = scrub_every_us, a table
//   - is left alone until its time is T / 2 ago;
//   - is read from then on, oldest first, one table at a time, with pauses while the shard
//     is busy: most of some turns in a row have work (kBusyLooks). A shard that serves with idle
//     turns between requests is not busy, or only at times;
//   - is read without these pauses from 3/4 T on: then the load does not end.
// The rate is such that all tables of the shard are read within T / 4, so that every table's time
// is less than T ago unless the rate's upper bound prevents that.
//
//   Example: T = 7 days, 400 GB: 2.6 MB/s while it reads, which is 1 3/4 days of each 3 1/2 or
//   more.
//
// Invariants
//   1. One read of at most TableCheck::kPieceBytes is in flight.
//   2. Over any time, it reads at most rate * (time + kMostCreditUs) + one piece. The rate is
//      within kLeastRate and kMostRate, divided by the number of shards.
//   3. Between two pieces it holds nothing: no table, no version. A table that is released
//      meanwhile is given up. Reads bypass the block cache.
//   4. Verification takes slices of the shard's background work (io/loop/background.h).
//   5. A table's time is recorded only if every byte of it was read and found whole.
//   6. A table whose blob cannot be reached is given up, and begun again after kUnreachableUs.
//   7. Damage is reported once per table and start. Damage that reads meet also takes the table out
//      of merges, as if a read had met it (TableReader::note_damage); other damage does not,
//      because a merge saves the rows (TableReader::note_tail_damage). A table with damage in the
//      section of an index is rewritten at once (jobs/build_indexes.h).
//
// A blob that tablets of several shards use is read by each of them.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "engine/scrub/table_check.h"
#include "engine/shard_figures.h"
#include "engine/tablet/shard_context.h"
#include "engine/tablet/tablet.h"
#include "engine/verified_figures.h"
#include "io/loop/background.h"
#include "io/loop/event.h"
#include "io/loop/gate.h"
#include "io/loop/rate_budget.h"
#include "io/loop/timers.h"

namespace cellar::engine {

class Scrubber {
 public:
  // Bytes per second, of all shards together. The upper one is 5 % of a device that reads 500 MB/s.
  static constexpr uint64_t kLeastRate = 1'000'000;
  static constexpr uint64_t kMostRate = 25'000'000;
  // Parts of scrub_every: a table is left alone for one in kYoungShare, and read regardless of the
  // load in the last one in kLateShare.
  static constexpr int64_t kYoungShare = 2;
  static constexpr int64_t kLateShare = 4;
  // Requests are being served if more than half of this many turns in a row had work for them. The
  // load is looked at after every kLookUs of reading; a pause lasts kPauseUs.
  static constexpr int kBusyLooks = 4;
  static constexpr int64_t kLookUs = 100'000;
  static constexpr int64_t kPauseUs = 100'000;
  // A table that could not be read is read again after this time, or T / 2 if that is less.
  static constexpr int64_t kRetryUs = 3'600'000'000;
  // One whose blob could not be reached (store/blob_store.h), which is not damage, after this time.
  static constexpr int64_t kUnreachableUs = 60'000'000;
  // Tables are looked over so often while they are young, and after kMostWaitUs at the latest:
  // others may have come.
  static constexpr int64_t kLooksWithin = 4;
  static constexpr int64_t kMostWaitUs = 600'000'000;
  static constexpr int64_t kLeastWaitUs = 100'000;
  // Tablets looked at between two yields.
  static constexpr size_t kTabletsAtOnce = 16;
  // An unused rate gives at most this much credit, so that late timers do not lower it.
  static constexpr double kMostCreditUs = 100'000;

  // Both must outlive it. `shards`: of the node.
  Scrubber(ShardContext& shard, const TabletTableOfShard& tablets, uint32_t shards);

  void start();
  // Resumes when the loop has ended, at most a read later.
  Async<void> stop();

  VerifiedFigures figures(const Tablet& tablet) const;
  ScrubFigures figures() const;

 private:
  // A blob of the shard, and the tablets that use it.
  struct Target {
    BlobId blob;
    int64_t since_us = 0;  // of the time that counts: the table's, or that of the last attempt
    std::vector<TabletId> tablets{};
  };

  Async<void> run();
  Async<void> list();
  void add_tables(const Tablet& tablet, absl::flat_hash_map<BlobId, Target>& targets) const;
  int64_t since_us(const TabletTable& table) const;
  Async<void> sleep(int64_t us);
  Async<void> scrub(Target target);
  enum class Reading : uint8_t { whole, unreachable, given_up };
  Async<Reading> read_all(const Target& target, TableCheck& check);
  Async<void> wait_for_rate();
  Async<void> wait_for_load(int64_t late_us);
  // When it is read regardless of the load.
  int64_t late_us(const Target& target) const {
    return target.since_us + every_us() - every_us() / kLateShare;
  }
  Async<bool> is_busy();
  void report(const Target& target, const TableDamage& damage, int64_t began_us);
  Async<void> record(TabletId tablet, BlobId blob, int64_t began_us);
  Ref<TabletTable> find(const Target& target) const;
  Ref<TabletTable> find(TabletId tablet, BlobId blob) const;
  int64_t now_us() const { return shard_.runtime.clock.expected_us(); }
  int64_t every_us() const { return shard_.options.scrub_every_us; }
  bool is_damaged(const TabletTable& table) const {
    return table.is_damaged() || found_.contains(table.blob());
  }

  ShardContext& shard_;
  const TabletTableOfShard& tablets_;
  const uint32_t shards_;
  Background::Work work_;
  Timer alarm_;
  ConditionVariable wake_;
  int64_t started_us_ = 0;
  double rate_ = 0;  // bytes per microsecond
  RateBudget budget_{kMostCreditUs};
  int64_t looked_us_ = INT64_MIN / 2;  // at the load, by the timers
  std::deque<Target> queue_;           // oldest first
  // When tables were read that were not found whole, until they are or are not used any more.
  absl::flat_hash_map<BlobId, int64_t> found_;
  // When the last attempt to read an unreachable table began, until the table is read or unused.
  absl::flat_hash_map<BlobId, int64_t> unreached_;
  ScrubFigures figures_;
  bool stopping_ = false;
  Gate loop_{"scrub"};
};

}  // namespace cellar::engine
