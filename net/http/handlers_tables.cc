// Tables, their tablets and rules, earlier rules, the audit trail.
#include <algorithm>
#include <set>

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

json::value dying_value(const engine::DeathForecast& dying) {
  json::array horizons;
  for (size_t i = 0; i < engine::kDeathHorizonsUs.size(); ++i) {
    horizons.push_back({{"within_us", engine::kDeathHorizonsUs[i]},
                        {"bytes", dying.bytes[i]},
                        {"cells", dying.cells[i]}});
  }
  return horizons;
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
          {"verified_since_us", time_value(of.verified.since_us)},
          {"verified_bytes", of.verified.bytes},
          {"missed_us", of.missed_us},
          {"oldest_death_us", time_value(of.oldest_death_us)},
          {"next_reclaim_us", time_value(of.next_reclaim_us)},
          {"dying", dying_value(of.dying)},
          {"left_cells", of.left_cells},
          {"left_bytes", of.left_bytes},
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

json::value state_value(const engine::IndexStates& states, uint64_t id) {
  const auto at = std::ranges::find(states.states, id, &engine::IndexState::id);
  if (at == states.states.end()) return nullptr;
  return {{"ready", at->ready},
          {"done", at->share_done()},
          {"entries", at->entries},
          {"bytes", at->bytes},
          {"skipped", at->skipped}};
}

json::value index_value(const IndexSchema& index, const engine::IndexStates& states) {
  constexpr std::string_view kParts[] = {"", "value", "time", "qualifier"};
  json::array order;
  for (const IndexPart part : index.parts) order.emplace_back(kParts[static_cast<size_t>(part)]);
  json::array covered;
  for (const IndexColumn& column : index.covered) {
    covered.emplace_back(fmt::format("{}:{}", column.family, shown(column.qualifier)));
  }
  const json::value type = index.type == IndexType::int64 ? "int64" : "bytes";
  return {{"name", index.name},
          {"family", index.family},
          {"qualifier", index.qualifier ? json::value(shown(*index.qualifier)) : json::value()},
          {"order", std::move(order)},
          {"type", index.has(IndexPart::value) ? type : json::value()},
          {"match", index.match == IndexMatch::any ? "any" : "newest"},
          {"covered", std::move(covered)},
          {"max_age_us", index.max_age_us ? json::value(*index.max_age_us) : json::value()},
          {"tighter_base", index.tighter_base == TighterBase::refuse ? "refuse" : "follow"},
          {"state", state_value(states, index.id)}};
}

json::value table_value(const TableSchema& schema, const TableReading& figures, int64_t now_us) {
  json::array families;
  for (const FamilySchema& family : schema.families) {
    families.push_back(family_value(family, now_us));
  }
  json::array indexes;
  for (const IndexSchema& index : schema.indexes) {
    indexes.push_back(index_value(index, figures.indexes));
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
          {"indexes", std::move(indexes)},
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
  const engine::TableMap map = co_await map_of(node);  // newer than the readings
  const TableEntry* table = name.empty() ? nullptr : map.find(name);
  if (!name.empty() && table == nullptr) {
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
    if (table != nullptr && of.tablet.table != table->schema.id) continue;
    if ((more = tablets.size() >= *limit)) break;
    tablets.push_back(tablet_value(of));
  }
  co_return json_response(
      {{"at_us", readings->at_us}, {"more", more}, {"tablets", std::move(tablets)}});
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
                    {"until_us", rule.until.value() / 1000},
                    {"undo_until_us", rule.undo_until_us}});
  }
  co_return json_response({{"rule", rule_value(family->rule)}, {"past", std::move(past)}});
}

Async<HttpResponse> handle_audit(HttpNode& node, const HttpRequest& request) {
  constexpr std::string_view kActions[] = {"",
                                           "create_table",
                                           "drop_table",
                                           "restore_table",
                                           "alter_table",
                                           "add_family",
                                           "alter_family",
                                           "drop_family",
                                           "undo_rule",
                                           "create_index",
                                           "alter_index",
                                           "drop_index"};
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
    const auto action = static_cast<size_t>(entry.action);
    entries.push_back({{"sequence", entry.sequence},
                       {"at_us", entry.at_us},
                       {"action", action < std::size(kActions) ? kActions[action] : "unknown"},
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
