#include "engine/balance/load_book.h"

#include <algorithm>

#include "engine/balance/decide.h"

namespace cellar::engine {
namespace {

constexpr int64_t kMinuteUs = 60'000'000;

}  // namespace

void LoadBook::measure_one(Entry& entry, const TabletFigures& figures, bool is_new,
                           int64_t now_us) const {
  const uint64_t requests = figures.reads + figures.writes;
  // A reopened tablet, on this shard or another, counts from zero.
  const uint64_t before = requests < entry.requests ? 0 : entry.requests;
  entry.requests = requests;
  if (requests > before) entry.asked_us = now_us;
  if (measured_us_ == 0) return;  // the start of these requests' period is unknown
  const double seconds = static_cast<double>(now_us - measured_us_) / 1e6;
  const double rate = static_cast<double>(requests - before) / seconds;
  entry.load = is_new ? rate : kNewest * rate + (1 - kNewest) * entry.load;
}

BalanceView LoadBook::look(std::vector<TabletFigures> figures, int64_t now_us, bool measure) {
  const bool measures = measure && (measured_us_ == 0 || now_us - measured_us_ >= kLeastLookUs);
  ++round_;
  BalanceView view;
  view.shards = shards_;
  view.tablets.reserve(figures.size());
  for (TabletFigures& of : figures) {
    const auto [it, is_new] = entries_.try_emplace(of.tablet.id.value());
    Entry& entry = it->second;
    if (is_new) entry.asked_us = now_us;
    entry.round = round_;
    if (measures) measure_one(entry, of, is_new, now_us);
    view.tablets.push_back({.tablet = std::move(of.tablet),
                            .bytes = of.bytes,
                            .load = entry.load,
                            .idle_us = now_us - entry.asked_us,
                            .moved_recently = now_us < entry.rest_until_us,
                            .refused = now_us < entry.refused_until_us,
                            .has_held_data = of.has_held_data,
                            .sampled_rows = std::move(of.sampled_rows)});
  }
  std::erase_if(entries_, [this](const auto& item) { return item.second.round != round_; });
  if (measures) measured_us_ = now_us;

  const bool imbalanced = is_imbalanced(view);
  if (imbalanced && !imbalanced_) imbalanced_since_us_ = now_us;
  imbalanced_ = imbalanced;
  view.imbalanced_us = imbalanced ? now_us - imbalanced_since_us_ : 0;
  while (!changes_us_.empty() && now_us - changes_us_.front() >= kMinuteUs) changes_us_.pop_front();
  view.changes_left =
      options_.per_minute - std::min<uint32_t>(options_.per_minute, uint32_t(changes_us_.size()));
  return view;
}

// A change invalidates the rates that led to it: decisions by load wait for new ones.
void LoadBook::changed(int64_t now_us) {
  changes_us_.push_back(now_us);
  imbalanced_ = false;
}

void LoadBook::was_split(TabletId tablet, const std::vector<TabletDescriptor>& parts,
                         int64_t now_us) {
  changed(now_us);
  const auto it = entries_.find(tablet.value());
  if (it == entries_.end() || parts.empty()) return;
  Entry part = it->second;
  part.load /= static_cast<double>(parts.size());
  part.requests = 0;
  part.rest_until_us = 0;
  for (const TabletDescriptor& one : parts) entries_[one.id.value()] = part;
}

void LoadBook::was_merged(TabletId left, TabletId right, TabletId merged, int64_t now_us) {
  changed(now_us);
  Entry sum = entries_[left.value()];
  sum.load += entries_[right.value()].load;
  sum.asked_us = std::max(sum.asked_us, entries_[right.value()].asked_us);
  sum.requests = 0;
  entries_[merged.value()] = sum;
}

void LoadBook::was_moved(TabletId tablet, int64_t now_us) {
  changed(now_us);
  Entry& entry = entries_[tablet.value()];
  entry.requests = 0;
  entry.rest_until_us = now_us + kRestUs;
}

void LoadBook::was_refused(TabletId tablet, int64_t now_us) {
  entries_[tablet.value()].refused_until_us = now_us + kRestUs;
}

}  // namespace cellar::engine
