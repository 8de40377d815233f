// Importer: records of a source into a table, in batches of MutateRows, several in flight.
//
// Memory is bounded by kBatchesInFlight * kBatchBytes. Rows of one batch are each atomic; a batch
// of which the fate is unknown (the connection broke) is sent again when that is harmless: when
// every cell in it has a timestamp of its own, so that a second write changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/cli/record_source.h"
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
};

class Importer {
 public:
  static constexpr size_t kBatchRows = 500;
  static constexpr size_t kBatchBytes = 512 * 1024;
  static constexpr size_t kBatchesInFlight = 8;
  static constexpr int kAttempts = 8;                    // of a batch
  static constexpr int64_t kLongestPauseUs = 1'000'000;  // between two of them

  Importer(client::SyncClient& client, std::string table, ImportEvents events);

  // To the end of the source. An error ends the import early; stats() tells how far it came.
  Result<void> run(RecordSource& source);
  const ImportStats& stats() const { return stats_; }

 private:
  struct Batch {
    std::vector<client::Mutation> rows;
    std::vector<uint64_t> lines;
    size_t bytes = 0;
    int attempts = 0;
    bool repeatable = true;
  };
  static constexpr int64_t kProgressEveryUs = 100'000;

  Result<void> add(client::Mutation mutation, uint64_t line);
  Result<void> send(std::shared_ptr<Batch> batch);
  void answered(std::shared_ptr<Batch> batch, Result<client::EntryResults> results);
  void send_again(std::shared_ptr<Batch> batch, uint32_t after_ms);
  Result<void> drain(size_t down_to);  // takes turns until so few batches are in flight
  void reject(uint64_t line, const Error& why);
  void tell_progress(bool always);

  client::SyncClient& client_;
  std::string table_;
  ImportEvents events_;
  ImportStats stats_;
  std::shared_ptr<Batch> open_;
  struct Waiting {
    std::shared_ptr<Batch> batch;
    int64_t due_us;
  };
  std::vector<Waiting> again_;  // batches that wait for their next attempt
  size_t in_flight_ = 0;        // those included
  std::optional<Error> broken_;
  int64_t began_us_ = 0;
  int64_t told_us_ = 0;
};

}  // namespace cellar::cli
