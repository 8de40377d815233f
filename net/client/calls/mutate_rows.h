// MutateRowsOp: a MutateRows, divided into requests.
//
// The batch is split by shard if the table's map is known and the batch is large enough, so that no
// part is forwarded between shards inside the node. An entry that failed with a transient error is
// retried, together with other such entries of its part, if that is safe for it (retry_policy.h).
// Entries of one row apply in the order of the request: an entry is not retried if a later one of
// its row has been or may have been applied; it fails with its last error.
//
// Owns itself: it lives until every part has ended, then completes and destroys itself.
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
  static constexpr size_t kMinCutRows = 16;  // smaller batches are not split

  // Builds the requests; `deadline_us` and `wait`: see Request.
  MutateRowsOp(Dispatcher& dispatcher, std::string_view table, const std::vector<Mutation>& entries,
               const CallOptions& options, int64_t deadline_us, bool wait);
  // Sends the requests. Call at most once.
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
  Repeat repeat_of(const std::vector<uint32_t>& entries) const;
  void part_ended(Reach reach);

  Dispatcher& dispatcher_;
  Completion<EntryResults>* completion_ = nullptr;
  std::vector<Prepared> prepared_;  // until start()
  EntryResults results_;
  std::vector<Repeat> repeats_;   // per entry
  std::vector<bool> tokens_;      // per entry: it has one
  std::vector<Part*> parts_;      // not yet ended
  bool answered_ = false;         // at least one part was answered entry by entry
  std::optional<Error> refused_;  // error of a request without entries
};

}  // namespace cellar::client
