#include "net/cli/transfer/importer.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "engine/model/key.h"

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

// Whether one cell of several may be the reason of the error.
bool is_of_a_cell(const Error& error, Bytes row) {
  if (error.code == Errc::invalid_argument) return !row.empty() && row.size() <= kMaxRowKeyBytes;
  return error.code == Errc::out_of_range || error.code == Errc::not_found;
}

// A number for each cell, by which two pieces that set the same one are recognised.
std::vector<uint64_t> names_of(const client::Mutation& mutation) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  const auto add = [](uint64_t name, uint64_t more) { return (std::rotl(name, 23) ^ more) * kOdd; };
  const std::hash<std::string_view> hash;
  const uint64_t row = hash(mutation.row());
  std::vector<uint64_t> names;
  names.reserve(mutation.operations().size());
  for (const auto& operation : mutation.operations()) {
    uint64_t name = add(row, hash(mutation.bytes(operation.family)));
    name = add(name, hash(mutation.bytes(operation.qualifier)));
    names.push_back(add(name, static_cast<uint64_t>(operation.timestamp_us.value_or(INT64_MIN))));
  }
  return names;
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

void Importer::Piece::halve() {
  const size_t middle = sent.begin + sent.size() / 2;
  parts.push_back({middle, sent.end});
  parts.push_back({sent.begin, middle});
}

client::Mutation Importer::Piece::cut(Range range) const {
  client::Mutation part(whole->row());
  for (size_t i = range.begin; i < range.end; ++i) copy_set(*whole, whole->operations()[i], part);
  return part;
}

// Only a piece that is kept may be written again, and so behind a later one.
bool Importer::Tally::may_add(const Piece& piece) const {
  if (piece.whole && kept_bytes > 0 &&
      kept_bytes + piece.whole->memory_bytes() > Importer::kPendingBytes) {
    return false;
  }
  return std::ranges::none_of(piece.names, [&](uint64_t name) { return setting.contains(name); });
}

void Importer::Tally::keep(const Piece& piece) {
  if (!piece.whole) return;
  kept_bytes += piece.whole->memory_bytes();
  setting.insert(piece.names.begin(), piece.names.end());
}

void Importer::Tally::settle(Piece& piece) {
  if (piece.whole) {
    kept_bytes -= piece.whole->memory_bytes();
    for (const uint64_t name : piece.names) setting.erase(name);
  }
  stats.rows += piece.written ? 1 : 0;
  --piece.span->left;
  pop_done();
}

void Importer::Tally::answered(const SharedPiece& piece, const Result<void>& result) {
  if (abandoned) return;
  --pending;
  Span& span = *piece->span;
  if (result) {
    stats.cells += piece->sent.size();
    piece->written = span.written = true;
  } else if (result.error().applied != Applied::not_applied || ends_import(result.error())) {
    const bool doubt = result.error().applied != Applied::not_applied;
    span.written |= doubt;
    if (!broken || (doubt && broken->applied == Applied::not_applied)) broken = result.error();
    return;  // never acknowledged
  } else if (piece->whole && piece->sent.size() > 1 &&
             is_of_a_cell(result.error(), piece->whole->row())) {
    piece->halve();
  } else {
    reject(piece->line_sent(), result.error(), piece->lines.empty() ? 1 : piece->sent.size());
  }
  if (piece->parts.empty()) {
    settle(*piece);
  } else {
    refused.push_back(piece);
  }
}

void Importer::Tally::pop_done() {
  while (!spans.empty() && spans.front()->closed && spans.front()->left == 0) spans.pop_front();
  if (!spans.empty()) acknowledged = spans.front()->begin;
}

void Importer::Tally::reject(uint64_t line, const Error& why, size_t count) {
  stats.rejected += count;
  if (events.rejected) events.rejected(line, why);
  if (max_rejected != 0 && stats.rejected > max_rejected && !broken) {
    broken = Error(Errc::resource_exhausted,
                   fmt::format("more than {} lines or cells were rejected", max_rejected));
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
    // Closes the last span: all before the damage is acknowledged.
    if (!result && drained) next_span(read_to_);
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
    read_to_ = source.position();
    if (span_records_ >= kSpanRecords) next_span(read_to_);
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
    TRY_VOID(add(**std::move(record), source));
  }
}

Result<void> Importer::add(client::Mutation mutation, const RecordSource& source) {
  const uint64_t line = source.line();
  const std::span<const uint64_t> lines = source.lines();  // one for each cell, or none
  if (++span_records_ % 32 == 0) {
    client_.loop().turn(false);
    tell(false);
  }
  const auto& operations = mutation.operations();
  if (operations.size() <= kPieceOperations && mutation.memory_bytes() <= kPieceBytes) {
    return add_piece(std::move(mutation), line, lines);
  }
  client::Mutation piece(mutation.row());
  size_t before = 0;  // operations in earlier pieces
  const auto lines_of = [&](size_t count) {
    return lines.empty() ? lines : lines.subspan(before, count);
  };
  for (const auto& operation : operations) {
    const size_t bytes = piece.memory_bytes() + operation.value.size;
    const bool full = piece.operations().size() >= kPieceOperations || bytes > kPieceBytes;
    if (full && !piece.operations().empty()) {
      const size_t count = piece.operations().size();
      TRY_VOID(
          add_piece(std::exchange(piece, client::Mutation(mutation.row())), line, lines_of(count)));
      before += count;
    }
    copy_set(mutation, operation, piece);
  }
  const size_t rest = piece.operations().size();
  return add_piece(std::move(piece), line, lines_of(rest));
}

Result<void> Importer::add_piece(client::Mutation mutation, uint64_t line,
                                 std::span<const uint64_t> lines) {
  ++span_->left;
  const auto piece = std::make_shared<Piece>();
  piece->span = span_;
  piece->line = line;
  piece->lines.assign(lines.begin(), lines.end());
  piece->sent = {0, mutation.operations().size()};
  if (piece->sent.size() > 1) piece->whole = mutation;
  if (piece->whole || !tally_->setting.empty()) piece->names = names_of(mutation);
  while (!tally_->broken) {
    send_parts();
    const bool may_add = tally_->may_add(*piece);
    if (may_add && tally_->refused.empty() && send(piece, mutation)) {
      tally_->keep(*piece);
      return {};
    }
    if (!may_add) flush_once();  // what it waits for must not linger
    client_.loop().turn(true);
    tell(false);
  }
  return std::unexpected(*tally_->broken);
}

// False: the writer has no room.
bool Importer::send(const SharedPiece& piece, client::Mutation& mutation) {
  const bool added = writer_->try_add(
      mutation,
      [tally = tally_, piece](const Result<void>& result) { tally->answered(piece, result); });
  if (added) ++tally_->pending;
  return added;
}

// Sends the next part of each refused piece.
void Importer::send_parts() {
  while (!tally_->refused.empty()) {
    const SharedPiece piece = tally_->refused.front();
    const Range next = piece->parts.back();
    client::Mutation part = piece->cut(next);
    if (!send(piece, part)) return;
    piece->sent = next;
    piece->parts.pop_back();
    tally_->refused.pop_front();
  }
}

// A flush may complete after the importer has ended: a broken import does not wait for it.
void Importer::flush_once() {
  if (!std::exchange(tally_->flushed, false)) return;
  writer_->async_flush([tally = tally_](const Result<void>&) { tally->flushed = true; });
}

Result<void> Importer::drain() {
  while ((tally_->pending > 0 || !tally_->refused.empty()) && !tally_->broken) {
    send_parts();
    flush_once();
    client_.loop().turn(true);
    tell(false);
  }
  if (tally_->broken) return std::unexpected(*tally_->broken);
  return {};
}

// Waits for the outcome of each mutation that was sent, until its deadline. Others are dropped, and
// with them the parts of refused pieces, whose spans are thus never acknowledged.
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
