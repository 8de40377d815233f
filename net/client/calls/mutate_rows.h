// MutateRowsOp: a MutateRows over as many requests as it takes.
//
// Cut by shard where the map of the table is known and the batch is worth it, so that no part is
// handed from shard to shard inside the node. An entry that failed in passing is sent again, with
// the others of its part that did, if that is safe for this very entry (retry_policy.h). Entries of
// one row apply in the order of the request: an entry is not sent again when a later one of its row
// has been applied, or may have been; it fails with what it was told.
//
// Owns itself: lives until every part has ended, then completes and is gone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/client/connections/dispatcher.h"

namespace cellar::client {

class MutateRowsOp : public std::enable_shared_from_this<MutateRowsOp> {
 public:
  static constexpr size_t kMinCutRows = 16;  // a smaller batch goes whole

  // Builds the requests; `deadline_us` and `wait` as in Request.
  MutateRowsOp(Dispatcher& dispatcher, std::string_view table, const std::vector<Mutation>& entries,
               const CallOptions& options, int64_t deadline_us, bool wait);
  // Called once at most; sends them.
  void start(Completion<EntryResults>* completion);
  void cancel();

 private:
  class Part;

  struct Prepared {
    std::vector<uint32_t> entries;
    Request request;
  };
  void cut(std::string_view table, const std::vector<Mutation>& entries,
           std::vector<std::vector<uint32_t>>& parts);
  void part_ended(Reach reach);

  Dispatcher& dispatcher_;
  Completion<EntryResults>* completion_ = nullptr;
  std::vector<Prepared> prepared_;  // until start()
  EntryResults results_;
  std::vector<Repeat> repeats_;   // of each entry
  std::vector<Part*> parts_;      // not ended
  bool answered_ = false;         // some part was, entry by entry
  std::optional<Error> refused_;  // a request without entries: nothing else tells its failure
};

}  // namespace cellar::client
