// Changes of tables: creation, drop and restoring, families, reclaiming; preview, change and undo
// of a rule.
#include "engine/catalog/table_change.h"
#include "engine/preview_rule.h"
#include "net/http/api.h"
#include "net/http/http_node.h"
#include "net/http/routes.h"
#include "net/server/access/access.h"
#include "net/server/requests/op_table.h"

namespace cellar::http {

using engine::TableEntry;
using server::ShardServer;
using wire::fb::Op;

namespace {

constexpr int64_t kPreviewUs = 30'000'000;  // time limit of a preview

Result<engine::FamilySpec> family_of(const json::value& value) {
  const json::object* family = value.if_object();
  if (family == nullptr) return fail(Errc::invalid_argument, "a family is no object");
  engine::FamilySpec spec;
  TRY(spec.name, text_member(*family, "name"));
  for (const auto& member : *family) {
    const std::string_view key = member.key();
    if (key != "name" && key != "rule" && key != "timestamps") {
      return fail(Errc::invalid_argument, "a family has no member '{}'", escape_bytes(key));
    }
  }
  if (const json::value* rule = family->if_contains("rule")) {
    TRY(spec.rule, rule_of(*rule));
  }
  if (family->contains("timestamps")) {
    TRY(const std::string meaning, text_member(*family, "timestamps"));
    if (meaning == "time") {
      spec.timestamps = TimestampMeaning::time;
    } else if (meaning == "expiry") {
      spec.timestamps = TimestampMeaning::expiry;
    } else if (meaning == "sequence") {
      spec.timestamps = TimestampMeaning::sequence;
    } else {
      return fail(Errc::invalid_argument, "timestamps is none of time, expiry, sequence");
    }
  }
  return spec;
}

Result<std::vector<engine::FamilySpec>> families_of(const json::object& body) {
  std::vector<engine::FamilySpec> families;
  const json::value* list = body.if_contains("families");
  if (list == nullptr) return families;
  if (!list->is_array()) return fail(Errc::invalid_argument, "'families' is no array");
  if (list->get_array().size() > kMaxFamilies) {
    return fail(Errc::invalid_argument, "more than {} families", kMaxFamilies);
  }
  for (const json::value& one : list->get_array()) {
    TRY(engine::FamilySpec family, family_of(one));
    families.push_back(std::move(family));
  }
  return families;
}

// Absent: 0.
Result<int64_t> count_member(const json::object& body, std::string_view name) {
  const json::value* value = body.if_contains(name);
  if (value == nullptr) return 0;
  if (!value->is_int64() || value->get_int64() <= 0) {
    return fail(Errc::invalid_argument, "'{}' is no positive integer", name);
  }
  return value->get_int64();
}

HttpResponse table_response(const Result<TableEntry>& table) {
  if (!table) return json_error(table.error());
  return json_response({{"table", table->schema.name}, {"version", table->schema.version}});
}

Async<Result<TableEntry>> alter(ShardServer& home, engine::TableChange change, engine::Author by) {
  return home.node().alter_table(home.id(), std::move(change), std::move(by));
}

Async<HttpResponse> alter_by(HttpNode& node, const HttpRequest& request, engine::TableChange change,
                             const json::object& body) {
  const Result<int64_t> version = count_member(body, "expected_version");
  if (!version) co_return json_error(version.error());
  change.expected_version = static_cast<uint64_t>(*version);
  if (const Result<void> valid = engine::validate_change(change); !valid) {
    co_return json_error(valid.error());
  }
  auto there = [&](ShardServer& home) {
    return alter(home, std::move(change), author_of(request));
  };
  co_return table_response(co_await node.ask_home(std::move(there)));
}

Result<engine::TableSpec> table_spec(const json::object& body) {
  engine::TableSpec spec;
  TRY(spec.name, text_member(body, "table"));
  TRY(spec.families, families_of(body));
  TRY(const int64_t within_us, count_member(body, "reclaim_within_us"));
  if (within_us != 0) spec.options.reclaim_within_us = within_us;
  TRY_VOID(validate_table_name(spec.name));
  TRY_VOID(validate_options(spec.options));
  for (const engine::FamilySpec& family : spec.families) TRY_VOID(engine::validate_spec(family));
  return spec;
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
  TRY(const int64_t version, count_member(body, "expected_version"));
  wanted.version = static_cast<uint64_t>(version);
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

Async<HttpResponse> handle_create_table(HttpNode& node, const HttpRequest& request) {
  const auto body = object_of(request);
  if (!body) co_return json_error(body.error());
  auto spec = table_spec(*body);
  if (!spec) co_return json_error(spec.error());
  auto there = [&](ShardServer& home) {
    return home.node().create_table(home.id(), std::move(*spec), author_of(request));
  };
  co_return table_response(co_await node.ask_home(std::move(there)));
}

Async<HttpResponse> handle_drop_table(HttpNode& node, const HttpRequest& request) {
  const auto body = object_of(request);
  if (!body) co_return json_error(body.error());
  const auto name = text_member(*body, "table");
  if (!name) co_return json_error(name.error());
  auto there = [&](ShardServer& home) {
    return home.node().drop_table(home.id(), *name, author_of(request));
  };
  const Result<void> dropped = co_await node.ask_home(std::move(there));
  if (!dropped) co_return json_error(dropped.error());
  co_return json_response({{"table", *name}});
}

Async<HttpResponse> handle_restore_table(HttpNode& node, const HttpRequest& request) {
  const auto body = object_of(request);
  if (!body) co_return json_error(body.error());
  const auto name = text_member(*body, "table");
  if (!name) co_return json_error(name.error());
  auto there = [&](ShardServer& home) {
    return home.node().restore_table(home.id(), *name, author_of(request));
  };
  co_return table_response(co_await node.ask_home(std::move(there)));
}

Async<HttpResponse> handle_dropped_tables(HttpNode& node, const HttpRequest& request) {
  auto look = [](ShardServer& home) { return home.node().dropped_tables(home.id()); };
  const std::vector<engine::DroppedTable> dropped = co_await node.ask_home(std::move(look));
  json::array tables;
  for (const engine::DroppedTable& one : dropped) {
    const std::string& name = one.entry.schema.name;
    if (!server::is_shown(request.principal.get(), server::spec_of(Op::ListTables), name)) continue;
    tables.push_back({{"name", name},
                      {"id", one.entry.schema.id.value()},
                      {"bytes", one.bytes},
                      {"dropped_us", one.mark.dropped_us},
                      {"restorable_until_us", one.mark.restorable_until_us}});
  }
  co_return json_response({{"tables", std::move(tables)}});
}

Async<HttpResponse> handle_add_family(HttpNode& node, const HttpRequest& request) {
  const auto body = object_of(request);
  if (!body) co_return json_error(body.error());
  engine::TableChange change;
  auto name = text_member(*body, "table");
  auto families = families_of(*body);
  if (!name) co_return json_error(name.error());
  if (!families) co_return json_error(families.error());
  change.name = std::move(*name);
  change.add = std::move(*families);
  co_return co_await alter_by(node, request, std::move(change), *body);
}

Async<HttpResponse> handle_drop_family(HttpNode& node, const HttpRequest& request) {
  const auto body = object_of(request);
  if (!body) co_return json_error(body.error());
  engine::TableChange change;
  auto name = text_member(*body, "table");
  auto family = text_member(*body, "family");
  if (!name) co_return json_error(name.error());
  if (!family) co_return json_error(family.error());
  change.name = std::move(*name);
  change.drop.push_back(std::move(*family));
  co_return co_await alter_by(node, request, std::move(change), *body);
}

Async<HttpResponse> handle_reclaim_options(HttpNode& node, const HttpRequest& request) {
  const auto body = object_of(request);
  if (!body) co_return json_error(body.error());
  engine::TableChange change;
  auto name = text_member(*body, "table");
  if (!name) co_return json_error(name.error());
  const auto within_us = count_member(*body, "reclaim_within_us");
  if (!within_us) co_return json_error(within_us.error());
  change.name = std::move(*name);
  if (*within_us != 0) change.options.reclaim_within_us = *within_us;
  const json::value* slack = body->if_contains("dead_slack");
  if (slack != nullptr && !slack->is_number()) {
    co_return error_response(400, "INVALID_ARGUMENT", "'dead_slack' is no number");
  }
  if (slack != nullptr) change.options.dead_slack = slack->to_number<double>();
  co_return co_await alter_by(node, request, std::move(change), *body);
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
  change.expected_version = wanted->version;
  auto there = [&](ShardServer& home) {
    return alter(home, std::move(change), author_of(request));
  };
  co_return table_response(co_await node.ask_home(std::move(there)));
}

Async<HttpResponse> handle_undo(HttpNode& node, const HttpRequest& request) {
  const auto wanted = rule_request(request, false);
  if (!wanted) co_return json_error(wanted.error());
  engine::RuleUndo change{wanted->table, wanted->family, wanted->version};
  auto there = [&](ShardServer& home) {
    return home.node().undo_rule(home.id(), std::move(change), author_of(request));
  };
  co_return table_response(co_await node.ask_home(std::move(there)));
}

}  // namespace cellar::http
