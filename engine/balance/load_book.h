// LoadBook: the balancer's memory between two checks: counters, from which it computes rates; the
// last request of each tablet; tablets at rest; how long the shards have been out of balance. The
// caller supplies the time.
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
  // Time for which a moved tablet does not move again, and a tablet with a refused change is left
  // alone.
  static constexpr int64_t kRestUs = 60'000'000;
  // Checks at shorter intervals do not measure rates, because too little happens.
  static constexpr int64_t kLeastLookUs = 5'000;
  // Weight of the newest rate in the smoothed one.
  static constexpr double kNewest = 0.5;

  LoadBook(uint32_t shards, const BalanceOptions& options) : shards_(shards), options_(options) {}

  // A view of all tablets; `measure`: computes new rates from the counters, otherwise keeps the
  // last ones.
  BalanceView look(std::vector<TabletFigures> figures, int64_t now_us, bool measure);

  // ---- outcomes of decisions ----
  void was_split(TabletId tablet, const std::vector<TabletDescriptor>& parts, int64_t now_us);
  void was_merged(TabletId left, TabletId right, TabletId merged, int64_t now_us);
  void was_moved(TabletId tablet, int64_t now_us);
  void was_refused(TabletId tablet, int64_t now_us);

 private:
  struct Entry {
    uint64_t requests = 0;  // counter at the last measurement of rates
    double load = 0;
    int64_t asked_us = 0;  // time of the last request seen, or when the tablet was first seen
    int64_t rest_until_us = 0;
    int64_t refused_until_us = 0;
    uint64_t round = 0;  // the last check with this tablet
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
  std::deque<int64_t> changes_us_;  // within the last minute
};

}  // namespace cellar::engine
