#include "net/cli/transfer/importer.h"

#include <utility>
#include <vector>

namespace cellar::cli {

namespace {

client::BatchWriterOptions writer_options(size_t batch_bytes, size_t pending_bytes,
                                          int64_t patience_us, bool sole_writer) {
  client::BatchWriterOptions options;
  options.batch_bytes = batch_bytes;
  options.max_pending_bytes = pending_bytes;
  options.call.deadline_us = patience_us;
  options.call.sole_writer = sole_writer;
  options.call.wait_for_connection = true;
  return options;
}

// An error that every other line would meet too.
bool ends_import(const Error& error) {
  return error.retryable() || error.code == Errc::unavailable ||
         error.code == Errc::deadline_exceeded || error.code == Errc::cancelled ||
         error.code == Errc::data_loss || error.code == Errc::unauthenticated ||
         error.code == Errc::permission_denied;
}

void copy_set(const client::Mutation& from, const client::Mutation::Operation& operation,
              client::Mutation& to) {
  const Bytes family = from.bytes(operation.family);
  const Bytes qualifier = from.bytes(operation.qualifier);
  const Bytes value = from.bytes(operation.value);
  if (operation.timestamp_us) {
    to.set(family, qualifier, value, *operation.timestamp_us);
  } else {
    to.set(family, qualifier, value);
  }
  if (operation.expire_at_us) to.with_expire_at(*operation.expire_at_us);
  if (operation.ttl_us) to.with_ttl(*operation.ttl_us);
}

}  // namespace

void Importer::Tally::answered(Span& span, uint64_t line, size_t cells,
                               const Result<void>& result) {
  if (abandoned) return;
  --pending;
  if (result) {
    ++stats.rows;
    stats.cells += cells;
    span.written = true;
  } else if (result.error().applied != Applied::not_applied || ends_import(result.error())) {
    const bool doubt = result.error().applied != Applied::not_applied;
    span.written |= doubt;
    if (!broken || (doubt && broken->applied == Applied::not_applied)) broken = result.error();
    return;  // never acknowledged
  } else {
    reject(line, result.error());
  }
  --span.left;
  pop_done();
}

void Importer::Tally::pop_done() {
  while (!spans.empty() && spans.front()->closed && spans.front()->left == 0) spans.pop_front();
  if (!spans.empty()) acknowledged = spans.front()->begin;
}

void Importer::Tally::reject(uint64_t line, const Error& why) {
  ++stats.rejected;
  if (events.rejected) events.rejected(line, why);
  if (max_rejected != 0 && stats.rejected > max_rejected && !broken) {
    broken = Error(Errc::resource_exhausted,
                   fmt::format("more than {} lines were rejected", max_rejected));
  }
}

Importer::Importer(client::SyncClient& client, std::string table, uint64_t max_rejected,
                   bool sole_writer, const ImportStats& before, ImportEvents events)
    : client_(client), tally_(std::make_shared<Tally>()) {
  writer_.emplace(client.client(), std::move(table),
                  writer_options(kBatchBytes, kPendingBytes, kPatienceUs, sole_writer));
  tally_->stats = before;
  tally_->events = std::move(events);
  tally_->max_rejected = max_rejected;
}

Importer::~Importer() { tally_->abandoned = true; }

Result<void> Importer::run(RecordSource& source) {
  client_.loop().turn(false);  // updates the loop's clock
  began_us_ = acknowledged_us_ = client_.loop().timers().now_us();
  tally_->acknowledged = source.position();
  next_span(source.position());
  Result<void> result = read_all(source);
  // Records read before the file turned out to be damaged are still written.
  if (result || !tally_->broken) {
    Result<void> drained = drain();
    if (result) result = std::move(drained);
  }
  if (!result) {
    await_pieces();
    const auto& broken = tally_->broken;
    if (broken && broken->applied != Applied::not_applied) result = std::unexpected(*broken);
  }
  ending_.line = source.line();
  if (result) tally_->acknowledged = source.position();
  tally_->stats.bytes = source.bytes();
  tell(true);
  return result;
}

Result<void> Importer::read_all(RecordSource& source) {
  while (true) {
    const Position before = source.position();
    if (span_records_ >= kSpanRecords) next_span(before);
    auto record = source.next();
    tally_->stats.bytes = source.bytes();
    if (!record) {
      const Errc code = record.error().code;
      if (code == Errc::failed_precondition || code == Errc::data_loss) {
        return std::unexpected(record.error());
      }
      ++tally_->stats.records;
      tally_->reject(source.line(), record.error());
      if (tally_->broken) return std::unexpected(*tally_->broken);
      continue;
    }
    if (!*record) return {};
    ++tally_->stats.records;
    TRY_VOID(add(**std::move(record), source.line()));
  }
}

Result<void> Importer::add(client::Mutation mutation, uint64_t line) {
  if (++span_records_ % 32 == 0) {
    client_.loop().turn(false);
    tell(false);
  }
  const auto& operations = mutation.operations();
  if (operations.size() <= kPieceOperations && mutation.memory_bytes() <= kPieceBytes) {
    return add_piece(std::move(mutation), line);
  }
  client::Mutation piece(mutation.row());
  for (const auto& operation : operations) {
    const size_t bytes = piece.memory_bytes() + operation.value.size;
    const bool full = piece.operations().size() >= kPieceOperations || bytes > kPieceBytes;
    if (full && !piece.operations().empty()) {
      TRY_VOID(add_piece(std::exchange(piece, client::Mutation(mutation.row())), line));
    }
    copy_set(mutation, operation, piece);
  }
  return add_piece(std::move(piece), line);
}

Result<void> Importer::add_piece(client::Mutation mutation, uint64_t line) {
  ++span_->left;
  const auto done = [tally = tally_, span = span_, line,
                     cells = mutation.operations().size()](const Result<void>& result) {
    tally->answered(*span, line, cells, result);
  };
  while (!tally_->broken) {
    if (writer_->try_add(mutation, done)) {
      ++tally_->pending;
      return {};
    }
    client_.loop().turn(true);
    tell(false);
  }
  return std::unexpected(*tally_->broken);
}

Result<void> Importer::drain() {
  // The flush may complete after this has returned: a broken import does not wait for it.
  tally_->flushed = false;
  writer_->async_flush([tally = tally_](const Result<void>&) { tally->flushed = true; });
  while (!tally_->flushed && !tally_->broken) {
    client_.loop().turn(true);
    tell(false);
  }
  if (tally_->broken) return std::unexpected(*tally_->broken);
  return {};
}

// Waits for the outcome of each piece. Unsent pieces are dropped; sent ones end by their deadline.
void Importer::await_pieces() {
  writer_.reset();
  while (tally_->pending > 0) client_.loop().turn(true);
  for (const auto& span : tally_->spans) ending_.clean &= !span->written;
}

void Importer::next_span(Position begin) {
  if (span_) span_->closed = true;
  span_ = std::make_shared<Span>();
  span_->begin = begin;
  span_records_ = 0;
  tally_->spans.push_back(span_);
  tally_->pop_done();
}

void Importer::tell(bool always) {
  const int64_t now_us = client_.loop().timers().now_us();
  tally_->stats.elapsed_us = now_us - began_us_;
  const ImportEvents& events = tally_->events;
  if (events.progress && (always || now_us - told_us_ >= kProgressEveryUs)) {
    told_us_ = now_us;
    events.progress(tally_->stats);
  }
  if (events.acknowledged && (always || now_us - acknowledged_us_ >= kAcknowledgeEveryUs)) {
    acknowledged_us_ = now_us;
    events.acknowledged(tally_->acknowledged, tally_->stats);
  }
}

}  // namespace cellar::cli
