// LoadBook: what the balancer remembers from one look to the next: counters, so that they become
// rates; when a tablet was last asked for; who rests; how long the shards have been out of balance.
// Takes its time from the caller.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "engine/balance/options.h"
#include "engine/balance/view.h"
#include "engine/tablet_figures.h"

namespace cellar::engine {

class LoadBook {
 public:
  // A tablet that moved does not move again for so long; one that could not be changed as was
  // wanted is left alone.
  static constexpr int64_t kRestUs = 60'000'000;
  // Looks that follow one another faster than this do not measure rates: too little happens.
  static constexpr int64_t kLeastLookUs = 5'000;
  // The share of the newest rate in the smoothed one.
  static constexpr double kNewest = 0.5;

  LoadBook(uint32_t shards, const BalanceOptions& options) : shards_(shards), options_(options) {}

  // A look at all tablets; `measure`: counters become rates, else the last rates are shown.
  BalanceView look(std::vector<TabletFigures> figures, int64_t now_us, bool measure);

  // ---- what became of a decision ----
  void was_split(TabletId tablet, const std::vector<TabletDescriptor>& parts, int64_t now_us);
  void was_merged(TabletId left, TabletId right, TabletId merged, int64_t now_us);
  void was_moved(TabletId tablet, int64_t now_us);
  void was_refused(TabletId tablet, int64_t now_us);

 private:
  struct Entry {
    uint64_t requests = 0;  // of the figures, when rates were measured last
    double load = 0;
    int64_t asked_us = 0;  // when a request was seen last, or it was seen first
    int64_t settles_until_us = 0;
    int64_t refused_until_us = 0;
    uint64_t round = 0;  // the look that saw it last
  };

  void measure_one(Entry& entry, const TabletFigures& figures, bool is_new, int64_t now_us) const;
  void changed(int64_t now_us);

  const uint32_t shards_;
  const BalanceOptions options_;
  std::unordered_map<uint64_t, Entry> entries_;  // by tablet id
  uint64_t round_ = 0;
  int64_t measured_us_ = 0;  // 0: never
  int64_t imbalanced_since_us_ = 0;
  bool imbalanced_ = false;
  std::deque<int64_t> changes_us_;  // of the last minute
};

}  // namespace cellar::engine
