#include "tests/process/support/reshaper.h"

#include <utility>
#include <vector>

namespace cellar::process {
namespace {

template <class T>
Result<void> count(const Result<T>& done, uint64_t& counter) {
  if (done) {
    ++counter;
    return {};
  }
  switch (done.error().code) {
    case Errc::aborted:
    case Errc::failed_precondition:
    case Errc::invalid_argument:
    case Errc::not_found:
    case Errc::out_of_range:
    case Errc::resource_exhausted:
      return {};
    default:
      return std::unexpected(done.error());
  }
}

}  // namespace

Result<std::vector<client::TabletInfo>> Reshaper::tablets(client::SyncClient& client) const {
  client::ListTablets list;
  list.table = table_;
  TRY(client::TabletPage page, client.list_tablets(list));
  if (page.tablets.empty()) return fail(Errc::internal, "table '{}' has no tablets", table_);
  return std::move(page.tablets);
}

Result<void> Reshaper::move_away(client::SyncClient& client, const std::string& row) {
  TRY(const auto tablets, this->tablets(client));
  size_t at = tablets.size() - 1;
  while (at > 0 && tablets[at].start > row) --at;
  const auto away = 1 + static_cast<uint32_t>(random_.below(shards_ - 1));
  const uint32_t to = (tablets[at].shard + away) % shards_;
  return count(client.move_tablet(table_, tablets[at].tablet_id, to), moves_);
}

Result<void> Reshaper::step(client::SyncClient& client, const std::string& row) {
  TRY(const auto tablets, this->tablets(client));
  const size_t at = random_.below(tablets.size());
  const uint64_t dice = random_.below(10);
  if (dice < 4) {
    const auto to = static_cast<uint32_t>(random_.below(shards_));
    return count(client.move_tablet(table_, tablets[at].tablet_id, to), moves_);
  }
  if (dice < 7 && tablets.size() < most_tablets_) {
    client::SplitTablet split;
    split.table = table_;
    split.row = row;
    if (row.empty()) split.tablet_id = tablets[at].tablet_id;
    return count(client.split_tablet(split), splits_);
  }
  if (at + 1 == tablets.size()) return {};
  return count(client.merge_tablets(table_, tablets[at].tablet_id, tablets[at + 1].tablet_id),
               merges_);
}

}  // namespace cellar::process
