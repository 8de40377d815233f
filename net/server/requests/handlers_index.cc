// Indexes of a table: their definitions and states, their check, and reads through them.
#include <utility>

#include "engine/filter/compiled_filter.h"
#include "engine/index_check.h"
#include "engine/model/key.h"
#include "net/server/requests/asked_work.h"
#include "net/server/requests/dispatch.h"
#include "net/server/requests/index_spec_codec.h"
#include "net/server/shard/index_read.h"
#include "net/server/shard/router.h"
#include "net/server/shard/shard_server.h"
#include "net/wire/index_codec.h"

namespace cellar::server {

using engine::IndexCheckReport;
using engine::TableEntry;
using wire::Frame;
using wire::FrameHeader;
namespace fb = wire::fb;

namespace {

template <class Request>
using Decode = Result<void> (*)(const Request&, const engine::TableMap&, engine::TableChange&);

template <class Request>
Handled alter_with(LocalShard& shard, Session& session, const Frame& frame,
                   Decode<Request> decode) {
  TRY(const auto* request, body_of<Request>(frame));
  engine::TableChange change;
  TRY_VOID(decode(*request, shard.tables(), change));
  return describe_with(shard, session, frame.header,
                       shard.node().alter_table(shard.id(), std::move(change), session.author()));
}

Async<Result<Bytes>> describe_indexes(LocalShard& shard, std::string table) {
  CO_TRY(const engine::IndexStates states,
         co_await shard.node().index_states(shard.id(), std::move(table)));
  co_return build_index_states(shard.builder(), states);
}

class Checker final : public engine::IndexCheckListener {
 public:
  Checker(LocalShard& shard, Session& session, const FrameHeader& header, bool progress)
      : work_(shard, session, header, progress, "the check") {}

  Result<void> go_on(const IndexCheckReport& so_far) override {
    return work_.go_on(
        [&so_far](auto& builder) { return build_index_check(builder, so_far, false); });
  }

 private:
  AskedWork work_;
};

bool may_read(const Session& session, Bytes table) {
  const security::Principal* who = session.principal();
  return who == nullptr || who->roles_on(table).has(security::Role::read);
}

struct Check {
  std::string table;
  std::string index;
  bool progress = false;
  bool shows_rows = false;
};

Async<Result<Bytes>> check_index(LocalShard& shard, Session& session, FrameHeader header,
                                 Check check) {
  Result<IndexCheckReport> report;
  {
    Checker checker(shard, session, header, check.progress);
    report = co_await shard.node().check_index(shard.id(), std::move(check.table),
                                               std::move(check.index), checker);
  }
  shard.admission().end_scan();
  CO_TRY_VOID(report);
  co_return build_index_check(shard.builder(), *report, check.shows_rows);
}

// Every tablet's cursor copies the bounds.
Result<void> check_bounds(const std::optional<KeyPartRange>& range, std::string_view what,
                          size_t most) {
  if (!range) return {};
  for (const auto& [bound, name] :
       {std::pair(&range->start, "start"), std::pair(&range->end, "end")}) {
    if (!*bound || (*bound)->size() <= most) continue;
    return fail(Errc::invalid_argument,
                "the {} of the {} asked for has {} bytes; at most {} are allowed", name, what,
                (*bound)->size(), most);
  }
  return {};
}

// Rows outside those of the filter cannot pass it.
void narrow(IndexReadSpec& spec, const engine::FilterPlan& plan) {
  spec.row.rows = std::move(spec.rows);
  plan.narrow(spec.row);
  spec.rows = std::exchange(spec.row.rows, RowSet::everything());
}

// All checks before a read that this shard can make, in order of precedence: form, existence,
// conditions on the index, availability.
Result<const TableEntry*> admit(ShardServer& shard, const Frame& frame,
                                wire::DecodedIndexRead& read) {
  TRY_VOID(check_bounds(read.spec.values, "values", shard.options().engine.limits.cell_bytes));
  TRY_VOID(check_bounds(read.spec.qualifiers, "qualifiers", kMaxQualifierBytes));
  engine::FilterPlan plan;
  if (!read.filter.empty()) {
    TRY(plan, engine::plan_filter(read.filter));
  }
  TRY(const TableEntry* table, find_table(shard.tables(), frame.header, read.table));
  const TableSchema& schema = table->schema;
  const IndexSchema* index = schema.find_index(read.spec.index);
  if (index == nullptr) {
    return fail(Errc::not_found, "table '{}' has no index '{}'", escape_bytes(schema.name),
                escape_bytes(read.spec.index));
  }
  TRY_VOID(validate_index_read(read.spec, *index, schema.granularity));
  TRY_VOID(check_granularity(read.filter, schema.granularity));
  if (read.spec.whole_rows) narrow(read.spec, plan);
  TRY_VOID(shard.admit_reply());
  return table;
}

Handled check_names_all(const FrameHeader& header, const TableEntry& table, const RowSet& rows) {
  if (header.tablet_id == 0 && header.epoch == 0) return {};
  for (const IndexPart& part : parts_of(table, rows)) {
    TRY_VOID(check_names(header, *part.tablet));
  }
  return {};
}

}  // namespace

Handled handle_create_index(LocalShard& shard, Session& session, const Frame& frame) {
  return alter_with<fb::CreateIndexRequest>(shard, session, frame, decode_create_index);
}

Handled handle_alter_index(LocalShard& shard, Session& session, const Frame& frame) {
  return alter_with<fb::AlterIndexRequest>(shard, session, frame, decode_alter_index);
}

Handled handle_drop_index(LocalShard& shard, Session& session, const Frame& frame) {
  return alter_with<fb::DropIndexRequest>(shard, session, frame, decode_drop_index);
}

Handled handle_describe_indexes(LocalShard& shard, Session& session, const Frame& frame) {
  TRY(const auto* request, body_of<fb::DescribeIndexesRequest>(frame));
  std::string table(wire::text(request->table()));
  return answer_with(shard, session, frame.header, describe_indexes(shard, std::move(table)));
}

Handled handle_check_index(LocalShard& shard, Session& session, const Frame& frame) {
  TRY(const auto* request, body_of<fb::CheckIndexRequest>(frame));
  Check check{std::string(wire::text(request->table())), std::string(wire::text(request->name())),
              request->progress(), may_read(session, wire::text(request->table()))};
  TRY_VOID(shard.admission().begin_scan());
  return answer_with(shard, session, frame.header,
                     check_index(shard, session, frame.header, std::move(check)));
}

Handled handle_read_index(ShardServer& shard, Session& session, const Frame& frame) {
  TRY(const auto* body, body_of<fb::ReadIndexRequest>(frame));
  IndexRead::Request request;
  TRY_VOID(wire::decode(*body, request.read));
  TRY(const TableEntry* table, admit(shard, frame, request.read));
  TRY_VOID(check_names_all(frame.header, *table, request.read.spec.rows));
  TRY_VOID(shard.admission().begin_scan());
  request.header = frame.header;
  request.header.table_name = {};
  request.table = table->schema.id;
  request.table_name = table->schema.name;
  request.index = table->schema.find_index(request.read.spec.index)->id;
  IndexRead::begin(shard, session, std::move(request));
  return {};
}

}  // namespace cellar::server
