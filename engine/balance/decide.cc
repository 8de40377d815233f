#include "engine/balance/decide.h"

#include <algorithm>
#include <cmath>

#include "engine/balance/table_view.h"

namespace cellar::engine {
namespace {

using Kind = Reshape::Kind;

// The load of a moved tablet as a share of the difference between two shards: less has little
// effect, more would reverse the difference.
constexpr double kLeastOfGap = 0.1;
constexpr double kMostOfGap = 0.9;
constexpr size_t kLeastSamples = 8;
constexpr size_t kSampleShare = 10;  // a tenth on both sides

Reshape split_at(const TabletLoad& one, std::string row, const char* why) {
  return {Kind::split, one.tablet.id, TabletId{}, std::move(row), ShardId{}, why};
}

Reshape move_to(const TabletLoad& one, ShardId to, const char* why) {
  return {Kind::move, one.tablet.id, TabletId{}, {}, to, why};
}

bool may_move(const TabletLoad& one) { return !one.moved_recently && !one.refused; }

std::optional<Reshape> split_by_size(const BalanceView& view, const BalanceOptions& options) {
  const TabletLoad* largest = nullptr;
  for (const TabletLoad& one : view.tablets) {
    if (one.refused || one.bytes < options.split_bytes) continue;
    if (largest == nullptr || one.bytes > largest->bytes) largest = &one;
  }
  if (largest == nullptr) return std::nullopt;
  return split_at(*largest, {}, "size");
}

// Splits the heaviest tablet of a table with too few tablets. If one row is nearly all of its load,
// its bytes decide, if they are many.
std::optional<Reshape> split_early(const TableView& table, const BalanceOptions& options) {
  const bool by_load = table.is_loaded(options);
  const TabletLoad* heaviest = nullptr;
  for (const TabletLoad& one : table.tablets) {
    if (one.refused || (one.empty() && one.load < kQuietLoad)) continue;
    const bool heavier =
        heaviest == nullptr || (by_load ? one.load > heaviest->load : one.bytes > heaviest->bytes);
    if (heavier) heaviest = &one;
  }
  if (heaviest == nullptr) return std::nullopt;
  if (by_load) {
    if (auto row = load_median(*heaviest)) return split_at(*heaviest, std::move(*row), "early");
    if (table.bytes < options.early_split_bytes) return std::nullopt;
  }
  return split_at(*heaviest, {}, "early");
}

// Moves from the shard with most tablets of the table to one without any.
std::optional<Reshape> spread(const TableView& table, const ShardSums& sums) {
  std::optional<ShardId> from;
  std::optional<ShardId> to;
  for (uint32_t i = 0; i < sums.load.size(); ++i) {
    const ShardId shard{i};
    const uint32_t here = table.on(shard);
    if (here >= 2 && (!from || here > table.on(*from))) from = shard;
    if (here == 0 && (!to || sums.load_on(shard) < sums.load_on(*to))) to = shard;
  }
  if (!from || !to) return std::nullopt;
  const double most_there = std::max(sums.load_on(*from), kLeastLoadGap / 2);
  const TabletLoad* best = nullptr;
  for (const TabletLoad& one : table.tablets) {
    if (one.tablet.shard != *from || !may_move(one)) continue;
    if (sums.load_on(*to) + one.load > most_there) continue;
    if (best == nullptr || one.load >= best->load) best = &one;
  }
  if (best == nullptr) return std::nullopt;
  return move_to(*best, *to, "spread");
}

std::optional<Reshape> even_load(const BalanceView& view, const ShardSums& sums) {
  if (view.imbalanced_us < kPersistUs) return std::nullopt;
  const ShardId from = most(sums.load);
  const ShardId to = least(sums.load);
  const double gap = sums.load_on(from) - sums.load_on(to);
  const TabletLoad* best = nullptr;
  const TabletLoad* hottest = nullptr;
  for (const TabletLoad& one : view.tablets) {
    if (one.tablet.shard != from) continue;
    if (!one.refused && (hottest == nullptr || one.load > hottest->load)) hottest = &one;
    if (!may_move(one)) continue;
    if (one.load < gap * kLeastOfGap || one.load > gap * kMostOfGap) continue;
    const auto off = [gap](const TabletLoad& t) { return std::abs(t.load - gap / 2); };
    if (best == nullptr || off(one) < off(*best)) best = &one;
  }
  if (best != nullptr) return move_to(*best, to, "load");
  if (hottest == nullptr || hottest->load < gap / 2) return std::nullopt;
  if (hottest->bytes < kLeastSplitBytes) return std::nullopt;
  auto row = load_median(*hottest);
  if (!row) return std::nullopt;
  return split_at(*hottest, std::move(*row), "load");
}

std::optional<Reshape> even_data(const BalanceView& view, const std::vector<TableView>& tables,
                                 const ShardSums& sums, const BalanceOptions& options) {
  const ShardId from = most(sums.bytes);
  const ShardId to = least(sums.bytes);
  const double gap = sums.bytes[from.value()] - sums.bytes[to.value()];
  const double tolerated = std::max(2.0 * static_cast<double>(options.early_split_bytes),
                                    kDataTolerance * mean(sums.bytes));
  if (gap < tolerated || is_imbalanced(view)) return std::nullopt;
  const TabletLoad* best = nullptr;
  for (const TableView& table : tables) {
    if (table.on(from) == 1 && table.on(to) > 0) continue;
    for (const TabletLoad& one : table.tablets) {
      const auto bytes = static_cast<double>(one.bytes);
      if (one.tablet.shard != from || one.load > kQuietLoad || !may_move(one)) continue;
      if (bytes < gap * kLeastOfGap || bytes > gap * kMostOfGap) continue;
      const auto off = [gap](const TabletLoad& t) {
        return std::abs(static_cast<double>(t.bytes) - gap / 2);
      };
      if (best == nullptr || off(one) < off(*best)) best = &one;
    }
  }
  if (best == nullptr) return std::nullopt;
  return move_to(*best, to, "data");
}

bool is_spent(const TabletLoad& one, const BalanceOptions& options) {
  return one.has_held_data && one.empty() && !one.refused && one.idle_us >= options.merge_idle_us;
}

// Merges with the neighbour on the same shard, otherwise with the previous one.
std::optional<Reshape> merge_spent(const TableView& table, uint32_t shards,
                                   const BalanceOptions& options) {
  if (table.wants_spread(options) && table.tablets.size() <= shards) return std::nullopt;
  const auto& all = table.tablets;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!is_spent(all[i], options)) continue;
    const bool before = i > 0 && !all[i - 1].refused;
    const bool after = i + 1 < all.size() && !all[i + 1].refused;
    const bool after_is_here = after && all[i + 1].tablet.shard == all[i].tablet.shard;
    const bool before_is_here = before && all[i - 1].tablet.shard == all[i].tablet.shard;
    if (!before && !after) continue;
    const size_t left = before && (before_is_here || !after_is_here) ? i - 1 : i;
    return Reshape{Kind::merge, all[left].tablet.id, all[left + 1].tablet.id,
                   {},          ShardId{},           "empty"};
  }
  return std::nullopt;
}

}  // namespace

bool is_imbalanced(const BalanceView& view) {
  const ShardSums sums(view);
  const double gap = sums.load_on(most(sums.load)) - sums.load_on(least(sums.load));
  return gap >= std::max(kLeastLoadGap, kLoadTolerance * mean(sums.load));
}

std::optional<std::string> load_median(const TabletLoad& tablet) {
  std::vector<std::string> rows = tablet.sampled_rows;
  std::erase_if(rows, [&tablet](const std::string& row) {
    return row < tablet.tablet.start || (!tablet.tablet.end.empty() && row >= tablet.tablet.end);
  });
  if (rows.size() < kLeastSamples) return std::nullopt;
  std::sort(rows.begin(), rows.end());
  const auto middle = rows.begin() + static_cast<ptrdiff_t>(rows.size() / 2);
  // The right part starts with the middle row or with the next greater one.
  const auto first = std::lower_bound(rows.begin(), rows.end(), *middle);
  const auto next = std::upper_bound(middle, rows.end(), *middle);
  const bool first_is_nearer = middle - first <= next - middle;
  const auto least_share = static_cast<ptrdiff_t>((rows.size() + kSampleShare - 1) / kSampleShare);
  for (const auto cut : {first_is_nearer ? first : next, first_is_nearer ? next : first}) {
    if (cut - rows.begin() < least_share || rows.end() - cut < least_share) continue;
    if (*cut > tablet.tablet.start) return *cut;
  }
  return std::nullopt;
}

std::optional<Reshape> decide(const BalanceView& view, const BalanceOptions& options) {
  if (view.changes_left == 0) return std::nullopt;
  if (auto wanted = split_by_size(view, options)) return wanted;
  const std::vector<TableView> tables = tables_of(view);
  const ShardSums sums(view);
  for (const TableView& table : tables) {
    if (view.shards == 1 || !table.wants_spread(options)) continue;
    if (auto wanted = spread(table, sums)) return wanted;
    if (table.tablets.size() >= view.shards) continue;
    if (auto wanted = split_early(table, options)) return wanted;
  }
  if (view.shards > 1) {
    if (auto wanted = even_load(view, sums)) return wanted;
    if (auto wanted = even_data(view, tables, sums, options)) return wanted;
  }
  for (const TableView& table : tables) {
    if (auto wanted = merge_spent(table, view.shards, options)) return wanted;
  }
  return std::nullopt;
}

}  // namespace cellar::engine
