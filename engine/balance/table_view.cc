#include "engine/balance/table_view.h"

#include <algorithm>
#include <numeric>

namespace cellar::engine {

uint32_t TableView::on(ShardId shard) const {
  return static_cast<uint32_t>(
      std::count_if(tablets.begin(), tablets.end(),
                    [shard](const TabletLoad& one) { return one.tablet.shard == shard; }));
}

std::vector<TableView> tables_of(const BalanceView& view) {
  std::vector<TableView> tables;
  size_t begin = 0;
  for (size_t i = 0; i < view.tablets.size(); ++i) {
    const TabletLoad& one = view.tablets[i];
    if (i == 0 || one.tablet.table != view.tablets[i - 1].tablet.table) {
      begin = i;
      tables.emplace_back();
    }
    TableView& table = tables.back();
    table.tablets = std::span(view.tablets).subspan(begin, i + 1 - begin);
    table.bytes += one.bytes;
    table.load += one.load;
  }
  return tables;
}

ShardSums::ShardSums(const BalanceView& view) : load(view.shards), bytes(view.shards) {
  for (const TabletLoad& one : view.tablets) {
    load[one.tablet.shard.value()] += one.load;
    bytes[one.tablet.shard.value()] += static_cast<double>(one.bytes);
  }
}

ShardId most(const std::vector<double>& of_shards) {
  const auto it = std::max_element(of_shards.begin(), of_shards.end());
  return ShardId{static_cast<uint32_t>(it - of_shards.begin())};
}

ShardId least(const std::vector<double>& of_shards) {
  const auto it = std::min_element(of_shards.begin(), of_shards.end());
  return ShardId{static_cast<uint32_t>(it - of_shards.begin())};
}

double mean(const std::vector<double>& of_shards) {
  return std::accumulate(of_shards.begin(), of_shards.end(), 0.0) /
         static_cast<double>(of_shards.size());
}

}  // namespace cellar::engine
