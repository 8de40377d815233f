#include "net/client/codec/encode.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "net/client/codec/encode_parts.h"
#include "net/client/codec/encode_request.h"
#include "net/client/codec/frame_parts.h"
#include "net/wire/operate.h"

namespace cellar::client {

namespace {

// There are few tables, so a table's requests without a row can share a connection.
uint64_t row_affinity(Bytes row) { return std::hash<std::string_view>{}(row); }

Repeat repeat_of(bool safe) { return safe ? Repeat::always : Repeat::unless_applied; }

// The number of newest versions if the filter selects nothing else; 0: all.
std::optional<uint32_t> versions_alone(const std::optional<Filter>& filter) {
  if (!filter) return 0;
  const bool alone = filter->kind == Filter::Kind::cells_per_column && filter->children.empty();
  if (!alone || filter->count < 1 || filter->count > UINT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(filter->count);
}

// A write of one row, which may have a token.
template <class Root>
Request changing_row(std::string_view table, Request request, Bytes row, Repeat repeat) {
  request = changing(by_handle(table, std::move(request)), repeat);
  request.affinity = row_affinity(row);
  mark_row<Root>(request);
  mark_token<Root>(request);
  return request;
}

}  // namespace

flatbuffers::FlatBufferBuilder& Encoder::fresh() {
  if (builder_bytes_ > kKeptBuilderBytes) {
    builder_.Reset();
    builder_bytes_ = 0;
  }
  builder_.Clear();
  return builder_;
}

std::string Encoder::frame_string() {
  if (spare_.empty()) return {};
  std::string frame = std::move(spare_.back());
  spare_.pop_back();
  return frame;
}

void Encoder::recycle(std::string frame) {
  if (spare_.size() >= kSpareFrames || frame.capacity() > kSpareFrameBytes) return;
  frame.clear();
  spare_.push_back(std::move(frame));
}

std::optional<Token> Encoder::token_for(const std::optional<Token>& given,
                                        const CallOptions& options) {
  if (given || !options.draw_tokens.value_or(false)) return given;
  const std::array<uint64_t, 2> drawn = {random_.next(), random_.next()};
  return Token{std::string(reinterpret_cast<const char*>(drawn.data()), sizeof drawn), 0};
}

// Whether the mutation fits into a Put: cells alone, within the sizes of its layout.
bool Encoder::fits_put(const Mutation& mutation) {
  const auto& operations = mutation.operations();
  const auto fits = [](const Mutation::Operation& op) {
    // These numbers mean "none" in a Put.
    const bool clear =
        op.timestamp_us != kServerStamped && op.expire_at_us != kNoExpiry && op.ttl_us != kNoTtl;
    return op.kind == Mutation::Kind::set && clear && op.family.size <= UINT8_MAX &&
           op.qualifier.size <= UINT16_MAX && !(op.expire_at_us && op.ttl_us);
  };
  return !operations.empty() && operations.size() <= UINT16_MAX &&
         mutation.row().size() <= UINT16_MAX && std::ranges::all_of(operations, fits);
}

Request Encoder::put(std::string_view table, const Mutation& mutation, const CallOptions& options) {
  cells_.clear();
  for (const Mutation::Operation& op : mutation.operations()) {
    cellar::Mutation& cell = cells_.emplace_back();
    cell.family = mutation.bytes(op.family);
    cell.qualifier = mutation.bytes(op.qualifier);
    cell.value = mutation.bytes(op.value);
    cell.timestamp_us = op.timestamp_us.value_or(kServerStamped);
    cell.expire_at_us = op.expire_at_us.value_or(kNoExpiry);
    cell.ttl_us = op.ttl_us.value_or(kNoTtl);
  }
  Request request =
      changing(fixed(table, fb::Op::Put),
               repeat_of(mutation.safe_to_repeat(options.sole_writer.value_or(false))));
  wire::append_put(request.frame, {mutation.row(), cells_}, options.durability);
  return finish_fixed(std::move(request), mutation.row(), sizeof(fb::PutRec));
}

// A request for one row in the fixed layout, before its body.
Request Encoder::fixed(std::string_view table, fb::Op op) {
  Request request;
  request.frame = frame_string();
  wire::FrameHeader header;
  header.op = op_number(op);
  wire::append_header(request.frame, header);
  return by_handle(table, std::move(request));
}

// `row_at`: of the row in the body.
Request Encoder::finish_fixed(Request request, Bytes row, size_t row_at) {
  wire::FrameHeader header = header_of(request);
  header.body_bytes = static_cast<uint32_t>(request.frame.size() - wire::kHeaderBytes);
  wire::store_header(request.frame.data(), header);
  request.row = {static_cast<uint32_t>(wire::kHeaderBytes + row_at),
                 static_cast<uint32_t>(row.size())};
  request.by_row = true;
  request.affinity = row_affinity(row);
  return request;
}

Request Encoder::get(std::string_view table, Bytes row, uint32_t versions) {
  Request request = fixed(table, fb::Op::Get);
  get_.row = row;
  get_.versions = versions;
  wire::append_get(request.frame, get_);
  request.keep_frame = true;  // the answer does not repeat the row key
  return finish_fixed(std::move(request), row, sizeof(fb::GetRec));
}

Request Encoder::mutate_row(std::string_view table, const Mutation& mutation,
                            const CallOptions& options) {
  const bool has_token = mutation.token() || options.draw_tokens.value_or(false);
  if (!has_token && fits_put(mutation)) return put(table, mutation, options);
  auto& b = fresh();
  std::vector<fb::MutationRec> records;
  records.reserve(mutation.operations().size());
  append_records(mutation, 0, records);
  const auto mutations = b.CreateVectorOfStructs(records);
  const auto arena = byte_vector(b, mutation.arena());
  const auto token = token_of(b, token_for(mutation.token(), options));
  const fb::Span row(0, static_cast<uint32_t>(mutation.row().size()));
  return changing_row<fb::MutateRowRequest>(
      table,
      finish(op_number(fb::Op::MutateRow),
             fb::CreateMutateRowRequest(b, 0, &row, mutations, arena,
                                        durability_of(options.durability), token)),
      mutation.row(), repeat_of(mutation.safe_to_repeat(options.sole_writer.value_or(false))));
}

Request Encoder::mutate_rows(std::string_view table, const std::vector<Mutation>& entries,
                             const std::vector<uint32_t>& chosen, const CallOptions& options) {
  auto& b = fresh();
  ArenaBuilder bytes;
  std::vector<fb::MutationRec> records;
  std::vector<fb::EntryRec> rows;
  rows.reserve(chosen.size());
  for (const uint32_t index : chosen) {
    const Mutation& entry = entries[index];
    const fb::Span at = bytes.add(entry.arena());
    append_records(entry, at.at(), records);
    const std::optional<Token> token = token_for(entry.token(), options);
    const fb::Span token_span = token ? bytes.add(token->token) : fb::Span(0, 0);
    rows.emplace_back(fb::Span(at.at(), static_cast<uint32_t>(entry.row().size())), token_span,
                      token ? token->issued_us : 0,
                      static_cast<uint32_t>(entry.operations().size()), uint32_t{0});
  }
  const auto entry_vector = b.CreateVectorOfStructs(rows);
  const auto mutations = b.CreateVectorOfStructs(records);
  const auto arena = bytes.finish(b);
  Request request =
      by_handle(table, finish(op_number(fb::Op::MutateRows),
                              fb::CreateMutateRowsRequest(b, 0, entry_vector, mutations, arena,
                                                          durability_of(options.durability))));
  request.affinity = chosen.empty() ? 0 : row_affinity(entries[chosen.front()].row());
  request.writes = true;
  mark_entries(request);
  return request;
}

Request Encoder::read_row(std::string_view table, Bytes row, const std::optional<Filter>& filter,
                          const ReadNotes& notes) {
  const bool plain = !notes.explain && !notes.include_dead && !notes.with_expiry;
  const std::optional<uint32_t> versions = versions_alone(filter);
  if (plain && versions && row.size() <= UINT16_MAX) return get(table, row, *versions);
  auto& b = fresh();
  flatbuffers::Offset<flatbuffers::Vector<const fb::FilterNode*>> nodes = 0;
  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> arena;
  fb::Span key(0, static_cast<uint32_t>(row.size()));
  if (filter) {
    ArenaBuilder bytes;
    key = bytes.add(row);
    std::vector<fb::FilterNode> records;
    append_nodes(*filter, bytes, records);
    nodes = b.CreateVectorOfStructs(records);
    arena = bytes.finish(b);
  } else {
    arena = byte_vector(b, row);
  }
  Request request =
      by_handle(table, finish(op_number(fb::Op::ReadRow),
                              fb::CreateReadRowRequest(b, 0, &key, nodes, arena, notes.explain,
                                                       notes.include_dead, notes.with_expiry)));
  request.affinity = row_affinity(row);
  mark_row<fb::ReadRowRequest>(request);
  return request;
}

Request Encoder::read_rows(std::string_view table, const ReadRows& read) {
  auto& b = fresh();
  ArenaBuilder bytes;
  std::vector<fb::Span> keys;
  for (const std::string& key : read.keys) keys.push_back(bytes.add(key));
  std::vector<fb::RangeRec> ranges;
  for (const RowRange& range : read.ranges) ranges.push_back(range_of(range, bytes));
  std::vector<fb::FilterNode> nodes;
  if (read.filter) append_nodes(*read.filter, bytes, nodes);

  const auto key_vector = b.CreateVectorOfStructs(keys);
  const auto range_vector = b.CreateVectorOfStructs(ranges);
  const auto filter = b.CreateVectorOfStructs(nodes);
  const auto arena = bytes.finish(b);
  fb::ReadRowsRequestBuilder out(b);
  if (!keys.empty()) out.add_keys(key_vector);
  if (!ranges.empty()) out.add_ranges(range_vector);
  if (!nodes.empty()) out.add_filter(filter);
  out.add_arena(arena);
  out.add_row_limit(read.row_limit);
  out.add_reversed(read.reversed);
  out.add_explain(read.notes.explain);
  out.add_include_dead(read.notes.include_dead);
  out.add_with_expiry(read.notes.with_expiry);
  out.add_credits(read.credits);
  Request request = by_handle(table, finish(op_number(fb::Op::ReadRows), out.Finish()));
  mark_scan(request, read);
  return request;
}

// A scan is sent to the tablet of its first row; it names no tablet, because it may cross several.
void Encoder::mark_scan(Request& request, const ReadRows& read) {
  const auto& body = body_of<fb::ReadRowsRequest>(request);
  const std::string* first = nullptr;
  if (!read.keys.empty()) {
    first = &read.keys.front();
  } else if (!read.ranges.empty() && !read.reversed && read.ranges.front().start) {
    first = &*read.ranges.front().start;
  }
  if (first == nullptr || first->empty()) return;
  const Bytes arena = wire::bytes_of(body.arena());
  const size_t at = arena.find(*first);
  if (at != Bytes::npos) request.row = part_of(request, arena.data() + at, first->size());
}

Request Encoder::drop_row_range(std::string_view table, const DropRows& drop,
                                const CallOptions& options) {
  const Repeat repeat = repeat_of(options.sole_writer.value_or(false));
  const std::optional<Token> token = token_for(drop.token, options);
  Request request = drop_request(table, drop, token);
  request.repeat = repeat;
  mark_token<fb::DropRowRangeRequest>(request);
  request.needs_drop_tokens = token.has_value();
  if (token && !drop.token) {
    request.frame_without_token = drop_request(table, drop, std::nullopt).frame;
    request.repeat_without_token = repeat;
  }
  return request;
}

Request Encoder::drop_request(std::string_view table, const DropRows& drop,
                              const std::optional<Token>& given) {
  auto& b = fresh();
  const auto prefix = drop.prefix ? byte_vector(b, *drop.prefix) : 0;
  const auto start = drop.start ? byte_vector(b, *drop.start) : 0;
  const auto end = drop.end ? byte_vector(b, *drop.end) : 0;
  const auto token = token_of(b, given);
  return changing(
      by_handle(table, finish(op_number(fb::Op::DropRowRange),
                              fb::CreateDropRowRangeRequest(b, 0, prefix, start, end, token))));
}

Request Encoder::check_and_mutate(std::string_view table, const CheckAndMutate& check,
                                  const CallOptions& options) {
  auto& b = fresh();
  ArenaBuilder bytes;
  const fb::Span row = bytes.add(check.row);
  std::vector<fb::FilterNode> nodes;
  if (check.filter) append_nodes(*check.filter, bytes, nodes);
  std::vector<fb::MutationRec> then_records;
  std::vector<fb::MutationRec> else_records;
  append_records(check.then_mutation, bytes.add(check.then_mutation.arena()).at(), then_records);
  append_records(check.else_mutation, bytes.add(check.else_mutation.arena()).at(), else_records);

  const auto filter = b.CreateVectorOfStructs(nodes);
  const auto then_vector = b.CreateVectorOfStructs(then_records);
  const auto else_vector = b.CreateVectorOfStructs(else_records);
  const auto arena = bytes.finish(b);
  const auto given = token_for(check.token, options);
  const auto token = token_of(b, given);
  fb::CheckAndMutateRowRequestBuilder out(b);
  out.add_row(&row);
  if (check.filter) out.add_filter(filter);
  out.add_then_mutations(then_vector);
  out.add_else_mutations(else_vector);
  out.add_arena(arena);
  out.add_durability(durability_of(options.durability));
  if (given) out.add_token(token);
  return changing_row<fb::CheckAndMutateRowRequest>(
      table, finish(op_number(fb::Op::CheckAndMutateRow), out.Finish()), check.row,
      Repeat::unless_applied);
}

Request Encoder::read_modify_write(std::string_view table, const ReadModifyWrite& modify,
                                   const CallOptions& options) {
  auto& b = fresh();
  ArenaBuilder bytes;
  const fb::Span row = bytes.add(modify.row);
  std::vector<fb::ModifyRec> records;
  for (const ModifyRule& rule : modify.rules) {
    const fb::Span family = bytes.add(rule.family);
    const fb::Span qualifier = bytes.add(rule.qualifier);
    const fb::Span value = rule.append ? bytes.add(*rule.append) : fb::Span(0, 0);
    const fb::ModifyKind kind = rule.append ? fb::ModifyKind::Append : fb::ModifyKind::Increment;
    records.emplace_back(rule.increment_by, family, qualifier, value, static_cast<uint8_t>(kind),
                         uint8_t{0}, uint16_t{0}, uint32_t{0});
  }
  const auto rules = b.CreateVectorOfStructs(records);
  const auto arena = bytes.finish(b);
  const auto token = token_of(b, token_for(modify.token, options));
  return changing_row<fb::ReadModifyWriteRowRequest>(
      table,
      finish(op_number(fb::Op::ReadModifyWriteRow),
             fb::CreateReadModifyWriteRowRequest(b, 0, &row, rules, arena,
                                                 durability_of(options.durability), token)),
      modify.row, Repeat::unless_applied);
}

Request Encoder::sample_row_keys(std::string_view table) {
  auto& b = fresh();
  return by_handle(table,
                   finish(op_number(fb::Op::SampleRowKeys), fb::CreateSampleRowKeysRequest(b)));
}

Request Encoder::hello(const ClientOptions& options, Bytes token, std::optional<uint32_t> shard) {
  auto& b = fresh();
  const auto name = string_of(b, options.client_name);
  const auto id = byte_vector(b, options.client_id);
  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> secret = 0;
  if (!token.empty()) secret = byte_vector(b, token);
  fb::HelloRequestBuilder out(b);
  if (!token.empty()) out.add_auth_token(secret);
  out.add_client_name(name);
  out.add_client_id(id);
  if (shard) out.add_shard(*shard);
  out.add_stale_handles(options.route_by_shard);
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
  const auto arena = bytes.finish(b);
  fb::CreateTableRequestBuilder out(b);
  out.add_name(name);
  if (spec.granularity) out.add_granularity(static_cast<fb::Granularity>(*spec.granularity));
  out.add_profile(static_cast<fb::Profile>(spec.profile));
  out.add_families(family_vector);
  out.add_options(options);
  out.add_splits(split_vector);
  out.add_arena(arena);
  return of_table<fb::CreateTableRequest>(
      changing(finish(op_number(fb::Op::CreateTable), out.Finish())));
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
  return of_table<fb::AlterTableRequest>(
      changing(finish(op_number(fb::Op::AlterTable),
                      fb::CreateAlterTableRequest(b, name, add, alter, drop, options,
                                                  change.close_oldest_undo_window))));
}

Request Encoder::drop_table(std::string_view name) {
  return changing(of_table<fb::DropTableRequest>(
      named<fb::DropTableRequest>(op_number(fb::Op::DropTable), name)));
}

Request Encoder::restore_table(std::string_view name) {
  return changing(of_table<fb::RestoreTableRequest>(
      named<fb::RestoreTableRequest>(op_number(fb::Op::RestoreTable), name)));
}

Request Encoder::list_tables(const ListTables& list) {
  auto& b = fresh();
  return finish(op_number(fb::Op::ListTables),
                fb::CreateListTablesRequest(b, string_of(b, list.prefix), list.include_dropped));
}

Request Encoder::describe_table(std::string_view name) {
  return of_table<fb::DescribeTableRequest>(
      named<fb::DescribeTableRequest>(op_number(fb::Op::DescribeTable), name));
}

Request Encoder::preview_rule(const PreviewRule& preview, bool progress) {
  auto& b = fresh();
  const auto table = string_of(b, preview.table);
  const auto family = string_of(b, preview.family);
  std::vector<fb::RuleNode> nodes;
  if (preview.rule) append_nodes(*preview.rule, nodes);
  return of_table<fb::PreviewRuleRequest>(
      finish(op_number(fb::Op::PreviewRule),
             fb::CreatePreviewRuleRequest(b, table, family, b.CreateVectorOfStructs(nodes),
                                          preview.samples, preview.approximate, progress,
                                          preview.close_oldest_undo_window)));
}

Request Encoder::rule_history(std::string_view table, std::string_view family) {
  auto& b = fresh();
  const auto table_name = string_of(b, table);
  const auto family_name = string_of(b, family);
  return of_table<fb::RuleHistoryRequest>(finish(
      op_number(fb::Op::RuleHistory), fb::CreateRuleHistoryRequest(b, table_name, family_name)));
}

Request Encoder::undo_rule(const UndoRule& undo) {
  auto& b = fresh();
  const auto table_name = string_of(b, undo.table);
  const auto family_name = string_of(b, undo.family);
  return of_table<fb::UndoRuleRequest>(changing(
      finish(op_number(fb::Op::UndoRule),
             fb::CreateUndoRuleRequest(b, table_name, family_name, undo.expected_version))));
}

Request Encoder::audit_log(const AuditLog& log) {
  auto& b = fresh();
  const auto table = string_of(b, log.table);
  return of_table<fb::AuditLogRequest>(
      finish(op_number(fb::Op::AuditLog),
             fb::CreateAuditLogRequest(b, table, log.since_us, log.before, log.limit)));
}

Request Encoder::flush_table(std::string_view name) {
  return of_table<fb::FlushTableRequest>(
      named<fb::FlushTableRequest>(op_number(fb::Op::FlushTable), name));
}

Request Encoder::compact_table(std::string_view name) {
  return of_table<fb::CompactTableRequest>(
      named<fb::CompactTableRequest>(op_number(fb::Op::CompactTable), name));
}

Request Encoder::split_tablet(const SplitTablet& split) {
  auto& b = fresh();
  const auto table = string_of(b, split.table);
  const auto row = split.row.empty() ? 0 : byte_vector(b, split.row);
  return of_table<fb::SplitTabletRequest>(
      changing(finish(op_number(fb::Op::SplitTablet),
                      fb::CreateSplitTabletRequest(b, table, split.tablet_id, row)),
               Repeat::always));
}

Request Encoder::merge_tablets(std::string_view table, uint64_t left, uint64_t right) {
  auto& b = fresh();
  return of_table<fb::MergeTabletsRequest>(
      changing(finish(op_number(fb::Op::MergeTablets),
                      fb::CreateMergeTabletsRequest(b, string_of(b, table), left, right)),
               Repeat::always));
}

Request Encoder::move_tablet(std::string_view table, uint64_t tablet_id, uint32_t shard) {
  auto& b = fresh();
  return of_table<fb::MoveTabletRequest>(
      changing(finish(op_number(fb::Op::MoveTablet),
                      fb::CreateMoveTabletRequest(b, string_of(b, table), tablet_id, shard)),
               Repeat::always));
}

Request Encoder::list_tablets(const ListTablets& list) {
  auto& b = fresh();
  const auto table = string_of(b, list.table);
  const auto row = byte_vector(b, list.from_row);
  return of_table<fb::ListTabletsRequest>(
      finish(op_number(fb::Op::ListTablets),
             fb::CreateListTabletsRequest(b, table, list.from_table, row, list.limit)));
}

Request Encoder::confirm_time(std::optional<int64_t> max_held_us) {
  auto& b = fresh();
  Request request =
      finish(op_number(fb::Op::ConfirmTime),
             fb::CreateConfirmTimeRequest(b, max_held_us.has_value(), max_held_us.value_or(0)));
  request.writes = max_held_us.has_value();
  return request;
}

Request Encoder::backup(const BackupCommand& command) {
  auto& b = fresh();
  const auto directory = string_of(b, command.directory);
  const auto name = string_of(b, command.name);
  const auto tables = b.CreateVectorOfStrings(command.tables);
  const auto table = string_of(b, command.table);
  const auto new_table = string_of(b, command.new_table);
  Request request =
      finish(wire::kBackupOp,
             fb::CreateBackupRequest(b, static_cast<fb::BackupAction>(command.action), directory,
                                     name, tables, command.keep, table, new_table));
  request.writes = command.action != BackupAction::status && command.action != BackupAction::list;
  request.repeat = repeat_of(!request.writes);
  return request;
}

// Every action is idempotent, so the request may be sent twice.
Request Encoder::control(ControlAction action) {
  auto& b = fresh();
  return finish(wire::kControlOp,
                fb::CreateControlRequest(b, static_cast<fb::ControlAction>(action)));
}

Request Encoder::reclaim_report(const ReclaimQuestion& question) {
  auto& b = fresh();
  const auto table = string_of(b, question.table);
  return of_table<fb::ReclaimRequest>(
      finish(wire::kReclaimOp, fb::CreateReclaimRequest(b, table, question.files)));
}

}  // namespace cellar::client
