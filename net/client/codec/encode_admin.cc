// Encoder: requests about the connection, tables, rules and tablets.
#include <utility>

#include "net/client/codec/encode.h"
#include "net/client/codec/encode_parts.h"
#include "net/client/codec/encode_request.h"

namespace cellar::client {

Request Encoder::hello(const ClientOptions& options, Bytes token) {
  auto& b = fresh();
  const auto name = string_of(b, options.client_name);
  const auto id = byte_vector(b, options.client_id);
  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> secret = 0;
  if (!token.empty()) secret = byte_vector(b, token);
  fb::HelloRequestBuilder out(b);
  if (!token.empty()) out.add_auth_token(secret);
  out.add_client_name(name);
  out.add_client_id(id);
  return finish(op_number(fb::Op::Hello), out.Finish());
}

Request Encoder::ping() {
  auto& b = fresh();
  return finish(op_number(fb::Op::Ping), fb::CreatePingRequest(b));
}

Request Encoder::server_info() {
  auto& b = fresh();
  return finish(op_number(fb::Op::ServerInfo), fb::CreateServerInfoRequest(b));
}

Request Encoder::create_table(const TableSpec& spec) {
  auto& b = fresh();
  const auto name = string_of(b, spec.name);
  std::vector<flatbuffers::Offset<fb::FamilySpec>> families;
  for (const FamilySpec& family : spec.families) families.push_back(family_of(b, family));
  const auto family_vector = b.CreateVector(families);
  const auto options = options_of(b, spec.options);
  ArenaBuilder bytes;
  std::vector<fb::Span> splits;
  for (const std::string& split : spec.splits) splits.push_back(bytes.add(split));
  const auto split_vector = b.CreateVectorOfStructs(splits);
  const auto arena = byte_vector(b, bytes.bytes());
  fb::CreateTableRequestBuilder out(b);
  out.add_name(name);
  if (spec.granularity) out.add_granularity(static_cast<fb::Granularity>(*spec.granularity));
  out.add_profile(static_cast<fb::Profile>(spec.profile));
  out.add_families(family_vector);
  out.add_options(options);
  out.add_splits(split_vector);
  out.add_arena(arena);
  Request request = finish(op_number(fb::Op::CreateTable), out.Finish());
  request.writes = true;
  request.repeat = Repeat::unless_applied;
  return request;
}

Request Encoder::alter_table(const TableChange& change) {
  auto& b = fresh();
  const auto name = string_of(b, change.name);
  std::vector<flatbuffers::Offset<fb::FamilySpec>> added;
  std::vector<flatbuffers::Offset<fb::FamilySpec>> altered;
  std::vector<flatbuffers::Offset<flatbuffers::String>> dropped;
  for (const FamilySpec& family : change.add) added.push_back(family_of(b, family));
  for (const FamilySpec& family : change.alter) altered.push_back(family_of(b, family));
  for (const std::string& family : change.drop) dropped.push_back(string_of(b, family));
  const auto add = b.CreateVector(added);
  const auto alter = b.CreateVector(altered);
  const auto drop = b.CreateVector(dropped);
  const auto options = options_of(b, change.options);
  Request request = finish(op_number(fb::Op::AlterTable),
                           fb::CreateAlterTableRequest(b, name, add, alter, drop, options,
                                                       change.close_oldest_undo_window));
  request.writes = true;
  request.repeat = Repeat::unless_applied;
  return request;
}

Request Encoder::drop_table(std::string_view name) {
  Request request = named<fb::DropTableRequest>(op_number(fb::Op::DropTable), name);
  request.writes = true;
  request.repeat = Repeat::unless_applied;
  return request;
}

Request Encoder::restore_table(std::string_view name) {
  Request request = named<fb::RestoreTableRequest>(op_number(fb::Op::RestoreTable), name);
  request.writes = true;
  request.repeat = Repeat::unless_applied;
  return request;
}

Request Encoder::list_tables(const ListTables& list) {
  auto& b = fresh();
  return finish(op_number(fb::Op::ListTables),
                fb::CreateListTablesRequest(b, string_of(b, list.prefix), list.include_dropped));
}

Request Encoder::describe_table(std::string_view name) {
  return named<fb::DescribeTableRequest>(op_number(fb::Op::DescribeTable), name);
}

Request Encoder::preview_rule(const PreviewRule& preview, bool progress) {
  auto& b = fresh();
  const auto table = string_of(b, preview.table);
  const auto family = string_of(b, preview.family);
  std::vector<fb::RuleNode> nodes;
  if (preview.rule) append_nodes(*preview.rule, nodes);
  return finish(op_number(fb::Op::PreviewRule),
                fb::CreatePreviewRuleRequest(b, table, family, b.CreateVectorOfStructs(nodes),
                                             preview.samples, preview.approximate, progress,
                                             preview.close_oldest_undo_window));
}

Request Encoder::rule_history(std::string_view table, std::string_view family) {
  auto& b = fresh();
  const auto table_name = string_of(b, table);
  const auto family_name = string_of(b, family);
  return finish(op_number(fb::Op::RuleHistory),
                fb::CreateRuleHistoryRequest(b, table_name, family_name));
}

Request Encoder::undo_rule(const UndoRule& undo) {
  auto& b = fresh();
  const auto table_name = string_of(b, undo.table);
  const auto family_name = string_of(b, undo.family);
  Request request =
      finish(op_number(fb::Op::UndoRule),
             fb::CreateUndoRuleRequest(b, table_name, family_name, undo.expected_version));
  request.writes = true;
  request.repeat = Repeat::unless_applied;
  return request;
}

Request Encoder::audit_log(const AuditLog& log) {
  auto& b = fresh();
  const auto table = string_of(b, log.table);
  return finish(op_number(fb::Op::AuditLog),
                fb::CreateAuditLogRequest(b, table, log.since_us, log.before, log.limit));
}

Request Encoder::flush_table(std::string_view name) {
  return named<fb::FlushTableRequest>(op_number(fb::Op::FlushTable), name);
}

Request Encoder::compact_table(std::string_view name) {
  return named<fb::CompactTableRequest>(op_number(fb::Op::CompactTable), name);
}

Request Encoder::split_tablet(const SplitTablet& split) {
  auto& b = fresh();
  const auto table = string_of(b, split.table);
  const auto row = split.row.empty() ? 0 : byte_vector(b, split.row);
  Request request = finish(op_number(fb::Op::SplitTablet),
                           fb::CreateSplitTabletRequest(b, table, split.tablet_id, row));
  request.writes = true;
  return request;
}

Request Encoder::merge_tablets(std::string_view table, uint64_t left, uint64_t right) {
  auto& b = fresh();
  Request request = finish(op_number(fb::Op::MergeTablets),
                           fb::CreateMergeTabletsRequest(b, string_of(b, table), left, right));
  request.writes = true;
  return request;
}

Request Encoder::move_tablet(std::string_view table, uint64_t tablet_id, uint32_t shard) {
  auto& b = fresh();
  Request request = finish(op_number(fb::Op::MoveTablet),
                           fb::CreateMoveTabletRequest(b, string_of(b, table), tablet_id, shard));
  request.writes = true;
  return request;
}

Request Encoder::list_tablets(const ListTablets& list) {
  auto& b = fresh();
  const auto table = string_of(b, list.table);
  const auto row = byte_vector(b, list.from_row);
  return finish(op_number(fb::Op::ListTablets),
                fb::CreateListTabletsRequest(b, table, list.from_table, row, list.limit));
}

Request Encoder::confirm_time(std::optional<int64_t> max_held_us) {
  auto& b = fresh();
  Request request =
      finish(op_number(fb::Op::ConfirmTime),
             fb::CreateConfirmTimeRequest(b, max_held_us.has_value(), max_held_us.value_or(0)));
  request.writes = max_held_us.has_value();
  return request;
}

}  // namespace cellar::client
