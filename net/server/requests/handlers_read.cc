// Reads: ReadRow, ReadRows, SampleRowKeys.
#include "engine/filter/compiled_filter.h"
#include "net/server/requests/dispatch.h"
#include "net/server/requests/table_codec.h"
#include "net/server/shard/router.h"
#include "net/server/shard/shard_server.h"

namespace cellar::server {

using engine::TableEntry;
using engine::TabletDescriptor;
using wire::Frame;

namespace {

// A pooled read that returns to the pool unless started.
class PooledRead {
 public:
  explicit PooledRead(ShardServer& shard) : shard_(shard), op_(shard.reads.take()) {}
  ~PooledRead() {
    if (op_ != nullptr) shard_.reads.give(op_);
  }
  PooledRead(const PooledRead&) = delete;
  PooledRead& operator=(const PooledRead&) = delete;
  ReadOp* operator->() const { return op_; }
  ReadOp& operator*() const { return *op_; }
  void start() { std::exchange(op_, nullptr)->start(); }

 private:
  ShardServer& shard_;
  ReadOp* op_;
};

// All checks before a read, in order of precedence: form, existence, availability. `plan` receives
// how the filter is distributed over the read.
Result<const TableEntry*> admit(ShardServer& shard, const Frame& frame,
                                const wire::DecodedRead& read, engine::FilterPlan& plan) {
  if (!read.filter.empty()) {
    TRY(plan, engine::plan_filter(read.filter));
  }
  TRY(const TableEntry* table, find_table(shard.tables(), frame.header, read.table));
  TRY_VOID(check_granularity(read.filter, table->schema.granularity));
  TRY_VOID(shard.admit_reply());
  return table;
}

// Common start of all reads. Null: an error was sent to the client.
template <class Request>
const TableEntry* prepare(ShardServer& shard, Session& session, const Frame& frame, ReadOp& op) {
  const Request* request = body_of<Request>(session, frame);
  if (request == nullptr) return nullptr;
  if (auto ok = wire::decode(*request, op.read); !ok) {
    session.reply_error(frame.header, ok.error());
    return nullptr;
  }
  engine::FilterPlan plan;
  const auto table = admit(shard, frame, op.read, plan);
  if (!table) {
    session.reply_error(frame.header, table.error());
    return nullptr;
  }
  plan.narrow(op.read.spec);
  return *table;
}

Async<void> sample(LocalShard& shard, Session& session, wire::FrameHeader header, TableId table) {
  const auto sizes = co_await shard.node().tablet_sizes(shard.id(), table);
  if (!sizes) {
    session.reply_error(header, sizes.error());
    co_return;
  }
  session.reply(header, build_samples(shard.builder(), *sizes));
}

// The first tablet of the read that the header does not name, or null. A client with a stale map is
// thus told before the first chunk.
const TabletDescriptor* first_unnamed(const Frame& frame, const TableEntry& table,
                                      const ReadSpec& spec) {
  if (frame.header.tablet_id == 0 && frame.header.epoch == 0) return nullptr;
  RowSet rows = spec.rows;
  ReadPlan plan;
  for (plan.begin(rows, spec.reversed); plan.more(); plan.passed()) {
    const TabletDescriptor& tablet = plan.next(table);
    if (!names_tablet(frame.header, tablet)) return &tablet;
  }
  return nullptr;
}

}  // namespace

void handle_read_row(ShardServer& shard, Session& session, const Frame& frame) {
  PooledRead op(shard);
  const TableEntry* table = prepare<wire::fb::ReadRowRequest>(shard, session, frame, *op);
  if (table == nullptr) return;
  op->begin(shard, session, frame.header, table->schema.id, true);
  op.start();
}

void handle_read_rows(ShardServer& shard, Session& session, const Frame& frame) {
  PooledRead op(shard);
  const TableEntry* table = prepare<wire::fb::ReadRowsRequest>(shard, session, frame, *op);
  if (table == nullptr) return;
  if (const TabletDescriptor* tablet = first_unnamed(frame, *table, op->read.spec)) {
    const wire::TabletHint hint = hint_of(*tablet);
    return session.reply_error(frame.header, stale_error(frame.header, *tablet), &hint);
  }
  op->begin(shard, session, frame.header, table->schema.id, false);
  if (auto admitted = shard.admission().begin_scan(); !admitted) {
    return session.reply_error(frame.header, admitted.error());
  }
  op.start();
}

void handle_sample_row_keys(LocalShard& shard, Session& session, const Frame& frame) {
  const auto* request = body_of<wire::fb::SampleRowKeysRequest>(session, frame);
  if (request == nullptr) return;
  const auto table = find_table(shard.tables(), frame.header, wire::text(request->table()));
  if (!table) return session.reply_error(frame.header, table.error());
  spawn(shard.executor(), sample(shard, session, frame.header, (*table)->schema.id));
}

}  // namespace cellar::server
