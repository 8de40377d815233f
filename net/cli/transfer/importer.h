// Importer: writes the records of a source to a table with the client's batching writer.
//
// Memory is bounded by twice the writer's `max_pending_bytes` and one record. The writes carry no
// tokens, because a fast import would fill the node's bounded token memory for every client. A
// write that may have been applied is therefore not retried (net/client/api/retry_policy.h): it
// ends the import. An interrupted import resumes from the position before which everything was
// acknowledged. Records between there and Ending::line may have been written, so resuming is the
// user's decision, unless Ending::clean or the user is the sole writer.
//
// A row with more than kPieceOperations cells or kPieceBytes is written in pieces, each atomic. A
// piece that is refused because of a cell is halved until only that cell is left out. A later piece
// that sets one of its cells waits until it is done, so the last one in the file still counts.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "net/cli/transfer/record_source.h"
#include "net/client/batch_writer.h"
#include "net/client/sync_client.h"

namespace cellar::cli {

struct ImportStats {
  uint64_t records = 0;   // read, valid or not
  uint64_t rows = 0;      // acknowledged row mutations
  uint64_t cells = 0;     // in these rows
  uint64_t rejected = 0;  // records, and cells of other records
  uint64_t bytes = 0;     // read
  int64_t elapsed_us = 0;
};

struct ImportEvents {
  std::function<void(uint64_t line, const Error& why)> rejected;
  std::function<void(const ImportStats& so_far)> progress;  // called periodically
  // Every record before `at` is acknowledged or rejected. Called about once a second and at the end
  // of the import, also on failure.
  std::function<void(Position at, const ImportStats& so_far)> acknowledged;
};

// The state of the table after a failed import.
struct Ending {
  // Nothing at or after the acknowledged position was written.
  bool clean = true;
  uint64_t line = 0;  // the last line read
};

class Importer {
 public:
  static constexpr size_t kPieceOperations = 10'000;
  static constexpr size_t kPieceBytes = 4u << 20;
  static constexpr size_t kPendingBytes = 16u << 20;
  static constexpr size_t kBatchBytes = 1u << 20;
  static constexpr int64_t kAcknowledgeEveryUs = 1'000'000;

  // `before`: counts of the earlier run that this one continues. Stops with RESOURCE_EXHAUSTED
  // after more than `max_rejected` rejected records and cells (0: no limit).
  Importer(client::SyncClient& client, std::string table, uint64_t max_rejected, bool sole_writer,
           const ImportStats& before, ImportEvents events);
  ~Importer();
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  // Imports to the end of the source. An error ends the import early; see stats() and ending().
  Result<void> run(RecordSource& source);
  const ImportStats& stats() const { return tally_->stats; }
  const Ending& ending() const { return ending_; }

 private:
  static constexpr size_t kSpanRecords = 256;
  static constexpr int64_t kProgressEveryUs = 100'000;
  // The longest time a batch is retried; longer than a restart of the node.
  static constexpr int64_t kPatienceUs = 120'000'000;

  // Consecutive records, completed in file order.
  struct Span {
    Position begin;
    size_t left = 0;  // not answered
    bool closed = false;
    bool written = false;  // some of it is or may be applied
  };
  struct Range {
    size_t begin = 0;
    size_t end = 0;
    size_t size() const { return end - begin; }
  };
  // A mutation of one record; after a refusal, written in parts, one after the other.
  struct Piece {
    std::shared_ptr<Span> span;
    uint64_t line = 0;
    std::vector<uint64_t> lines;            // of the cells; empty: all are in `line`
    std::optional<client::Mutation> whole;  // to be split; absent: it has one cell
    std::vector<uint64_t> names;            // of its cells, if there are several
    Range sent;
    std::vector<Range> parts;  // not sent, the last one first
    bool written = false;
    // An error is of the record, or of the first of the cells that were sent.
    uint64_t line_sent() const { return lines.empty() ? line : lines[sent.begin]; }
    void halve();
    client::Mutation cut(Range range) const;
  };
  using SharedPiece = std::shared_ptr<Piece>;
  // State changed by answers, which may arrive after the importer is destroyed.
  struct Tally {
    ImportStats stats;
    ImportEvents events;
    uint64_t max_rejected = 0;
    std::deque<std::shared_ptr<Span>> spans;
    Position acknowledged;
    std::optional<Error> broken;           // doubtful ones take precedence
    size_t pending = 0;                    // unanswered mutations in all spans
    std::deque<SharedPiece> refused;       // their next part is to be sent
    std::unordered_set<uint64_t> setting;  // names of the cells of pieces that are kept
    size_t kept_bytes = 0;
    bool flushed = true;  // no flush is under way
    bool abandoned = false;
    bool may_add(const Piece& piece) const;
    void keep(const Piece& piece);
    void answered(const SharedPiece& piece, const Result<void>& result);
    void settle(Piece& piece);
    void reject(uint64_t line, const Error& why, size_t count = 1);
    void pop_done();
  };

  Result<void> read_all(RecordSource& source);
  Result<void> add(client::Mutation mutation, const RecordSource& source);
  Result<void> add_piece(client::Mutation mutation, uint64_t line, std::span<const uint64_t> lines);
  bool send(const SharedPiece& piece, client::Mutation& mutation);
  void send_parts();
  void flush_once();
  Result<void> drain();
  void await_pieces();
  void next_span(Position begin);
  void tell(bool always);

  client::SyncClient& client_;
  std::shared_ptr<Tally> tally_;
  std::optional<client::BatchWriter> writer_;  // empty after a failure
  Ending ending_;
  std::shared_ptr<Span> span_;
  size_t span_records_ = 0;
  Position read_to_;  // before the last record; after a failed read the source's own is behind it
  int64_t began_us_ = 0;
  int64_t told_us_ = 0;
  int64_t acknowledged_us_ = 0;
};

}  // namespace cellar::cli
