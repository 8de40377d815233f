// Operations on tables, and on the rules of their families.
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
Result<const TableEntry*> table_named(LocalShard& shard, const flatbuffers::String* name) {
  // Access was judged by the name in the body, so the request's handle does not count.
  return find_table(shard.tables(), FrameHeader(), wire::text(name));
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

Async<Result<Bytes>> list_with_dropped(LocalShard& shard, const Session& session,
                                       std::string prefix) {
  std::vector<engine::DroppedTable> dropped = co_await shard.node().dropped_tables(shard.id());
  std::sort(dropped.begin(), dropped.end(), [](const auto& a, const auto& b) {
    if (a.entry.schema.name != b.entry.schema.name)
      return a.entry.schema.name < b.entry.schema.name;
    return a.mark.dropped_us > b.mark.dropped_us;
  });
  co_return build_list(shard, session, prefix, dropped);
}

Async<Result<Bytes>> nothing_after(Async<Result<void>> work) {
  CO_TRY_VOID(co_await std::move(work));
  co_return Bytes();
}

}  // namespace

Handled handle_create_table(LocalShard& shard, Session& session, const Frame& frame) {
  TRY(const auto* request, body_of<fb::CreateTableRequest>(frame));
  engine::TableSpec spec;
  TRY_VOID(decode_create(*request, shard.tables(), spec));
  return describe_with(shard, session, frame.header,
                       shard.node().create_table(shard.id(), std::move(spec), session.author()));
}

Handled handle_alter_table(LocalShard& shard, Session& session, const Frame& frame) {
  TRY(const auto* request, body_of<fb::AlterTableRequest>(frame));
  engine::TableChange change;
  TRY_VOID(decode_alter(*request, shard.tables(), change));
  return describe_with(shard, session, frame.header,
                       shard.node().alter_table(shard.id(), std::move(change), session.author()));
}

Handled handle_drop_table(LocalShard& shard, Session& session, const Frame& frame) {
  TRY(const auto* request, body_of<fb::DropTableRequest>(frame));
  std::string name(wire::text(request->name()));
  return answer_with(
      shard, session, frame.header,
      nothing_after(shard.node().drop_table(shard.id(), std::move(name), session.author())));
}

Handled handle_restore_table(LocalShard& shard, Session& session, const Frame& frame) {
  TRY(const auto* request, body_of<fb::RestoreTableRequest>(frame));
  std::string name(wire::text(request->name()));
  return describe_with(shard, session, frame.header,
                       shard.node().restore_table(shard.id(), std::move(name), session.author()));
}

Handled handle_list_tables(LocalShard& shard, Session& session, const Frame& frame) {
  std::string prefix;
  bool include_dropped = false;
  if (!frame.body.empty()) {
    TRY(const auto* request, body_of<fb::ListTablesRequest>(frame));
    prefix = wire::text(request->prefix());
    include_dropped = request->include_dropped();
  }
  if (include_dropped) {
    return answer_with(shard, session, frame.header,
                       list_with_dropped(shard, session, std::move(prefix)));
  }
  session.reply(frame.header, build_list(shard, session, prefix, {}));
  return {};
}

Handled handle_describe_table(LocalShard& shard, Session& session, const Frame& frame) {
  TRY(const auto* request, body_of<fb::DescribeTableRequest>(frame));
  TRY(const auto* table, table_named(shard, request->name()));
  session.reply(frame.header,
                build_description(shard.builder(), *table, shard.clock().expected_us()));
  return {};
}

Handled handle_flush_table(LocalShard& shard, Session& session, const Frame& frame) {
  TRY(const auto* request, body_of<fb::FlushTableRequest>(frame));
  std::string name(wire::text(request->name()));
  return answer_with(shard, session, frame.header,
                     nothing_after(shard.node().flush_table(shard.id(), std::move(name))));
}

Handled handle_compact_table(LocalShard& shard, Session& session, const Frame& frame) {
  TRY(const auto* request, body_of<fb::CompactTableRequest>(frame));
  std::string name(wire::text(request->name()));
  return answer_with(shard, session, frame.header,
                     nothing_after(shard.node().compact_table(shard.id(), std::move(name))));
}

Handled handle_rule_history(LocalShard& shard, Session& session, const Frame& frame) {
  TRY(const auto* request, body_of<fb::RuleHistoryRequest>(frame));
  TRY(const auto* table, find_table(shard.tables(), frame.header, wire::text(request->table())));
  const TableSchema& schema = table->schema;
  const std::string_view name = wire::text(request->family());
  const FamilySchema* family = schema.find_family(name);
  if (family == nullptr) {
    return fail(Errc::not_found, "table '{}' has no family '{}'", schema.name, escape_bytes(name));
  }
  session.reply(frame.header,
                build_history(shard.builder(), schema, *family, shard.clock().expected_us()));
  return {};
}

Handled handle_undo_rule(LocalShard& shard, Session& session, const Frame& frame) {
  TRY(const auto* request, body_of<fb::UndoRuleRequest>(frame));
  engine::RuleUndo undo{std::string(wire::text(request->table())),
                        std::string(wire::text(request->family())), request->expected_version()};
  return describe_with(shard, session, frame.header,
                       shard.node().undo_rule(shard.id(), std::move(undo), session.author()));
}

}  // namespace cellar::server
