// Operations on tables. Each that changes something or waits is one coroutine.
#include "net/server/dispatch.h"
#include "net/server/router.h"
#include "net/server/shard_server.h"
#include "net/server/table_codec.h"

namespace cellar::server {

using engine::TableEntry;
using wire::Frame;
using wire::FrameHeader;
namespace fb = wire::fb;

namespace {

// By name alone; NOT_FOUND.
Result<const TableEntry*> table_named(ShardServer& shard, const FrameHeader& header,
                                      const flatbuffers::String* name) {
  FrameHeader by_name = header;
  by_name.table_id = 0;
  return find_table(shard.tables(), by_name, wire::text(name));
}

Async<void> create_table(ShardServer& shard, Session& session, FrameHeader header,
                         engine::TableSpec spec) {
  const Result<TableEntry> made = co_await shard.node().create_table(shard.id(), std::move(spec));
  if (!made) {
    session.reply_error(header, made.error());
    co_return;
  }
  session.reply(header, build_description(shard.builder(), *made, shard.clock().now_us()));
}

Async<void> alter_table(ShardServer& shard, Session& session, FrameHeader header,
                        engine::TableChange change) {
  const Result<TableEntry> table = co_await shard.node().alter_table(shard.id(), std::move(change));
  if (!table) {
    session.reply_error(header, table.error());
    co_return;
  }
  session.reply(header, build_description(shard.builder(), *table, shard.clock().now_us()));
}

enum class TableWork : uint8_t { drop, flush, compact };

Async<void> work_on_table(ShardServer& shard, Session& session, FrameHeader header, TableWork work,
                          std::string name) {
  Result<void> done;
  switch (work) {
    case TableWork::drop:
      done = co_await shard.node().drop_table(shard.id(), std::move(name));
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
void start_work(ShardServer& shard, Session& session, const Frame& frame, TableWork work) {
  const auto* request = body_of<Request>(session, frame);
  if (request == nullptr) return;
  std::string name(wire::text(request->name()));
  spawn(shard.executor(), work_on_table(shard, session, frame.header, work, std::move(name)));
}

}  // namespace

void handle_create_table(ShardServer& shard, Session& session, const Frame& frame) {
  const auto* request = body_of<fb::CreateTableRequest>(session, frame);
  if (request == nullptr) return;
  engine::TableSpec spec;
  if (auto ok = decode_create(*request, shard.tables(), spec); !ok) {
    return session.reply_error(frame.header, ok.error());
  }
  spawn(shard.executor(), create_table(shard, session, frame.header, std::move(spec)));
}

void handle_alter_table(ShardServer& shard, Session& session, const Frame& frame) {
  const auto* request = body_of<fb::AlterTableRequest>(session, frame);
  if (request == nullptr) return;
  engine::TableChange change;
  if (auto ok = decode_alter(*request, shard.tables(), change); !ok) {
    return session.reply_error(frame.header, ok.error());
  }
  spawn(shard.executor(), alter_table(shard, session, frame.header, std::move(change)));
}

void handle_drop_table(ShardServer& shard, Session& session, const Frame& frame) {
  start_work<fb::DropTableRequest>(shard, session, frame, TableWork::drop);
}

void handle_restore_table(ShardServer&, Session& session, const Frame& frame) {
  if (body_of<fb::RestoreTableRequest>(session, frame) == nullptr) return;
  session.reply_error(frame.header, unimplemented("restore_table"));
}

void handle_list_tables(ShardServer& shard, Session& session, const Frame& frame) {
  std::string_view prefix;
  if (!frame.body.empty()) {
    const auto* request = body_of<fb::ListTablesRequest>(session, frame);
    if (request == nullptr) return;
    if (request->include_dropped()) {
      return session.reply_error(frame.header, unimplemented("a list of dropped tables"));
    }
    prefix = wire::text(request->prefix());
  }
  auto& builder = shard.builder();
  builder.Clear();
  std::vector<flatbuffers::Offset<fb::TableSummary>> tables;
  for (const auto& [name, entry] : shard.tables().tables()) {
    if (!name.starts_with(prefix)) continue;
    const auto text = builder.CreateString(name);
    tables.push_back(fb::CreateTableSummary(builder, text, entry->schema.id.value(),
                                            static_cast<uint32_t>(entry->tablets.size()),
                                            static_cast<uint32_t>(entry->schema.families.size())));
  }
  const auto list = builder.CreateVector(tables);
  session.reply(frame.header, wire::finish_body(builder, fb::CreateListTablesReply(builder, list)));
}

void handle_describe_table(ShardServer& shard, Session& session, const Frame& frame) {
  const auto* request = body_of<fb::DescribeTableRequest>(session, frame);
  if (request == nullptr) return;
  const auto table = table_named(shard, frame.header, request->name());
  if (!table) return session.reply_error(frame.header, table.error());
  session.reply(frame.header, build_description(shard.builder(), **table, shard.clock().now_us()));
}

void handle_flush_table(ShardServer& shard, Session& session, const Frame& frame) {
  start_work<fb::FlushTableRequest>(shard, session, frame, TableWork::flush);
}

void handle_compact_table(ShardServer& shard, Session& session, const Frame& frame) {
  start_work<fb::CompactTableRequest>(shard, session, frame, TableWork::compact);
}

}  // namespace cellar::server
