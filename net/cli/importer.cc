#include "net/cli/importer.h"

#include <algorithm>
#include <utility>

namespace cellar::cli {

Importer::Importer(client::SyncClient& client, std::string table, ImportEvents events)
    : client_(client),
      table_(std::move(table)),
      events_(std::move(events)),
      open_(std::make_shared<Batch>()) {}

Result<void> Importer::run(RecordSource& source) {
  client_.loop().turn(false);  // brings the loop's clock up to now
  began_us_ = client_.loop().timers().now_us();
  while (true) {
    auto record = source.next();
    stats_.bytes = source.bytes();
    if (!record) {
      if (record.error().code == Errc::failed_precondition) return std::unexpected(record.error());
      ++stats_.records;
      reject(source.line(), record.error());
      continue;
    }
    if (!*record) break;
    ++stats_.records;
    TRY_VOID(add(**std::move(record), source.line()));
  }
  if (!open_->rows.empty()) {
    TRY_VOID(send(std::exchange(open_, std::make_shared<Batch>())));
  }
  TRY_VOID(drain(0));
  tell_progress(true);
  return {};
}

Result<void> Importer::add(client::Mutation mutation, uint64_t line) {
  for (const auto& operation : mutation.operations()) {
    open_->repeatable &= operation.timestamp_us.has_value();
  }
  open_->bytes += mutation.memory_bytes();
  open_->rows.push_back(std::move(mutation));
  open_->lines.push_back(line);
  if (open_->rows.size() < kBatchRows && open_->bytes < kBatchBytes) return {};
  return send(std::exchange(open_, std::make_shared<Batch>()));
}

Result<void> Importer::send(std::shared_ptr<Batch> batch) {
  TRY_VOID(drain(kBatchesInFlight - 1));
  ++in_flight_;
  ++batch->attempts;
  client_.client().async_mutate_rows(
      table_, batch->rows, {},
      [this, batch](Result<client::EntryResults> results) { answered(batch, std::move(results)); });
  return {};
}

void Importer::answered(std::shared_ptr<Batch> batch, Result<client::EntryResults> results) {
  const auto may_repeat = [&](const Error& error) {
    return error.retryable() && batch->attempts < kAttempts &&
           (batch->repeatable || error.applied == Applied::not_applied);
  };
  if (!results) {
    if (may_repeat(results.error())) {
      send_again(std::move(batch), results.error().retry_after_ms);
      return;
    }
    --in_flight_;
    if (!broken_) broken_ = results.error();
    return;
  }
  auto left = std::make_shared<Batch>();
  left->attempts = batch->attempts;
  left->repeatable = batch->repeatable;
  uint32_t after_ms = 0;
  for (size_t i = 0; i < results->size(); ++i) {
    const Result<void>& result = (*results)[i];
    if (result) {
      ++stats_.rows;
      stats_.cells += batch->rows[i].operations().size();
    } else if (may_repeat(result.error())) {
      left->rows.push_back(std::move(batch->rows[i]));
      left->lines.push_back(batch->lines[i]);
      after_ms = std::max(after_ms, result.error().retry_after_ms);
    } else {
      reject(batch->lines[i], result.error());
    }
  }
  if (left->rows.empty()) {
    --in_flight_;
  } else {
    send_again(std::move(left), after_ms);
  }
}

void Importer::send_again(std::shared_ptr<Batch> batch, uint32_t after_ms) {
  const int64_t growing_us = int64_t{10'000} << std::min(batch->attempts, 6);
  const int64_t pause_us = std::max<int64_t>(int64_t{after_ms} * 1000, growing_us);
  again_.push_back(
      {std::move(batch), client_.loop().timers().now_us() + std::min(pause_us, kLongestPauseUs)});
}

Result<void> Importer::drain(size_t down_to) {
  while (in_flight_ > down_to && !broken_) {
    // While a batch waits for its time the loop must not sleep past it.
    client_.loop().turn(again_.empty());
    const int64_t now_us = client_.loop().timers().now_us();
    for (size_t i = 0; i < again_.size(); ++i) {
      if (again_[i].due_us > now_us) continue;
      const std::shared_ptr<Batch> batch = std::move(again_[i].batch);
      again_.erase(again_.begin() + static_cast<ptrdiff_t>(i));
      ++batch->attempts;
      client_.client().async_mutate_rows(table_, batch->rows, {},
                                         [this, batch](Result<client::EntryResults> results) {
                                           answered(batch, std::move(results));
                                         });
      break;
    }
    tell_progress(false);
  }
  tell_progress(false);
  if (broken_) return std::unexpected(*broken_);
  return {};
}

void Importer::reject(uint64_t line, const Error& why) {
  ++stats_.rejected;
  if (events_.rejected) events_.rejected(line, why);
}

void Importer::tell_progress(bool always) {
  const int64_t now_us = client_.loop().timers().now_us();
  stats_.elapsed_us = now_us - began_us_;
  if (!always && now_us - told_us_ < kProgressEveryUs) return;
  told_us_ = now_us;
  if (events_.progress) events_.progress(stats_);
}

}  // namespace cellar::cli
