// Clients that overwrite, delete and let die until the node is killed, and know afterwards what
// each row may hold.
//
// A writer has kSlots rows and never two requests of one row in flight, so of each row it knows
// what was acknowledged last and at most one thing that was sent after it and is in doubt:
//   latest   maxversions=1, the row's newest value or none, for rows are deleted, too
//   brief    maxage=kBriefUs; a cell is gone when it is older, and not before
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

  // `depth` requests in flight, until one fails for good: what was not applied is sent up to
  // `attempts` times. Values of up to `value_bytes`.
  void write_until_failure(const std::string& address, size_t depth, size_t value_bytes,
                           uint32_t attempts = 1);
  // Reads all of its rows. What is wrong; empty: nothing. What was in doubt is known from then on.
  std::vector<std::string> check(client::SyncClient& client);

  uint64_t acknowledged() const { return acknowledged_; }

 private:
  // What `latest` holds; 0: nothing.
  struct Slot {
    uint64_t known = 0;
    std::optional<uint64_t> doubtful;
    bool busy = false;
    int64_t brief_us = 0;  // of the newest cell of `brief` that was acknowledged; 0: none was
  };
  // What a read of one row told.
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

// Merged often, packed by Zstandard at the bottom, what is dead gone soon.
Result<void> create_aging_table(client::SyncClient& client);

}  // namespace cellar::process
