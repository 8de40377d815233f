// Operations on tables. Each one that changes something or waits is a coroutine.
#include <algorithm>

#include "net/server/access/access.h"
#include "net/server/requests/dispatch.h"
#include "net/server/requests/op_table.h"
#include "net/server/requests/table_codec.h"
#include "net/server/shard/local_shard.h"
#include "net/server/shard/router.h"

namespace cellar::server {

using engine::TableEntry;
using wire::Frame;
using wire::FrameHeader;
namespace fb = wire::fb;

namespace {

// Finds the table by name only; NOT_FOUND.
Result<const TableEntry*> table_named(LocalShard& shard, const FrameHeader& header,
                                      const flatbuffers::String* name) {
  FrameHeader by_name = header;
  by_name.table_id = 0;
  return find_table(shard.tables(), by_name, wire::text(name));
}

Async<void> create_table(LocalShard& shard, Session& session, FrameHeader header,
                         engine::TableSpec spec) {
  const Result<TableEntry> made =
      co_await shard.node().create_table(shard.id(), std::move(spec), session.author());
  if (!made) {
    session.reply_error(header, made.error());
    co_return;
  }
  session.reply(header, build_description(shard.builder(), *made, shard.clock().expected_us()));
}

Async<void> alter_table(LocalShard& shard, Session& session, FrameHeader header,
                        engine::TableChange change) {
  const Result<TableEntry> table =
      co_await shard.node().alter_table(shard.id(), std::move(change), session.author());
  if (!table) {
    session.reply_error(header, table.error());
    co_return;
  }
  session.reply(header, build_description(shard.builder(), *table, shard.clock().expected_us()));
}

Async<void> restore_table(LocalShard& shard, Session& session, FrameHeader header,
                          std::string name) {
  const Result<TableEntry> table =
      co_await shard.node().restore_table(shard.id(), std::move(name), session.author());
  if (!table) {
    session.reply_error(header, table.error());
    co_return;
  }
  session.reply(header, build_description(shard.builder(), *table, shard.clock().expected_us()));
}

// The tables of the shard's map and the given dropped ones, as far as the session may see them.
Bytes build_list(LocalShard& shard, const Session& session, std::string_view prefix,
                 const std::vector<engine::DroppedTable>& dropped) {
  auto& builder = shard.builder();
  builder.Clear();
  std::vector<flatbuffers::Offset<fb::TableSummary>> tables;
  const auto add = [&](const TableEntry& entry, const engine::DroppedTable* gone) {
    const TableSchema& schema = entry.schema;
    if (!schema.name.starts_with(prefix)) return;
    if (!is_shown(session.principal(), spec_of(fb::Op::ListTables), schema.name)) return;
    const auto name = builder.CreateString(schema.name);
    tables.push_back(fb::CreateTableSummary(
        builder, name, schema.id.value(), static_cast<uint32_t>(entry.tablets.size()),
        static_cast<uint32_t>(schema.families.size()), gone != nullptr,
        gone != nullptr ? gone->mark.dropped_us : 0,
        gone != nullptr ? gone->mark.restorable_until_us : 0, gone != nullptr ? gone->bytes : 0));
  };
  for (const auto& [name, entry] : shard.tables().tables()) add(*entry, nullptr);
  for (const engine::DroppedTable& table : dropped) add(table.entry, &table);
  const auto list = builder.CreateVector(tables);
  return wire::finish_body(builder, fb::CreateListTablesReply(builder, list));
}

Async<void> list_with_dropped(LocalShard& shard, Session& session, FrameHeader header,
                              std::string prefix) {
  std::vector<engine::DroppedTable> dropped = co_await shard.node().dropped_tables(shard.id());
  std::sort(dropped.begin(), dropped.end(), [](const auto& a, const auto& b) {
    if (a.entry.schema.name != b.entry.schema.name)
      return a.entry.schema.name < b.entry.schema.name;
    return a.mark.dropped_us > b.mark.dropped_us;
  });
  session.reply(header, build_list(shard, session, prefix, dropped));
}

enum class TableWork : uint8_t { drop, flush, compact };

Async<void> work_on_table(LocalShard& shard, Session& session, FrameHeader header, TableWork work,
                          std::string name) {
  Result<void> done;
  switch (work) {
    case TableWork::drop:
      done = co_await shard.node().drop_table(shard.id(), std::move(name), session.author());
      break;
    case TableWork::flush:
      done = co_await shard.node().flush_table(shard.id(), std::move(name));
      break;
    case TableWork::compact:
      done = co_await shard.node().compact_table(shard.id(), std::move(name));
      break;
  }
  if (done) {
    session.reply(header, {});
  } else {
    session.reply_error(header, done.error());
  }
}

template <class Request>
void start_work(LocalShard& shard, Session& session, const Frame& frame, TableWork work) {
  const auto* request = body_of<Request>(session, frame);
  if (request == nullptr) return;
  std::string name(wire::text(request->name()));
  spawn(shard.executor(), work_on_table(shard, session, frame.header, work, std::move(name)));
}

}  // namespace

void handle_create_table(LocalShard& shard, Session& session, const Frame& frame) {
  const auto* request = body_of<fb::CreateTableRequest>(session, frame);
  if (request == nullptr) return;
  engine::TableSpec spec;
  if (auto ok = decode_create(*request, shard.tables(), spec); !ok) {
    return session.reply_error(frame.header, ok.error());
  }
  spawn(shard.executor(), create_table(shard, session, frame.header, std::move(spec)));
}

void handle_alter_table(LocalShard& shard, Session& session, const Frame& frame) {
  const auto* request = body_of<fb::AlterTableRequest>(session, frame);
  if (request == nullptr) return;
  engine::TableChange change;
  if (auto ok = decode_alter(*request, shard.tables(), change); !ok) {
    return session.reply_error(frame.header, ok.error());
  }
  spawn(shard.executor(), alter_table(shard, session, frame.header, std::move(change)));
}

void handle_drop_table(LocalShard& shard, Session& session, const Frame& frame) {
  start_work<fb::DropTableRequest>(shard, session, frame, TableWork::drop);
}

void handle_restore_table(LocalShard& shard, Session& session, const Frame& frame) {
  const auto* request = body_of<fb::RestoreTableRequest>(session, frame);
  if (request == nullptr) return;
  std::string name(wire::text(request->name()));
  spawn(shard.executor(), restore_table(shard, session, frame.header, std::move(name)));
}

void handle_list_tables(LocalShard& shard, Session& session, const Frame& frame) {
  std::string prefix;
  bool include_dropped = false;
  if (!frame.body.empty()) {
    const auto* request = body_of<fb::ListTablesRequest>(session, frame);
    if (request == nullptr) return;
    prefix = wire::text(request->prefix());
    include_dropped = request->include_dropped();
  }
  if (include_dropped) {
    spawn(shard.executor(), list_with_dropped(shard, session, frame.header, std::move(prefix)));
  } else {
    session.reply(frame.header, build_list(shard, session, prefix, {}));
  }
}

void handle_describe_table(LocalShard& shard, Session& session, const Frame& frame) {
  const auto* request = body_of<fb::DescribeTableRequest>(session, frame);
  if (request == nullptr) return;
  const auto table = table_named(shard, frame.header, request->name());
  if (!table) return session.reply_error(frame.header, table.error());
  session.reply(frame.header,
                build_description(shard.builder(), **table, shard.clock().expected_us()));
}

void handle_flush_table(LocalShard& shard, Session& session, const Frame& frame) {
  start_work<fb::FlushTableRequest>(shard, session, frame, TableWork::flush);
}

void handle_compact_table(LocalShard& shard, Session& session, const Frame& frame) {
  start_work<fb::CompactTableRequest>(shard, session, frame, TableWork::compact);
}

}  // namespace cellar::server
