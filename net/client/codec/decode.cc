#include "net/client/codec/decode.h"

#include <algorithm>
#include <map>
#include <utility>

#include "io/loop/mailbox.h"
#include "net/client/codec/decode_parts.h"
#include "net/wire/operate.h"
#include "net/wire/point_codec.h"
#include "net/wire/status.h"

namespace cellar::client {

namespace {

RetentionRule rule_of(const flatbuffers::Vector<const fb::RuleNode*>& nodes, uint32_t& next,
                      int depth) {
  RetentionRule rule;
  const fb::RuleNode& node = *nodes.Get(next++);
  rule.kind = static_cast<RetentionRule::Kind>(node.kind());
  rule.value = node.value();
  for (uint32_t i = 0; i < node.child_count() && next < nodes.size() && depth < 20; ++i) {
    rule.parts.push_back(rule_of(nodes, next, depth + 1));
  }
  return rule;
}

// Empty: keep everything.
std::optional<RetentionRule> rule_of(const flatbuffers::Vector<const fb::RuleNode*>* nodes) {
  if (nodes == nullptr || nodes->size() == 0 || !wire::well_aligned(nodes)) return std::nullopt;
  uint32_t next = 0;
  return rule_of(*nodes, next, 0);
}

FamilySpec decoded_family(const fb::FamilySpec& from) {
  FamilySpec to;
  to.name = text_of(from.name());
  to.rule_given = from.rule_given();
  to.rule = rule_of(from.rule());
  to.timestamps = enum_of<TimestampMeaning>(from.timestamps());
  to.born_dead = enum_of<BornDead>(from.born_dead());
  if (from.window_given()) {
    to.window = WriteWindow{from.window_past_us(), from.window_future_us(),
                            from.window_unit() == fb::WindowUnit::Seconds};
  }
  to.undo_window_us = from.undo_window_us();
  to.born_dead_from_profile = from.born_dead_from_profile();
  to.window_from_profile = from.window_from_profile();
  return to;
}

// The tablets of a reply, whose keys are in its arena.
template <class Reply>
Result<std::vector<TabletDescription>> tablets_of(const Reply& reply) {
  std::vector<TabletDescription> tablets;
  if (!wire::well_aligned(reply.tablets())) return std::unexpected(bad_arena());
  for (uint32_t i = 0; reply.tablets() && i < reply.tablets()->size(); ++i) {
    const fb::TabletRec& from = *reply.tablets()->Get(i);
    TRY(std::string start, key_in(wire::bytes_of(reply.arena()), from.start()));
    TRY(std::string end, key_in(wire::bytes_of(reply.arena()), from.end()));
    tablets.push_back(
        {from.tablet_id(), from.epoch(), std::move(start), std::move(end), from.shard()});
  }
  return tablets;
}

std::vector<std::string> texts_of(
    const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* from) {
  std::vector<std::string> to;
  for (uint32_t i = 0; from != nullptr && i < from->size(); ++i) {
    to.emplace_back(wire::text(from->Get(i)));
  }
  return to;
}

BackupInfo info_of(const fb::BackupRec& from) {
  BackupInfo to;
  to.name = wire::text(from.name());
  to.program = wire::text(from.program());
  to.wall_us = from.wall_us();
  to.trusted_us = from.trusted_us();
  to.tables = texts_of(from.tables());
  to.blobs = from.blobs();
  to.bytes = from.bytes();
  to.copied_bytes = from.copied_bytes();
  return to;
}

SettingChange change_of(const fb::SettingChange& from) {
  return {text_of(from.name()), text_of(from.before()), text_of(from.after())};
}

AuditEntry entry_of(const fb::AuditEntry& from) {
  AuditEntry to;
  to.sequence = from.sequence();
  to.at_us = from.at_us();
  to.action = static_cast<AuditAction>(from.action());
  to.client_name = wire::text(from.client_name());
  to.address = wire::text(from.address());
  to.table = wire::text(from.table());
  to.table_id = from.table_id();
  to.schema_version = from.schema_version();
  to.family = wire::text(from.family());
  to.old_rule_given = from.old_rule_given();
  to.new_rule_given = from.new_rule_given();
  to.old_rule = rule_of(from.old_rule());
  to.new_rule = rule_of(from.new_rule());
  each_of(from.details(), to.details, [](const fb::AuditDetail& detail) -> AuditDetail {
    return {text_of(detail.name()), text_of(detail.old_value()), text_of(detail.new_value())};
  });
  return to;
}

ReclaimFigures figures_of(const fb::ReclaimFigures& from) {
  ReclaimFigures to;
  to.live_bytes = from.live_bytes();
  to.dead_bytes = from.dead_bytes();
  to.overdue_bytes = from.overdue_bytes();
  to.held_bytes = from.held_bytes();
  to.pinned_bytes = from.pinned_bytes();
  to.unknown_bytes = from.unknown_bytes();
  to.damaged_files = from.damaged_files();
  to.oldest_death_us = from.oldest_death_us();
  to.next_reclaim_us = from.next_reclaim_us();
  return to;
}

TableReclaim reclaim_of(const fb::TableReclaim& from) {
  TableReclaim to;
  to.name = wire::text(from.name());
  to.table_id = from.table_id();
  if (from.figures() != nullptr) to.figures = figures_of(*from.figures());
  to.reclaim_within_us = from.reclaim_within_us();
  to.margin_us = from.margin_us();
  to.dead_slack = from.dead_slack();
  to.reclaim_share = from.reclaim_share();
  to.missed_since_us = from.missed_since_us();
  if (const fb::Verified* verified = from.verified()) {
    to.verified = Verified{verified->none(), verified->since_us(), verified->bytes(),
                           verified->damaged_files()};
  }
  return to;
}

ReclaimFile file_of(const fb::ReclaimFile& from) {
  ReclaimFile to;
  to.tablet_id = from.tablet_id();
  to.blob = from.blob();
  to.run = from.run();
  to.bytes = from.bytes();
  to.dead_bytes = from.dead_bytes();
  to.overdue_bytes = from.overdue_bytes();
  to.held_bytes = from.held_bytes();
  to.overdue_since_us = from.overdue_since_us();
  to.wholly_dead = from.wholly_dead();
  to.reason = static_cast<ReclaimReason>(from.reason());
  to.since_us = from.since_us();
  to.until_us = from.until_us();
  to.done_us = from.done_us();
  to.count = from.count();
  to.other = from.other();
  to.error = wire::text(from.error());
  return to;
}

ReclaimSum sum_of(const fb::ReclaimSum& from) {
  return {static_cast<ReclaimReason>(from.reason()), from.files(), from.bytes(), from.dead_bytes(),
          from.overdue_bytes()};
}

}  // namespace

Result<void> decode_nothing(const Answer&) { return {}; }

Result<ServerHello> decode_hello(const Answer& answer) {
  TRY(const fb::HelloReply* reply, root_of<fb::HelloReply>(answer.last));
  ServerHello hello;
  hello.server_version = text_of(reply->server_version());
  hello.shard = reply->shard();
  hello.shards = reply->shards();
  if (hello.shards > Mailbox::kMaxShards || hello.shard >= std::max(hello.shards, 1u)) {
    return fail(Errc::internal, "the server says that it is shard {} of {}", hello.shard,
                hello.shards);
  }
  hello.now_us = reply->now_us();
  hello.instance = reply->instance();
  hello.advertise = text_of(reply->advertise());
  if (const fb::Limits* limits = reply->limits()) {
    hello.frame_bytes = limits->frame_bytes();
    hello.in_flight = limits->in_flight();
  }
  if (reply->features() != nullptr) {
    for (const flatbuffers::String* name : *reply->features()) {
      hello.drop_tokens |= wire::text(name) == "drop_row_range_tokens";
      hello.shard_choice |= wire::text(name) == "shard_choice";
    }
  }
  return hello;
}

Result<Pong> decode_ping(const Answer& answer) {
  TRY(const fb::PingReply* reply, root_of<fb::PingReply>(answer.last));
  return Pong{reply->now_us()};
}

Result<ClockReport> decode_clock(const Answer& answer) {
  TRY(const fb::ClockReply* reply, root_of<fb::ClockReply>(answer.last));
  ClockReport report;
  report.trusted_us = reply->trusted_us();
  report.wall_us = reply->wall_us();
  report.held_us = reply->held_us();
  report.synchronised = reply->synchronised();
  report.steady_us = reply->steady_us();
  report.release_after_us = reply->release_after_us();
  report.lag_us = reply->lag_us();
  report.stands = reply->stands();
  return report;
}

Result<ServerInfo> decode_info(const Answer& answer) {
  TRY(const fb::ServerInfoReply* reply, root_of<fb::ServerInfoReply>(answer.last));
  ServerInfo info;
  info.version = text_of(reply->version());
  info.data_dir = text_of(reply->data_dir());
  info.io_backend = text_of(reply->io_backend());
  info.io_reason = text_of(reply->io_reason());
  info.shards = reply->shards();
  info.uptime_us = reply->uptime_us();
  info.now_us = reply->now_us();
  info.wall_us = reply->wall_us();
  info.held_us = reply->held_us();
  info.lag_us = reply->lag_us();
  info.stands = reply->stands();
  info.requests_bytes = reply->requests_bytes();
  info.answers_bytes = reply->answers_bytes();
  if (!wire::well_aligned(reply->stats())) return std::unexpected(bad_arena());
  for (uint32_t i = 0; reply->stats() && i < reply->stats()->size(); ++i) {
    const fb::ShardStats& from = *reply->stats()->Get(i);
    ShardStats& to = info.stats.emplace_back();
    to.tablets = from.tablets();
    to.tables_on_disk = from.tables_on_disk();
    to.table_bytes = from.table_bytes();
    to.log_bytes = from.log_bytes();
    to.memtable_bytes = from.memtable_bytes();
    to.cache_bytes = from.cache_bytes();
    to.metadata_bytes = from.metadata_bytes();
    to.commits = from.commits();
    to.flushes = from.flushes();
    to.compactions = from.compactions();
    to.torn_tail_bytes = from.torn_tail_bytes();
    to.replayed_commits = from.replayed_commits();
    to.requests = from.requests();
    to.requests_handed_over = from.requests_handed_over();
    to.connections = from.connections();
    to.read_only = from.read_only();
  }
  for (uint32_t i = 0; reply->storage() && i < reply->storage()->size(); ++i) {
    if (i == info.stats.size()) break;
    const fb::ShardStorage& from = *reply->storage()->Get(i);
    info.stats[i].cache_packed_bytes = from.cache_packed_bytes();
    info.stats[i].zstd_bytes = from.zstd_bytes();
    info.stats[i].released_bytes = from.released_bytes();
    info.stats[i].token_bytes = from.token_bytes();
    info.stats[i].free_bytes = from.free_bytes();
    info.stats[i].row_cache_bytes = from.row_cache_bytes();
    info.stats[i].row_hits = from.row_hits();
    info.stats[i].row_misses = from.row_misses();
    info.stats[i].withheld_bytes = from.withheld_bytes();
  }
  if (const fb::ServerLimits* limits = reply->limits()) {
    info.memory_bytes = limits->memory_bytes();
    info.memtable_limit_bytes = limits->memtable_bytes();
    info.cell_bytes = limits->cell_bytes();
    info.row_bytes = limits->row_bytes();
    info.frame_bytes = limits->frame_bytes();
  }
  if (const fb::Recovery* recovery = reply->recovery()) {
    info.replayed_commits = recovery->replayed_commits();
    info.replayed_bytes = recovery->replayed_bytes();
    info.torn_tail_bytes = recovery->torn_tail_bytes();
    info.orphans_removed = recovery->orphans_removed();
    info.recovery_us = recovery->elapsed_us();
  }
  return info;
}

Result<MutateReply> decode_mutate(const Answer& answer) {
  if (answer.last.header.op == static_cast<uint16_t>(fb::Op::Put)) {
    fb::PutReply put;
    if (!wire::parse_put_reply(answer.last.body, put)) {
      return std::unexpected(bad_arena().outcome(Applied::applied));
    }
    return MutateReply{false, false, put.commit_stamp(), put.timestamp()};
  }
  TRY(const fb::MutateRowReply* reply, root_of<fb::MutateRowReply>(answer.last));
  return MutateReply{reply->repeated(), reply->answer_not_kept(), reply->commit_stamp(),
                     reply->timestamp()};
}

Result<EntryResults> decode_entries(const Answer& answer) {
  TRY(const fb::MutateRowsReply* reply, root_of<fb::MutateRowsReply>(answer.last));
  EntryResults results(answer.argument);
  if (!reply->failures()) return results;
  const Bytes arena = wire::bytes_of(reply->arena());
  for (uint32_t i = 0; i < reply->failures()->size(); ++i) {
    const fb::EntryFailure& failure = *reply->failures()->Get(i);
    Bytes message;
    if (failure.index() >= results.size() || !wire::view(failure.message(), arena, message)) {
      return std::unexpected(bad_arena().outcome(Applied::maybe_applied));
    }
    Error error(wire::errc_of(failure.code()), std::string(message));
    error.applied = wire::applied_of(failure.applied());
    error.retry_after_ms = failure.retry_after_ms();
    results[failure.index()] = std::unexpected(std::move(error));
  }
  return results;
}

namespace {

// The answer to a Get: each body is a part of the row.
Result<std::optional<Row>> decode_got(const Answer& answer) {
  std::vector<CellBlock> blocks;
  for (const std::string& chunk : answer.chunks) {
    TRY(CellBlock block, CellBlock::decode_got(answer.row, chunk, !blocks.empty(), false));
    blocks.push_back(std::move(block));
  }
  TRY(CellBlock block, CellBlock::decode_got(answer.row, answer.last.body, !blocks.empty(), true));
  if (blocks.empty() && block.cells().empty()) return std::optional<Row>();
  blocks.push_back(std::move(block));
  return std::optional<Row>(Row(std::move(blocks)));
}

}  // namespace

Result<std::optional<Row>> decode_row(const Answer& answer) {
  if (answer.last.header.op == static_cast<uint16_t>(fb::Op::Get)) return decode_got(answer);
  std::vector<CellBlock> blocks;
  for (const std::string& chunk : answer.chunks) {
    TRY(CellBlock block, CellBlock::decode(chunk));
    blocks.push_back(std::move(block));
  }
  if (answer.last.header.kind == wire::FrameKind::reply) {
    TRY(CellBlock block, CellBlock::decode(answer.last.body));
    blocks.push_back(std::move(block));
  }
  if (blocks.empty() || blocks.front().empty()) return std::optional<Row>();
  return std::optional<Row>(Row(std::move(blocks)));
}

Result<Row> decode_modified(const Answer& answer) {
  TRY(std::optional<Row> row, decode_row(answer));
  if (!row) return Row();
  return *std::move(row);
}

Result<DropReply> decode_drop(const Answer& answer) {
  TRY(const fb::DropRowRangeReply* reply, root_of<fb::DropRowRangeReply>(answer.last));
  return DropReply{reply->tablets(), reply->commit_stamp()};
}

Result<CheckAndMutateReply> decode_check(const Answer& answer) {
  TRY(const fb::CheckAndMutateRowReply* reply, root_of<fb::CheckAndMutateRowReply>(answer.last));
  return CheckAndMutateReply{reply->matched(), reply->repeated(), reply->answer_not_kept(),
                             reply->commit_stamp(), reply->timestamp()};
}

Result<std::vector<SplitPoint>> decode_samples(const Answer& answer) {
  TRY(const fb::SampleRowKeysReply* reply, root_of<fb::SampleRowKeysReply>(answer.last));
  std::vector<SplitPoint> points;
  if (!reply->samples()) return points;
  if (!wire::well_aligned(reply->samples())) return std::unexpected(bad_arena());
  const Bytes arena = wire::bytes_of(reply->arena());
  for (uint32_t i = 0; i < reply->samples()->size(); ++i) {
    const fb::SampleRec& from = *reply->samples()->Get(i);
    TRY(std::string key, key_in(arena, from.key()));
    points.push_back({std::move(key), from.bytes_before()});
  }
  return points;
}

Result<std::vector<TableSummary>> decode_list(const Answer& answer) {
  TRY(const fb::ListTablesReply* reply, root_of<fb::ListTablesReply>(answer.last));
  std::vector<TableSummary> tables;
  each_of(reply->tables(), tables, [](const fb::TableSummary& from) -> TableSummary {
    return {text_of(from.name()),
            from.table_id(),
            from.tablets(),
            from.families(),
            from.dropped(),
            from.dropped_us(),
            from.restorable_until_us(),
            from.bytes()};
  });
  return tables;
}

Result<TableDescription> decode_table(const Answer& answer) {
  TRY(const fb::TableDescription* reply, root_of<fb::TableDescription>(answer.last));
  TableDescription table;
  table.name = text_of(reply->name());
  table.table_id = reply->table_id();
  table.version = reply->version();
  table.granularity = static_cast<Granularity>(reply->granularity());
  table.profile = static_cast<Profile>(reply->profile());
  each_of(reply->families(), table.families, decoded_family);
  if (const fb::TableOptions* options = reply->options()) {
    table.options.durability = enum_of<Durability>(options->durability());
    table.options.compression = enum_of<Compression>(options->compression());
    table.options.block_bytes = options->block_bytes();
    table.options.reclaim_within_us = options->reclaim_within_us();
    table.options.dead_slack = options->dead_slack();
    table.options.reclaim_share = options->reclaim_share();
    table.options.compaction = enum_of<Compaction>(options->compaction());
    table.options.bottom_compression = enum_of<BottomCompression>(options->bottom_compression());
  }
  TRY(table.tablets, tablets_of(*reply));
  each_of(reply->undo_windows(), table.undo_windows, [](const fb::UndoWindow& from) -> UndoWindow {
    return {text_of(from.family()), rule_of(from.replaced()), from.changed_us(), from.until_us()};
  });
  TRY(table.indexes, indexes_of(*reply));
  return table;
}

Result<std::vector<TabletDescription>> decode_reshape(const Answer& answer) {
  TRY(const fb::ReshapeReply* reply, root_of<fb::ReshapeReply>(answer.last));
  return tablets_of(*reply);
}

Result<TabletPage> decode_tablets(const Answer& answer) {
  TRY(const fb::ListTabletsReply* reply, root_of<fb::ListTabletsReply>(answer.last));
  TabletPage page;
  const Bytes arena = wire::bytes_of(reply->arena());
  page.next_table = reply->next_table();
  if (reply->next_row()) {
    TRY(page.next_row, key_in(arena, *reply->next_row()));
  }
  std::map<uint64_t, std::string> names;
  for (uint32_t i = 0; reply->tables() && i < reply->tables()->size(); ++i) {
    const fb::TableSummary& table = *reply->tables()->Get(i);
    names[table.table_id()] = wire::text(table.name());
  }
  if (!wire::well_aligned(reply->tablets())) return std::unexpected(bad_arena());
  for (uint32_t i = 0; reply->tablets() && i < reply->tablets()->size(); ++i) {
    const fb::TabletFiguresRec& from = *reply->tablets()->Get(i);
    TabletInfo& to = page.tablets.emplace_back();
    to.tablet_id = from.tablet_id();
    to.epoch = from.epoch();
    TRY(to.start, key_in(arena, from.start()));
    TRY(to.end, key_in(arena, from.end()));
    to.shard = from.shard();
    to.table = names[from.table_id()];
    to.bytes = from.bytes();
    to.unflushed_bytes = from.unflushed_bytes();
    to.tables = from.tables();
    to.runs = from.runs();
    to.compaction = static_cast<Compaction>(from.reserved16());
    to.reads = from.reads();
    to.writes = from.writes();
    to.last_commit_us = static_cast<int64_t>(from.last_stamp_ns() / 1000);
    to.held = from.held();
  }
  return page;
}

Result<RuleHistory> decode_history(const Answer& answer) {
  TRY(const fb::RuleHistoryReply* reply, root_of<fb::RuleHistoryReply>(answer.last));
  RuleHistory history;
  history.version = reply->version();
  history.undo_window_us = reply->undo_window_us();
  history.now_us = reply->now_us();
  each_of(reply->eras(), history.eras, [](const fb::RuleEra& from) -> RuleEra {
    return {rule_of(from.rule()), from.since_us(), from.until_us(), from.undo_until_us()};
  });
  return history;
}

Result<AuditPage> decode_audit(const Answer& answer) {
  TRY(const fb::AuditLogReply* reply, root_of<fb::AuditLogReply>(answer.last));
  AuditPage page;
  page.next_before = reply->next_before();
  page.oldest = reply->oldest();
  each_of(reply->entries(), page.entries, entry_of);
  return page;
}

Result<PreviewReply> decode_preview(const Answer& answer) {
  TRY(const fb::PreviewRuleReply* reply, root_of<fb::PreviewRuleReply>(answer.last));
  PreviewReply preview;
  preview.cells = reply->cells();
  preview.bytes = reply->bytes();
  preview.rows = reply->rows();
  preview.cells_seen = reply->cells_seen();
  preview.rows_seen = reply->rows_seen();
  preview.undo_window_us = reply->undo_window_us();
  preview.approximate = reply->approximate();
  preview.least = {reply->least_cells(), reply->least_bytes(), reply->least_rows()};
  preview.most = {reply->most_cells(), reply->most_bytes(), reply->most_rows()};
  const Bytes arena = wire::bytes_of(reply->arena());
  for (uint32_t i = 0; reply->samples() && i < reply->samples()->size(); ++i) {
    TRY(std::string key, key_in(arena, *reply->samples()->Get(i)));
    preview.samples.push_back(std::move(key));
  }
  return preview;
}

Result<BackupStatus> decode_backup(const Answer& answer) {
  TRY(const fb::BackupReply* reply, root_of<fb::BackupReply>(answer.last));
  BackupStatus status;
  status.job = reply->job();
  status.directory = wire::text(reply->directory());
  status.name = wire::text(reply->name());
  status.phase = wire::text(reply->phase());
  status.running = reply->running();
  status.bytes_total = reply->bytes_total();
  status.bytes_done = reply->bytes_done();
  status.blobs_total = reply->blobs_total();
  status.blobs_done = reply->blobs_done();
  status.copied_bytes = reply->copied_bytes();
  if (reply->code() != 0) {
    status.error = Error(static_cast<Errc>(reply->code()), text_of(reply->message()));
  }
  each_of(reply->backups(), status.backups, info_of);
  return status;
}

Result<ControlStatus> decode_control(const Answer& answer) {
  TRY(const fb::ControlReply* reply, root_of<fb::ControlReply>(answer.last));
  ControlStatus status;
  status.state = wire::text(reply->state());
  status.reason = wire::text(reply->reason());
  status.connections = reply->connections();
  each_of(reply->changed(), status.changed, change_of);
  each_of(reply->need_restart(), status.need_restart, change_of);
  status.certificate_expires_us = reply->certificate_expires_us();
  status.backup_directories = texts_of(reply->backup_directories());
  return status;
}

Result<ReclaimReport> decode_reclaim(const Answer& answer) {
  TRY(const fb::ReclaimReply* reply, root_of<fb::ReclaimReply>(answer.last));
  ReclaimReport report;
  if (!wire::well_aligned(reply->shards()) || !wire::well_aligned(reply->sums())) {
    return std::unexpected(bad_arena());
  }
  report.now_us = reply->now_us();
  report.files_there = reply->files_there();
  report.scrub_every_us = reply->scrub_every_us();
  each_of(reply->tables(), report.tables, reclaim_of);
  each_of(reply->shards(), report.shards, figures_of);
  each_of(reply->files(), report.files, file_of);
  each_of(reply->sums(), report.sums, sum_of);
  return report;
}

std::optional<PreviewProgress> decode_progress(Bytes body) {
  const auto* from = wire::verified<fb::PreviewProgress>(body);
  if (from == nullptr) return std::nullopt;
  PreviewProgress progress;
  progress.cells = from->cells();
  progress.bytes = from->bytes();
  progress.rows = from->rows();
  progress.rows_seen = from->rows_seen();
  progress.rows_about = from->rows_about();
  return progress;
}

}  // namespace cellar::client
