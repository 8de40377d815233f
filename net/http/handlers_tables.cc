// Tables, their tablets and rules: listing, preview of a rule, change of a rule.
#include <algorithm>
#include <set>

#include "engine/preview_rule.h"
#include "net/http/api.h"
#include "net/http/http_node.h"
#include "net/http/routes.h"
#include "net/server/access/access.h"
#include "net/server/requests/op_table.h"

namespace cellar::http {

using engine::TableEntry;
using engine::TabletFigures;
using server::ShardServer;
using wire::fb::Op;

namespace {

constexpr int64_t kPreviewUs = 30'000'000;  // time limit of a preview
constexpr uint64_t kMaxTablets = 10'000;
constexpr uint64_t kMaxAudit = 500;

json::value family_value(const FamilySchema& family, int64_t now_us) {
  constexpr std::string_view kMeanings[] = {"time", "expiry", "sequence"};
  int64_t undo_until_us = 0;
  for (const PastRule& past : family.history) {
    if (past.can_be_undone(now_us)) undo_until_us = past.undo_until_us;
  }
  return {{"name", family.name},
          {"rule", rule_value(family.rule)},
          {"timestamps", kMeanings[static_cast<size_t>(family.timestamps)]},
          {"undo_window_us", family.undo_window_us},
          {"undo_until_us", undo_until_us == 0 ? json::value() : json::value(undo_until_us)}};
}

json::value figures_value(const TableReading& of) {
  return {{"tablets", of.tablets},
          {"sstables", of.sstables},
          {"bytes", of.bytes},
          {"zstd_bytes", of.zstd_bytes},
          {"unflushed_bytes", of.unflushed_bytes},
          {"live_bytes", of.live_bytes},
          {"dead_bytes", of.dead_bytes},
          {"overdue_bytes", of.overdue_bytes},
          {"held_bytes", of.held_bytes},
          {"pinned_bytes", of.pinned_bytes},
          {"damaged_sstables", of.damaged_sstables},
          {"missed_us", of.missed_us},
          {"oldest_death_us", time_value(of.oldest_death_us)},
          {"next_reclaim_us", time_value(of.next_reclaim_us)},
          {"reads", of.reads},
          {"writes", of.writes}};
}

std::string_view compaction_name(Compaction compaction) {
  constexpr std::string_view kNames[] = {"automatic", "tiered", "time-window"};
  return kNames[static_cast<size_t>(compaction)];
}

std::string_view bottom_name(BottomCompression compression) {
  constexpr std::string_view kNames[] = {"automatic", "same", "zstd"};
  return kNames[static_cast<size_t>(compression)];
}

json::value table_value(const TableSchema& schema, const TableReading& figures, int64_t now_us) {
  json::array families;
  for (const FamilySchema& family : schema.families) {
    families.push_back(family_value(family, now_us));
  }
  return {{"name", schema.name},
          {"id", schema.id.value()},
          {"version", schema.version},
          {"reclaim_within_us", schema.options.reclaim_within_us},
          {"dead_slack", schema.options.dead_slack},
          {"reclaim_share", schema.options.reclaim_share},
          {"compaction", compaction_name(schema.options.compaction)},
          {"bottom_compression", bottom_name(schema.options.bottom_compression)},
          {"families", std::move(families)},
          {"figures", figures_value(figures)}};
}

Async<engine::TableMap> map_of(HttpNode& node) {
  return node.ask_home(
      [](ShardServer& home) -> Async<engine::TableMap> { co_return home.tables(); });
}

TableReading reading_of(const TableReadings& all, TableId id) {
  const auto at = std::ranges::find(all.tables, id, &TableReading::id);
  return at == all.tables.end() ? TableReading() : *at;
}

json::value tablet_value(const TabletFigures& of) {
  return {{"id", of.tablet.id.value()},
          {"table", of.tablet.table.value()},
          {"epoch", of.tablet.epoch.value()},
          {"shard", of.tablet.shard.value()},
          {"start", shown(of.tablet.start)},
          {"end", shown(of.tablet.end)},
          {"bytes", of.bytes},
          {"zstd_bytes", of.zstd_bytes},
          {"dead_bytes", of.dead_bytes},
          {"overdue_bytes", of.overdue_bytes},
          {"sstables", of.tables},
          {"runs", of.runs},
          {"compaction", compaction_name(of.compaction)},
          {"reads", of.reads},
          {"writes", of.writes},
          {"held", of.tablet.held}};
}

engine::Author author_of(const HttpRequest& request) {
  return {request.principal ? request.principal->name : "http", request.peer};
}

// Stops a preview at its time limit.
class Deadline final : public engine::PreviewListener {
 public:
  explicit Deadline(Timers& timers) : timers_(timers), until_us_(timers.now_us() + kPreviewUs) {}
  Result<void> go_on(const engine::PreviewProgress&) override {
    if (timers_.now_us() < until_us_) return {};
    return fail(Errc::deadline_exceeded,
                "the preview took longer than {} s; an approximate one "
                "reads nothing",
                kPreviewUs / 1'000'000);
  }

 private:
  Timers& timers_;
  const int64_t until_us_;
};

Async<Result<engine::PreviewReport>> preview(ShardServer& shard, engine::PreviewRequest request) {
  CO_TRY_VOID(shard.admission().begin_scan());
  Deadline deadline(shard.timers());
  auto report = co_await shard.node().preview_rule(shard.id(), std::move(request), deadline);
  shard.admission().end_scan();
  co_return report;
}

Async<Result<TableEntry>> alter(ShardServer& shard, engine::TableChange change, uint64_t version,
                                engine::Author by) {
  const TableEntry* table = shard.tables().find(change.name);
  if (table != nullptr && version != 0 && table->schema.version != version) {
    co_return fail(Errc::failed_precondition,
                   "table '{}' has version {}, not {}: it was altered meanwhile", change.name,
                   table->schema.version, version);
  }
  co_return co_await shard.node().alter_table(shard.id(), std::move(change), std::move(by));
}

struct RuleRequest {
  std::string table;
  std::string family;
  RetentionRule rule;
  uint64_t version = 0;
  bool approximate = false;
};

Result<RuleRequest> rule_request(const HttpRequest& request, bool with_rule) {
  TRY(const json::object body, object_of(request));
  RuleRequest wanted;
  TRY(wanted.table, text_member(body, "table"));
  TRY(wanted.family, text_member(body, "family"));
  const json::value* version = body.if_contains("expected_version");
  if (version != nullptr && version->is_int64() && version->get_int64() > 0) {
    wanted.version = static_cast<uint64_t>(version->get_int64());
  }
  wanted.approximate = flag_member(body, "approximate", false);
  if (!with_rule) return wanted;
  const json::value* rule = body.if_contains("rule");
  if (rule == nullptr) return fail(Errc::invalid_argument, "the body has no 'rule'");
  TRY(wanted.rule, rule_of(*rule));
  return wanted;
}

json::value count_value(const engine::PreviewCount& count) {
  return {{"cells", count.cells}, {"bytes", count.bytes}, {"rows", count.rows}};
}

json::value preview_value(const engine::PreviewReport& report) {
  json::array samples;
  for (const std::string& row : report.samples) samples.push_back(json::string(shown(row)));
  return {{"kills", count_value(report.count)},
          {"least", count_value(report.approximate ? report.least : report.count)},
          {"most", count_value(report.approximate ? report.most : report.count)},
          {"rows_seen", report.count.rows_seen},
          {"cells_seen", report.count.cells_seen},
          {"approximate", report.approximate},
          {"undo_window_us", report.undo_window_us},
          {"sample_rows", std::move(samples)}};
}

}  // namespace

Async<HttpResponse> handle_tables(HttpNode& node, const HttpRequest& request) {
  const std::shared_ptr<const TableReadings> readings = co_await node.reader().tables();
  const std::shared_ptr<const NodeReading> reading = co_await node.reader().node();
  const engine::TableMap map = co_await map_of(node);
  json::array tables;
  for (const auto& [name, entry] : map.tables()) {
    if (!server::is_shown(request.principal.get(), server::spec_of(Op::ListTables), name)) continue;
    tables.push_back(table_value(entry->schema, reading_of(*readings, entry->schema.id),
                                 reading->clock.trusted_us));
  }
  co_return json_response({{"now_us", reading->clock.trusted_us}, {"tables", std::move(tables)}});
}

Async<HttpResponse> handle_table(HttpNode& node, const HttpRequest& request) {
  const std::shared_ptr<const TableReadings> readings = co_await node.reader().tables();
  const std::shared_ptr<const NodeReading> reading = co_await node.reader().node();
  const engine::TableMap map = co_await map_of(node);
  const TableEntry* entry = map.find(request.parameter("name"));
  if (entry == nullptr) co_return error_response(404, "NOT_FOUND", "there is no such table");
  co_return json_response(table_value(entry->schema, reading_of(*readings, entry->schema.id),
                                      reading->clock.trusted_us));
}

Async<HttpResponse> handle_tablets(HttpNode& node, const HttpRequest& request) {
  const Result<uint64_t> limit = number_parameter(request, "limit", 1000, kMaxTablets);
  if (!limit) co_return json_error(limit.error());
  const std::string name = request.parameter("table");
  const std::shared_ptr<const TableReadings> readings = co_await node.reader().tables();
  const auto table = std::ranges::find(readings->tables, name, &TableReading::name);
  if (!name.empty() && table == readings->tables.end()) {
    co_return error_response(404, "NOT_FOUND", "there is no such table");
  }
  std::set<TableId> visible;
  for (const TableReading& one : readings->tables) {
    if (server::is_shown(request.principal.get(), server::spec_of(Op::ListTablets), one.name))
      visible.insert(one.id);
  }
  json::array tablets;
  bool more = false;
  for (const TabletFigures& of : readings->tablets) {
    if (!visible.contains(of.tablet.table)) continue;
    if (!name.empty() && of.tablet.table != table->id) continue;
    if ((more = tablets.size() >= *limit)) break;
    tablets.push_back(tablet_value(of));
  }
  co_return json_response(
      {{"at_us", readings->at_us}, {"more", more}, {"tablets", std::move(tablets)}});
}

Async<HttpResponse> handle_preview(HttpNode& node, const HttpRequest& request) {
  auto wanted = rule_request(request, true);
  if (!wanted) co_return json_error(wanted.error());
  engine::PreviewRequest ask;
  ask.table = std::move(wanted->table);
  ask.family = std::move(wanted->family);
  ask.rule = std::move(wanted->rule);
  ask.samples = 20;
  ask.approximate = wanted->approximate;
  auto there = [&ask](ShardServer& home) { return preview(home, std::move(ask)); };
  const auto report = co_await node.ask_home(std::move(there));
  co_return report ? json_response(preview_value(*report)) : json_error(report.error());
}

Async<HttpResponse> handle_apply(HttpNode& node, const HttpRequest& request) {
  auto wanted = rule_request(request, true);
  if (!wanted) co_return json_error(wanted.error());
  engine::TableChange change;
  change.name = wanted->table;
  change.alter.push_back({.name = wanted->family, .rule = std::move(wanted->rule)});
  auto there = [&](ShardServer& home) {
    return alter(home, std::move(change), wanted->version, author_of(request));
  };
  const auto table = co_await node.ask_home(std::move(there));
  if (!table) co_return json_error(table.error());
  co_return json_response({{"table", table->schema.name}, {"version", table->schema.version}});
}

Async<HttpResponse> handle_undo(HttpNode& node, const HttpRequest& request) {
  const auto wanted = rule_request(request, false);
  if (!wanted) co_return json_error(wanted.error());
  engine::RuleUndo change{wanted->table, wanted->family, wanted->version};
  auto there = [&](ShardServer& home) {
    return home.node().undo_rule(home.id(), std::move(change), author_of(request));
  };
  const auto table = co_await node.ask_home(std::move(there));
  if (!table) co_return json_error(table.error());
  co_return json_response({{"table", table->schema.name}, {"version", table->schema.version}});
}

Async<HttpResponse> handle_rule_history(HttpNode& node, const HttpRequest& request) {
  const engine::TableMap map = co_await map_of(node);
  const TableEntry* entry = map.find(request.parameter("table"));
  const std::string name = request.parameter("family");
  const FamilySchema* family = entry == nullptr ? nullptr : entry->schema.find_family(name);
  if (family == nullptr) {
    co_return error_response(404, "NOT_FOUND", "there is no such table, or no such family in it");
  }
  json::array past;
  for (const PastRule& rule : family->history) {
    past.push_back({{"rule", rule_value(rule.rule)},
                    {"until_us", rule.until.value()},
                    {"undo_until_us", rule.undo_until_us}});
  }
  co_return json_response({{"rule", rule_value(family->rule)}, {"past", std::move(past)}});
}

Async<HttpResponse> handle_audit(HttpNode& node, const HttpRequest& request) {
  constexpr std::string_view kActions[] = {
      "",           "create_table", "drop_table",  "restore_table", "alter_table",
      "add_family", "alter_family", "drop_family", "undo_rule"};
  const Result<uint64_t> limit = number_parameter(request, "limit", 100, kMaxAudit);
  if (!limit) co_return json_error(limit.error());
  engine::AuditQuery query;
  query.table = request.parameter("table");
  query.limit = std::max<uint64_t>(*limit, 1);
  auto look = [&query](ShardServer& home) {
    return home.node().audit_log(home.id(), std::move(query));
  };
  const engine::AuditPage page = co_await node.ask_home(std::move(look));
  json::array entries;
  for (const engine::AuditEntry& entry : page.entries) {
    const size_t action = std::min(static_cast<size_t>(entry.action), std::size(kActions) - 1);
    entries.push_back({{"sequence", entry.sequence},
                       {"at_us", entry.at_us},
                       {"action", kActions[action]},
                       {"table", entry.table},
                       {"family", entry.family},
                       {"client", entry.by.client},
                       {"address", entry.by.address},
                       {"old_rule", entry.old_rule ? rule_value(*entry.old_rule) : nullptr},
                       {"new_rule", entry.new_rule ? rule_value(*entry.new_rule) : nullptr}});
  }
  co_return json_response({{"entries", std::move(entries)}});
}

}  // namespace cellar::http
