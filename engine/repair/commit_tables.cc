#include "engine/repair/commit_tables.h"

#include <algorithm>

#include "engine/model/token.h"

namespace cellar::engine {
namespace {

// Whether the payload is a commit.
class Nothing final : public CommitVisitor {
 public:
  void entry(Bytes key, Bytes value) override {
    ParsedKey parsed;
    sound &= parse_key(key, parsed);
    (void)value;
  }
  void range_delete(const RangeDelete& range, CommitStamp stamp) override {
    (void)range, (void)stamp;
  }
  bool sound = true;
};

class Insert final : public CommitVisitor {
 public:
  explicit Insert(CommitTarget& to) : to_(to) {}
  void entry(Bytes key, Bytes value) override { to_.memtable->add(key, value); }
  void range_delete(const RangeDelete& range, CommitStamp stamp) override {
    to_.memtable->add_range_delete(range, stamp);
  }
  void range_token(const TokenEntry& token, std::span<const RangeDelete> deleted,
                   CommitStamp stamp) override {
    to_.memtable->add_commit(stamp);
    TokenRecord record;
    if (!parse_token_record(token.record, record)) return;
    const std::string id(token.id);
    RangeToken& known = to_.range_tokens[id];
    const auto now_us = static_cast<int64_t>(stamp.value() / 1000);
    // One that ended before this commit, or came with another range, was another one.
    if (known.id.empty() || known.content != record.content || known.until_us < now_us) {
      known = {.id = id, .until_us = record.until_us, .content = record.content, .done = {}};
    }
    for (const RangeDelete& range : deleted) {
      add_rows(known.done, {std::string(range.start), std::string(range.end)});
    }
  }

 private:
  CommitTarget& to_;
};

}  // namespace

Result<BlobId> RepairIds::next() {
  if (counter_ == kBlobIdsPerSession) {
    return fail(Errc::resource_exhausted, "a repair writes at most {} tables", kBlobIdsPerSession);
  }
  return make_blob_id(session_, 0, counter_++);
}

Async<Result<TableMeta>> finish_table(TableWriter& writer, Result<void> before) {
  Result<TableMeta> meta;
  if (before) {
    meta = co_await writer.finish();
  } else {
    meta = std::unexpected(std::move(before).error());
  }
  if (meta) co_return meta;
  const Result<void> abandoned = co_await writer.abandon();
  (void)abandoned;  // the first error is returned
  co_return meta;
}

bool CommitTables::add(CommitTarget& target, CommitStamp stamp, Bytes payload) {
  Nothing check;
  if (!visit_commit(payload, stamp, check) || !check.sound) return false;
  if (!target.memtable) {
    target.memtable = std::make_unique<Memtable>();
    open_.push_back(&target);
  }
  Insert insert(target);
  if (!visit_commit(payload, stamp, insert)) return false;
  target.last = std::max(target.last, stamp);
  ++target.commits;
  return true;
}

Async<Result<void>> CommitTables::rest() {
  size_t bytes = 0;
  for (const CommitTarget* target : open_) bytes += target->memtable->bytes();
  if (bytes >= memtable_bytes_) co_return co_await write_all();
  co_return Result<void>();
}

Async<Result<void>> CommitTables::finish() { co_return co_await write_all(); }

Async<Result<void>> CommitTables::write_all() {
  while (!open_.empty()) {
    CommitTarget& target = *open_.back();
    open_.pop_back();
    const std::unique_ptr<Memtable> memtable = std::move(target.memtable);
    if (memtable->empty()) continue;
    target.memtable = nullptr;
    CO_TRY_VOID(co_await write(target, *memtable));
  }
  co_return Result<void>();
}

Async<Result<void>> CommitTables::write(CommitTarget& target, const Memtable& memtable) {
  TableWriterOptions options = target.format;
  CO_TRY(options.blob, ids_.next());
  CO_TRY(auto blob, co_await to_.create(options.blob, memtable.content_bytes(), IoClass::flush));
  TableWriter writer(std::move(options), std::move(blob));
  for (const RangeTombstone& range : memtable.range_deletes()) writer.add_range_delete(range);
  Memtable::Iterator it = memtable.iterator();
  Result<void> flushed;
  for (Step step = it.seek(""); step == Step::ready && flushed; step = it.next()) {
    writer.add(it.key(), it.value());
    if (writer.wants_flush()) flushed = co_await writer.flush();
  }
  CO_TRY(TableMeta meta, co_await finish_table(writer, std::move(flushed)));
  target.written.push_back(std::move(meta));
  ++target.format.run;
  co_return Result<void>();
}

}  // namespace cellar::engine
