// Importer: records of a source into a table, through the client's batching writer.
//
// Memory is bounded by the writer's `max_pending_bytes` and one record. Its writes carry no tokens:
// a fast import would fill the node's bounded memory of them for every client. So a write that may
// have been applied is not repeated (net/client/api/retry_policy.h): it ends the import. An import
// that was cut off is resumed from the position before which everything was acknowledged; what lies
// between there and Ending::line may have been written, so resuming is the user's choice, unless
// Ending::clean or the user is the sole writer.
//
// A row with more than kPieceOperations cells or kPieceBytes is written in pieces, each atomic.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/cli/transfer/record_source.h"
#include "net/client/batch_writer.h"
#include "net/client/sync_client.h"

namespace cellar::cli {

struct ImportStats {
  uint64_t records = 0;  // read, good or bad
  uint64_t rows = 0;     // row mutations acknowledged
  uint64_t cells = 0;    // in them
  uint64_t rejected = 0;
  uint64_t bytes = 0;  // read
  int64_t elapsed_us = 0;
};

struct ImportEvents {
  std::function<void(uint64_t line, const Error& why)> rejected;
  std::function<void(const ImportStats& so_far)> progress;  // now and then
  // Every record before this position is acknowledged or rejected. About once a second, and when
  // the import ends, however it does.
  std::function<void(Position at, const ImportStats& so_far)> acknowledged;
};

// How an import that failed left the table.
struct Ending {
  // Nothing at or after the acknowledged position was written, for certain.
  bool clean = true;
  uint64_t line = 0;  // the last that was read
};

class Importer {
 public:
  static constexpr size_t kPieceOperations = 10'000;
  static constexpr size_t kPieceBytes = 4u << 20;
  static constexpr size_t kPendingBytes = 16u << 20;
  static constexpr size_t kBatchBytes = 1u << 20;
  static constexpr int64_t kAcknowledgeEveryUs = 1'000'000;

  // `before`: the counts of an earlier run that this one continues. Stops with RESOURCE_EXHAUSTED
  // once more than `max_rejected` records were (0: never).
  Importer(client::SyncClient& client, std::string table, uint64_t max_rejected, bool sole_writer,
           const ImportStats& before, ImportEvents events);
  ~Importer();
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  // To the end of the source. An error ends the import early; stats() and ending() tell how far it
  // came.
  Result<void> run(RecordSource& source);
  const ImportStats& stats() const { return tally_->stats; }
  const Ending& ending() const { return ending_; }

 private:
  static constexpr size_t kSpanRecords = 256;
  static constexpr int64_t kProgressEveryUs = 100'000;
  // The longest that a batch is tried again: a restart of the node is outlived.
  static constexpr int64_t kPatienceUs = 120'000'000;

  // Consecutive records; done in the order of the file.
  struct Span {
    Position begin;
    size_t left = 0;  // not answered
    bool closed = false;
    bool written = false;  // something of it is, or may be, applied
  };
  // What answers change, which may come when the importer is gone.
  struct Tally {
    ImportStats stats;
    ImportEvents events;
    uint64_t max_rejected = 0;
    std::deque<std::shared_ptr<Span>> spans;
    Position acknowledged;
    std::optional<Error> broken;  // one that leaves a doubt comes before others
    size_t pending = 0;           // pieces not answered, in all spans
    bool abandoned = false;
    void answered(Span& span, uint64_t line, size_t cells, const Result<void>& result);
    void reject(uint64_t line, const Error& why);
    void pop_done();
  };

  Result<void> read_all(RecordSource& source);
  Result<void> add(client::Mutation mutation, uint64_t line);
  Result<void> add_piece(client::Mutation mutation, uint64_t line);
  Result<void> drain();
  void settle();
  void next_span(Position begin);
  void tell(bool always);

  client::SyncClient& client_;
  std::shared_ptr<Tally> tally_;
  std::optional<client::BatchWriter> writer_;  // none once the import has failed
  Ending ending_;
  std::shared_ptr<Span> span_;
  size_t span_records_ = 0;
  int64_t began_us_ = 0;
  int64_t told_us_ = 0;
  int64_t acknowledged_us_ = 0;
};

}  // namespace cellar::cli
