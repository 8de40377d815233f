// Reshaper: splits, merges and moves tablets of a table at random, like an operator or the
// balancer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/base/random.h"
#include "io/base/result.h"
#include "net/client/sync_client.h"

namespace cellar::process {

class Reshaper {
 public:
  // At most `most_tablets` tablets, on `shards` shards.
  Reshaper(std::string table, uint32_t shards, size_t most_tablets, uint64_t seed)
      : table_(std::move(table)), shards_(shards), most_tablets_(most_tablets), random_(seed) {}

  // Makes one change. A change that is impossible at the moment (no place to split, a reshape in
  // progress) is not an error and does not count. `row`: where a split cuts; empty: the node
  // chooses.
  Result<void> step(client::SyncClient& client, const std::string& row = {});

  // Moves the tablet of `row` to another shard.
  Result<void> move_away(client::SyncClient& client, const std::string& row);

  uint64_t splits() const { return splits_; }
  uint64_t merges() const { return merges_; }
  uint64_t moves() const { return moves_; }

 private:
  Result<std::vector<client::TabletInfo>> tablets(client::SyncClient& client) const;

  const std::string table_;
  const uint32_t shards_;
  const size_t most_tablets_;
  Random random_;
  uint64_t splits_ = 0, merges_ = 0, moves_ = 0;
};

}  // namespace cellar::process
