#include "net/client/batch_writer.h"

#include <absl/container/flat_hash_map.h>

#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace cellar::client {

namespace {

std::optional<Error> judge(const BatchWriterOptions& options) {
  if (options.batch_rows < 1 || options.batch_rows > BatchWriter::kMaxBatchRows) {
    return Error(Errc::invalid_argument,
                 fmt::format("batches of {} mutations are not 1 to {}", options.batch_rows,
                             BatchWriter::kMaxBatchRows));
  }
  if (options.max_batches < 1) {
    return Error(Errc::invalid_argument, "a writer needs at least one batch on its way");
  }
  return std::nullopt;
}

}  // namespace

// Entries move from `waiters_` (over the limit) to the queue of their row, then to a Batch in
// flight. A row is in `ready_` if it has entries and none in flight, so its entries are sent in
// order whatever the order in which batches end. Rows take turns.
class BatchWriter::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(Client& client, std::string table, BatchWriterOptions options)
      : client_(&client),
        table_(std::move(table)),
        options_(std::move(options)),
        refused_(judge(options_)),
        linger_(client.timers(), [](void* self) { static_cast<Core*>(self)->on_linger(); }, this) {}

  struct Entry {
    Mutation mutation;
    Completion<void>* done = nullptr;
    uint64_t sequence = 0;
    uint64_t row = 0;  // hash of the key
    size_t bytes = 0;
    std::unique_ptr<Entry> next;  // next entry of the row
  };
  struct Waiter {
    Mutation mutation;
    Completion<void>* taken;
    Completion<void>* done;
  };
  struct Batch {
    std::vector<Mutation> mutations;
    std::vector<std::unique_ptr<Entry>> entries;  // their mutations were moved out
  };
  struct Flush {
    Completion<void>* done;
    uint64_t through;  // sequence numbers below this
    size_t left;       // number not done
  };
  struct Row {  // or several rows whose keys have the same hash
    std::unique_ptr<Entry> first;
    Entry* last = nullptr;
    size_t entries = 0;
    size_t bytes = 0;
    bool on_its_way = false;
  };

  bool has_room(const Mutation& m) const {
    return !closed_ && waiters_.empty() && fits(m.memory_bytes());
  }
  void enqueue(Mutation m, Completion<void>* taken, Completion<void>* done);
  void flush(Completion<void>* done);
  void close(Completion<void>* done);
  void abandon();  // the writer is being destroyed

  const BatchWriterStats& stats() const { return stats_; }
  size_t pending() const { return pending_; }
  size_t pending_bytes() const { return pending_bytes_; }

 private:
  bool fits(size_t bytes) const {
    return pending_ == 0 || pending_bytes_ + bytes <= options_.max_pending_bytes;
  }
  void take(Mutation m, Completion<void>* done);
  static void append(Row& row, std::unique_ptr<Entry> entry);
  static std::unique_ptr<Entry> pop(Row& row);  // REQUIRES: not empty
  void take_waiters();
  void on_linger();
  void send_due();
  void send_batch();
  void on_answer(Batch& batch, Result<EntryResults> results);
  void release(uint64_t hash);  // a row whose batch has ended
  void finish(Entry& entry, Bytes row, Result<void> result);
  void count_flushes(uint64_t sequence);
  void end_flush(Completion<void>* done);

  Client* client_;
  const std::string table_;
  const BatchWriterOptions options_;
  const std::optional<Error> refused_;
  Timer linger_;

  std::deque<Waiter> waiters_;
  absl::flat_hash_map<uint64_t, Row> rows_;  // rows with entries queued or in flight
  std::deque<uint64_t> ready_;
  size_t ready_entries_ = 0;  // in the rows of ready_
  size_t ready_bytes_ = 0;
  bool overdue_ = false;  // the oldest entry has lingered long enough
  size_t batches_ = 0;    // in flight
  std::vector<Flush> flushes_;
  uint64_t next_sequence_ = 1;
  size_t pending_ = 0;
  size_t pending_bytes_ = 0;
  bool closed_ = false;
  std::optional<Error> first_failure_;
  uint64_t failures_ = 0;  // since the last flush
  BatchWriterStats stats_;
};

void BatchWriter::Core::enqueue(Mutation m, Completion<void>* taken, Completion<void>* done) {
  if (refused_ || closed_) {
    const Error why =
        refused_ ? *refused_ : Error(Errc::failed_precondition, "the writer is closed");
    (taken ? taken : done)->complete(std::unexpected(why), Reach::queued);
    return;
  }
  if (!has_room(m)) {
    ++stats_.waits;
    waiters_.push_back({std::move(m), taken, done});
    send_due();
    return;
  }
  take(std::move(m), done);
  if (taken) taken->complete({}, Reach::queued);
  send_due();
}

void BatchWriter::Core::take(Mutation m, Completion<void>* done) {
  auto entry = std::make_unique<Entry>(Entry{std::move(m), done, next_sequence_++, 0, 0, nullptr});
  entry->bytes = entry->mutation.memory_bytes();
  entry->row = std::hash<std::string_view>{}(entry->mutation.row());
  ++stats_.added;
  ++pending_;
  pending_bytes_ += entry->bytes;
  Row& row = rows_[entry->row];
  if (!row.on_its_way) {
    if (!row.first) ready_.push_back(entry->row);
    ++ready_entries_;
    ready_bytes_ += entry->bytes;
    if (!linger_.armed() && !overdue_) linger_.arm_after_us(options_.linger_us);
  }
  append(row, std::move(entry));
}

void BatchWriter::Core::append(Row& row, std::unique_ptr<Entry> entry) {
  ++row.entries;
  row.bytes += entry->bytes;
  Entry* last = entry.get();
  (row.first ? row.last->next : row.first) = std::move(entry);
  row.last = last;
}

std::unique_ptr<BatchWriter::Core::Entry> BatchWriter::Core::pop(Row& row) {
  std::unique_ptr<Entry> entry = std::move(row.first);
  row.first = std::move(entry->next);
  --row.entries;
  row.bytes -= entry->bytes;
  return entry;
}

void BatchWriter::Core::take_waiters() {
  while (!waiters_.empty() && fits(waiters_.front().mutation.memory_bytes())) {
    Waiter waiter = std::move(waiters_.front());
    waiters_.pop_front();
    take(std::move(waiter.mutation), waiter.done);
    if (waiter.taken) waiter.taken->complete({}, Reach::queued);
  }
}

void BatchWriter::Core::on_linger() {
  overdue_ = true;
  send_due();
}

void BatchWriter::Core::send_due() {
  const bool at_once = overdue_ || !waiters_.empty() || !flushes_.empty();
  while (!ready_.empty() && batches_ < options_.max_batches) {
    const bool full = ready_entries_ >= options_.batch_rows || ready_bytes_ >= options_.batch_bytes;
    if (!full && !at_once) break;
    send_batch();
  }
  // The remaining entries wait for more or for the end of a batch.
  if (ready_.empty()) {
    overdue_ = false;
    linger_.cancel();
  } else if (!linger_.armed() && !overdue_) {
    linger_.arm_after_us(options_.linger_us);
  }
}

void BatchWriter::Core::send_batch() {
  auto batch = std::make_shared<Batch>();
  size_t bytes = 0;
  const auto has_place = [&] {
    return batch->entries.size() < options_.batch_rows && bytes < options_.batch_bytes;
  };
  while (!ready_.empty() && has_place()) {
    Row& row = rows_[ready_.front()];
    ready_.pop_front();
    ready_entries_ -= row.entries;
    ready_bytes_ -= row.bytes;
    row.on_its_way = true;
    while (row.first && has_place()) {
      std::unique_ptr<Entry> entry = pop(row);
      bytes += entry->bytes;
      batch->mutations.push_back(std::move(entry->mutation));
      batch->entries.push_back(std::move(entry));
    }
  }
  ++batches_;
  ++stats_.batches;
  client_->async_mutate_rows(table_, batch->mutations, options_.call,
                             [self = shared_from_this(), batch](Result<EntryResults> results) {
                               self->on_answer(*batch, std::move(results));
                             });
}

void BatchWriter::Core::on_answer(Batch& batch, Result<EntryResults> results) {
  --batches_;
  for (size_t i = 0; i < batch.entries.size(); ++i) {
    Result<void> result;
    if (!results) {
      result = std::unexpected(results.error());
    } else {
      result = std::move((*results)[i]);
    }
    finish(*batch.entries[i], batch.mutations[i].row(), std::move(result));
  }
  for (const auto& entry : batch.entries) release(entry->row);
  take_waiters();
  send_due();
}

void BatchWriter::Core::release(uint64_t hash) {
  const auto at = rows_.find(hash);
  // handled with another entry of the batch
  if (at == rows_.end() || !at->second.on_its_way) return;
  Row& row = at->second;
  if (!row.first) {
    rows_.erase(at);
    return;
  }
  row.on_its_way = false;
  ready_.push_back(hash);
  ready_entries_ += row.entries;
  ready_bytes_ += row.bytes;
}

void BatchWriter::Core::finish(Entry& entry, Bytes row, Result<void> result) {
  --pending_;
  pending_bytes_ -= entry.bytes;
  if (result) {
    ++stats_.applied;
  } else {
    ++stats_.failed;
    ++failures_;
    if (!first_failure_) {
      first_failure_ = result.error();
      first_failure_->message =
          fmt::format("row '{}': {}", escape_bytes(row), result.error().message);
    }
    if (options_.on_failure) options_.on_failure(row, result.error());
  }
  if (entry.done) std::exchange(entry.done, nullptr)->complete(std::move(result), Reach::queued);
  count_flushes(entry.sequence);
}

void BatchWriter::Core::count_flushes(uint64_t sequence) {
  for (size_t i = 0; i < flushes_.size();) {
    Flush& flush = flushes_[i];
    if (sequence < flush.through) --flush.left;
    if (flush.left > 0) {
      ++i;
      continue;
    }
    Completion<void>* done = flush.done;
    flushes_.erase(flushes_.begin() + static_cast<std::ptrdiff_t>(i));
    end_flush(done);
  }
}

void BatchWriter::Core::end_flush(Completion<void>* done) {
  Result<void> result;
  if (first_failure_) {
    Error error = std::move(*first_failure_);
    if (failures_ > 1) {
      error.message = fmt::format("{} mutations failed; the first: {}", failures_, error.message);
    }
    result = std::unexpected(std::move(error));
  }
  first_failure_.reset();
  failures_ = 0;
  done->complete(std::move(result), Reach::queued);
}

void BatchWriter::Core::flush(Completion<void>* done) {
  // Mutations waiting for room were added before this flush.
  for (Waiter& waiter : waiters_) {
    take(std::move(waiter.mutation), waiter.done);
    if (waiter.taken) waiter.taken->complete({}, Reach::queued);
  }
  waiters_.clear();
  if (pending_ == 0) {
    end_flush(done);
    return;
  }
  flushes_.push_back({done, next_sequence_, pending_});
  send_due();
}

void BatchWriter::Core::close(Completion<void>* done) {
  flush(done);
  closed_ = true;
}

void BatchWriter::Core::abandon() {
  closed_ = true;
  linger_.cancel();
  const Error why(Errc::cancelled, "the writer is gone");
  std::deque<Waiter> waiters = std::exchange(waiters_, {});
  for (Waiter& waiter : waiters) {
    (waiter.taken ? waiter.taken : waiter.done)->complete(std::unexpected(why), Reach::queued);
  }
  ready_.clear();
  ready_entries_ = ready_bytes_ = 0;
  for (auto& [hash, row] : rows_) {
    while (row.first) {
      const std::unique_ptr<Entry> entry = pop(row);
      finish(*entry, entry->mutation.row(), std::unexpected(why));
    }
  }
}

BatchWriter::BatchWriter(Client& client, std::string table, BatchWriterOptions options)
    : pool_(client.pool()),
      executor_(client.executor()),
      core_(std::make_shared<Core>(client, std::move(table), std::move(options))) {}

BatchWriter::~BatchWriter() { core_->abandon(); }

bool BatchWriter::has_room(const Mutation& m) const { return core_->has_room(m); }
void BatchWriter::enqueue(Mutation m, Completion<void>* taken, Completion<void>* done) {
  core_->enqueue(std::move(m), taken, done);
}
void BatchWriter::flush(Completion<void>* done) { core_->flush(done); }
void BatchWriter::close(Completion<void>* done) { core_->close(done); }
const BatchWriterStats& BatchWriter::stats() const { return core_->stats(); }
size_t BatchWriter::pending() const { return core_->pending(); }
size_t BatchWriter::pending_bytes() const { return core_->pending_bytes(); }

}  // namespace cellar::client
