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
  explicit PooledRead(ShardServer& shard) : shard_(shard), op_(shard.reads.acquire()) {}
  ~PooledRead() {
    if (op_ != nullptr) shard_.reads.release(op_);
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

// Common start of all reads.
template <class Request>
std::expected<const TableEntry*, Refusal> prepare(ShardServer& shard, const Frame& frame,
                                                  ReadOp& op) {
  TRY(const Request* request, body_of<Request>(frame));
  TRY_VOID(wire::decode(*request, op.read));
  engine::FilterPlan plan;
  TRY(const TableEntry* table, admit(shard, frame, op.read, plan));
  plan.narrow(op.read.spec);
  return table;
}

Async<Result<Bytes>> sample(LocalShard& shard, TableId table) {
  CO_TRY(const auto sizes, co_await shard.node().tablet_sizes(shard.id(), table));
  co_return build_samples(shard.builder(), sizes);
}

// Refuses a read whose header does not name one of its tablets: a client with a stale map is told
// before the first chunk.
Handled check_names_all(const wire::FrameHeader& header, const TableEntry& table,
                        const ReadSpec& spec) {
  if (header.tablet_id == 0 && header.epoch == 0) return {};
  RowSet rows = spec.rows;
  ReadPlan plan;
  for (plan.begin(rows, spec.reversed); plan.more(); plan.passed()) {
    TRY_VOID(check_names(header, plan.next(table)));
  }
  return {};
}

}  // namespace

Handled handle_read_row(ShardServer& shard, Session& session, const Frame& frame) {
  PooledRead op(shard);
  TRY(const TableEntry* table, prepare<wire::fb::ReadRowRequest>(shard, frame, *op));
  op->begin(shard, session, frame.header, table->schema.id, true);
  op.start();
  return {};
}

Handled handle_read_rows(ShardServer& shard, Session& session, const Frame& frame) {
  PooledRead op(shard);
  TRY(const TableEntry* table, prepare<wire::fb::ReadRowsRequest>(shard, frame, *op));
  TRY_VOID(check_names_all(frame.header, *table, op->read.spec));
  op->begin(shard, session, frame.header, table->schema.id, false);
  TRY_VOID(shard.admission().begin_scan());
  op.start();
  return {};
}

Handled handle_sample_row_keys(LocalShard& shard, Session& session, const Frame& frame) {
  TRY(const auto* request, body_of<wire::fb::SampleRowKeysRequest>(frame));
  TRY(const auto* table, find_table(shard.tables(), frame.header, wire::text(request->table())));
  return answer_with(shard, session, frame.header, sample(shard, table->schema.id));
}

}  // namespace cellar::server
