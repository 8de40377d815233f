// Rule history of a family, and undo of a change.
#include "net/server/requests/dispatch.h"
#include "net/server/requests/table_codec.h"
#include "net/server/shard/local_shard.h"
#include "net/server/shard/router.h"

namespace cellar::server {

using wire::Frame;
using wire::FrameHeader;
namespace fb = wire::fb;

namespace {

Async<void> undo_rule(LocalShard& shard, Session& session, FrameHeader header,
                      engine::RuleUndo undo) {
  const Result<engine::TableEntry> table =
      co_await shard.node().undo_rule(shard.id(), std::move(undo), session.author());
  if (!table) {
    session.reply_error(header, table.error());
    co_return;
  }
  session.reply(header, build_description(shard.builder(), *table, shard.clock().expected_us()));
}

}  // namespace

void handle_rule_history(LocalShard& shard, Session& session, const Frame& frame) {
  const auto* request = body_of<fb::RuleHistoryRequest>(session, frame);
  if (request == nullptr) return;
  const auto table = find_table(shard.tables(), frame.header, wire::text(request->table()));
  if (!table) return session.reply_error(frame.header, table.error());
  const TableSchema& schema = (*table)->schema;
  const std::string_view name = wire::text(request->family());
  const FamilySchema* family = schema.find_family(name);
  if (family == nullptr) {
    return session.reply_error(
        frame.header, Error(Errc::not_found, fmt::format("table '{}' has no family '{}'",
                                                         schema.name, escape_bytes(name))));
  }
  session.reply(frame.header,
                build_history(shard.builder(), schema, *family, shard.clock().expected_us()));
}

void handle_undo_rule(LocalShard& shard, Session& session, const Frame& frame) {
  const auto* request = body_of<fb::UndoRuleRequest>(session, frame);
  if (request == nullptr) return;
  engine::RuleUndo undo{std::string(wire::text(request->table())),
                        std::string(wire::text(request->family())), request->expected_version()};
  spawn(shard.executor(), undo_rule(shard, session, frame.header, std::move(undo)));
}

}  // namespace cellar::server
