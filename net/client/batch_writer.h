// BatchWriter: sends many mutations in few requests and reports the outcome of each one.
//
//   BatchWriter writer(client, "metrics", {.batch_rows = 500, .linger_us = 2'000});
//   for (const Sample& sample : samples) {
//     CO_TRY_VOID(co_await writer.async_add(mutation_of(sample), use_awaitable));
//   }
//   CO_TRY_VOID(co_await writer.async_close(use_awaitable));   // everything is applied now
//
// A batch is sent at `batch_rows` mutations or `batch_bytes`, `linger_us` after its first mutation,
// or immediately while a caller waits for room or for a flush. At most `max_batches` are in flight.
//
// Back pressure: mutations accepted and not done use at most `max_pending_bytes` (a single larger
// one is accepted alone). Beyond that try_add() returns false, and async_add() and async_write()
// wait in order.
//
// Order: mutations of one row are applied in the order of addition. A row is in at most one batch
// in flight; later mutations of it wait for that batch. Entries that failed with a transient error
// are retried by the client (retry_policy.h), each independently; an entry is not retried, and
// fails, if a later one of its row in the batch has been applied. An entry that may have been
// applied is retried only with its own token, or with `call.draw_tokens` or `call.sole_writer`;
// otherwise it fails as maybe_applied.
//
// Results. The handler of a mutation, if given, receives its result; `on_failure` is called for
// every failed mutation; async_flush() and async_close() return the first failure since the last
// flush. A failed mutation does not stop the others.
//
// One loop, the client's. The client must outlive the writer. Destroying a writer that was not
// closed completes unsent mutations with CANCELLED (not applied); batches in flight still complete.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "net/client/client.h"

namespace cellar::client {

struct BatchWriterOptions {
  size_t batch_rows = 500;               // mutations per request, 1 to kMaxBatchRows
  size_t batch_bytes = 1u << 20;         // approximate bytes per request
  int64_t linger_us = 5'000;             // how long an incomplete batch waits
  size_t max_batches = 4;                // in flight, at least 1
  size_t max_pending_bytes = 32u << 20;  // bytes of mutations accepted and not done
  // For a batch, from its first attempt to the last; long, so that it survives a restart of the
  // node. `call.durability` applies to every mutation.
  CallOptions call = {.deadline_us = 120'000'000};
  // Called for each failed mutation, before its own handler.
  std::function<void(Bytes row, const Error& error)> on_failure = {};
};

struct BatchWriterStats {
  uint64_t added = 0;    // accepted
  uint64_t applied = 0;  // acknowledged
  uint64_t failed = 0;   // refused or in doubt
  uint64_t batches = 0;  // sent; added / batches is the average batch size
  uint64_t waits = 0;    // adds that waited for room
};

class BatchWriter {
 public:
  static constexpr size_t kMaxBatchRows = 100'000;

  // Invalid options are reported by the first add as INVALID_ARGUMENT.
  BatchWriter(Client& client, std::string table, BatchWriterOptions options = {});
  ~BatchWriter();
  BatchWriter(const BatchWriter&) = delete;
  BatchWriter& operator=(const BatchWriter&) = delete;

  // void(Result<void>): completes when the mutation is accepted, at once if there is room.
  template <class T>
  auto async_add(Mutation m, T&& token) {
    return asio::async_initiate<T, void(Result<void>)>(
        [this](auto handler, Mutation mutation) {
          this->enqueue(std::move(mutation), completion_of(std::move(handler)), nullptr);
        },
        token, std::move(m));
  }
  // void(Result<void>): completes when the mutation is applied or has failed.
  template <class T>
  auto async_write(Mutation m, T&& token) {
    return asio::async_initiate<T, void(Result<void>)>(
        [this](auto handler, Mutation mutation) {
          this->enqueue(std::move(mutation), nullptr, completion_of(std::move(handler)));
        },
        token, std::move(m));
  }
  // Accepts the mutation if there is room now; otherwise returns false and leaves `m` unchanged.
  // `done`: see the handler of async_write.
  template <class Handler>
  bool try_add(Mutation& m, Handler done) {
    if (!has_room(m)) return false;
    enqueue(std::move(m), nullptr, completion_of(std::move(done)));
    return true;
  }
  // void(Result<void>): completes when everything added before is done, with the first failure
  // since the last flush, if any.
  template <class T>
  auto async_flush(T&& token) {
    return asio::async_initiate<T, void(Result<void>)>(
        [this](auto handler) { this->flush(completion_of(std::move(handler))); }, token);
  }
  // Like async_flush; later adds fail with FAILED_PRECONDITION.
  template <class T>
  auto async_close(T&& token) {
    return asio::async_initiate<T, void(Result<void>)>(
        [this](auto handler) { this->close(completion_of(std::move(handler))); }, token);
  }

  const BatchWriterStats& stats() const;
  size_t pending() const;        // mutations accepted and not done
  size_t pending_bytes() const;  // their bytes

 private:
  class Core;

  template <class Handler>
  Completion<void>* completion_of(Handler handler) {
    return HandlerCompletion<void, Handler>::make(pool_, executor_, std::move(handler));
  }
  bool has_room(const Mutation& m) const;
  void enqueue(Mutation m, Completion<void>* taken, Completion<void>* done);
  void flush(Completion<void>* done);
  void close(Completion<void>* done);

  std::shared_ptr<BlockPool> pool_;
  ShardExecutor executor_;
  std::shared_ptr<Core> core_;
};

}  // namespace cellar::client
