// Clients that overwrite, delete and let cells expire until the node is killed, and then know the
// possible contents of each row.
//
// A writer has kSlots rows and at most one request in flight per row, so it knows for each row the
// last acknowledged write and at most one later write in doubt:
//   latest   maxversions=1, the newest value of the row, or none after a delete
//   brief    maxage=kBriefUs; a cell is absent when it is older, and not before
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/base/random.h"
#include "net/client/sync_client.h"

namespace cellar::process {

inline constexpr int64_t kBriefUs = 4'000'000;

class AgingWriter {
 public:
  static constexpr size_t kSlots = 3000;

  AgingWriter(int number, uint64_t seed) : number_(number), random_(seed), slots_(kSlots) {}

  // Keeps `depth` requests in flight until one fails permanently: a write that was not applied is
  // sent up to `attempts` times. Values have up to `value_bytes`.
  void write_until_failure(const std::string& address, size_t depth, size_t value_bytes,
                           uint32_t attempts = 1);
  // Reads all of its rows. Returns the violations; empty: none. Resolves writes in doubt.
  std::vector<std::string> check(client::SyncClient& client);

  uint64_t acknowledged() const { return acknowledged_; }

 private:
  // The value in `latest`; 0: none.
  struct Slot {
    uint64_t known = 0;
    std::optional<uint64_t> doubtful;
    bool busy = false;
    int64_t brief_us = 0;  // timestamp of the newest acknowledged cell of `brief`; 0: none
  };
  // The result of a read of one row.
  struct Seen {
    uint64_t latest = 0;
    size_t latest_cells = 0;
    int64_t brief_us = 0;
    int64_t oldest_brief_us = INT64_MAX;
  };

  std::string row(size_t slot) const { return fmt::format("w{:02}-{:06}", number_, slot); }
  client::Mutation mutation(size_t slot, uint64_t value, size_t value_bytes, int64_t now_us);
  size_t free_slot();
  void acknowledge(Slot& slot, uint64_t value, int64_t brief_us);
  void judge(size_t slot, const Seen& seen, int64_t began_us, int64_t ended_us,
             std::vector<std::string>& wrong);

  const int number_;
  Random random_;
  std::vector<Slot> slots_;
  uint64_t next_ = 1;
  uint64_t acknowledged_ = 0;
};

// Merged often, compressed by Zstandard at the bottom, reclaimed soon.
Result<void> create_aging_table(client::SyncClient& client);

}  // namespace cellar::process
