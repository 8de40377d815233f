// BatchWriter: many mutations with few requests. Takes mutations one by one, sends them in batches,
// and tells of each one what became of it.
//
//   BatchWriter writer(client, "metrics", {.batch_rows = 500, .linger_us = 2'000});
//   for (const Sample& sample : samples) {
//     CO_TRY_VOID(co_await writer.async_add(mutation_of(sample), use_awaitable));
//   }
//   CO_TRY_VOID(co_await writer.async_close(use_awaitable));   // everything is applied now
//
// When a batch leaves: at `batch_rows` mutations or `batch_bytes`, `linger_us` after its first one,
// or at once while somebody waits for room or for a flush. At most `max_batches` are on their way.
//
// Back pressure: mutations that were taken and are not done yet hold at most `max_pending_bytes`
// (one larger than that is taken alone). Then try_add() says no, and async_add() and async_write()
// wait, in order.
//
// Order: mutations of one row are applied in the order in which they were added. A row is in one
// batch on its way at a time; what comes for it meanwhile waits for that batch. Entries of a batch
// that failed in passing are sent again by the client (retry_policy.h), each on its own; one whose
// later neighbour of the same row has been applied by then is not, and fails. One that may have
// been applied is sent again only with a token of its own, or by `call.draw_tokens` or
// `call.sole_writer`; otherwise it fails as maybe_applied.
//
// What is told. Each mutation by its own handler, where it was given one; `on_failure` for every
// one that failed; and async_flush() and async_close() with the first failure since the last flush.
// A failed mutation does not stop the others.
//
// One loop, the client's. The client must outlive the writer. Destroying a writer that was not
// closed ends what was not sent yet with CANCELLED (not applied); what is on its way still ends by
// itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "net/client/client.h"

namespace cellar::client {

struct BatchWriterOptions {
  size_t batch_rows = 500;               // mutations in a request, 1 to kMaxBatchRows
  size_t batch_bytes = 1u << 20;         // of mutations in a request, about
  int64_t linger_us = 5'000;             // a batch that is not full waits so long for company
  size_t max_batches = 4;                // on their way at one time, at least 1
  size_t max_pending_bytes = 32u << 20;  // of mutations taken and not done
  // Of a batch, from its first attempt to the last; long, so that a restart of the node is
  // outlived. `call.durability` holds for every mutation.
  CallOptions call = {.deadline_us = 120'000'000};
  // Called for each mutation that failed, before its own handler.
  std::function<void(Bytes row, const Error& error)> on_failure = {};
};

struct BatchWriterStats {
  uint64_t added = 0;    // taken
  uint64_t applied = 0;  // acknowledged
  uint64_t failed = 0;   // refused, or in doubt
  uint64_t batches = 0;  // sent; added / batches is what batching saves
  uint64_t waits = 0;    // adds that had to wait for room
};

class BatchWriter {
 public:
  static constexpr size_t kMaxBatchRows = 100'000;

  // INVALID_ARGUMENT for options out of range comes with the first add.
  BatchWriter(Client& client, std::string table, BatchWriterOptions options = {});
  ~BatchWriter();
  BatchWriter(const BatchWriter&) = delete;
  BatchWriter& operator=(const BatchWriter&) = delete;

  // void(Result<void>): completes once the mutation is taken, which is at once while there is room.
  template <class T>
  auto async_add(Mutation m, T&& token) {
    return asio::async_initiate<T, void(Result<void>)>(
        [this](auto handler, Mutation mutation) {
          this->enqueue(std::move(mutation), completion_of(std::move(handler)), nullptr);
        },
        token, std::move(m));
  }
  // void(Result<void>): completes once the mutation is applied, or with why it is not.
  template <class T>
  auto async_write(Mutation m, T&& token) {
    return asio::async_initiate<T, void(Result<void>)>(
        [this](auto handler, Mutation mutation) {
          this->enqueue(std::move(mutation), nullptr, completion_of(std::move(handler)));
        },
        token, std::move(m));
  }
  // Takes the mutation if there is room now; else false, and `m` is untouched. `done` is as the
  // handler of async_write.
  template <class Handler>
  bool try_add(Mutation& m, Handler done) {
    if (!has_room(m)) return false;
    enqueue(std::move(m), nullptr, completion_of(std::move(done)));
    return true;
  }
  // void(Result<void>): completes once everything added before is done. The first failure since the
  // last flush, if there was one.
  template <class T>
  auto async_flush(T&& token) {
    return asio::async_initiate<T, void(Result<void>)>(
        [this](auto handler) { this->flush(completion_of(std::move(handler))); }, token);
  }
  // As async_flush; nothing can be added after it (FAILED_PRECONDITION).
  template <class T>
  auto async_close(T&& token) {
    return asio::async_initiate<T, void(Result<void>)>(
        [this](auto handler) { this->close(completion_of(std::move(handler))); }, token);
  }

  const BatchWriterStats& stats() const;
  size_t pending() const;        // mutations taken and not done
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
