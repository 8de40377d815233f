#include "net/http/routes.h"

#include "net/server/access/alter_need.h"
#include "net/wire/op.h"

namespace cellar::http {
namespace {

using wire::fb::Op;
using wire::fb::OperateOp;

constexpr Gate kOpen{};
constexpr Gate kMetricsGate{.access = Access::metrics};

// The route requires the permission of `op`.
constexpr Gate as(Op op, TableIn table = TableIn::nowhere) {
  return {Access::operation, static_cast<uint16_t>(op), table};
}
constexpr Gate as(OperateOp op, TableIn table = TableIn::nowhere) {
  return {Access::operation, static_cast<uint16_t>(op), table};
}
// Of the node: what only an administrator may do, of operations that also report.
constexpr Gate administer(auto op) {
  return {Access::operation, static_cast<uint16_t>(op), TableIn::nowhere,
          security::Need{{security::Role::admin}}};
}
// Changes a family's rule only.
constexpr Gate kAlterRule{Access::operation, static_cast<uint16_t>(Op::AlterTable), TableIn::body,
                          server::kAlterRetention};

// Adds and drops families.
constexpr Gate kAlterFamilies{Access::operation, static_cast<uint16_t>(Op::AlterTable),
                              TableIn::body, server::kAlterSchema};

// Figures of the whole node, slow requests (with names and addresses of clients) and process
// figures require ServerInfo; settings require Control.
constexpr Route kRoutes[] = {
    {Method::get, "/healthz", kOpen, false, handle_healthz},
    {Method::get, "/readyz", kOpen, false, handle_readyz},
    {Method::get, "/metrics", kMetricsGate, true, handle_metrics},
    // ---- API
    {Method::get, "/api/v1/node", as(Op::ServerInfo), true, handle_node},
    {Method::get, "/api/v1/shards", as(Op::ServerInfo), true, handle_shards},
    {Method::get, "/api/v1/tables", as(Op::ListTables), true, handle_tables},
    {Method::get, "/api/v1/table", as(Op::DescribeTable, TableIn::query_name), true, handle_table},
    {Method::get, "/api/v1/tablets", as(Op::ListTablets, TableIn::query_table), true,
     handle_tablets},
    {Method::get, "/api/v1/reclaim", as(OperateOp::Reclaim, TableIn::query_table), true,
     handle_reclaim},
    {Method::get, "/api/v1/heat", as(Op::ListTablets), true, handle_heat},
    {Method::get, "/api/v1/compactions", as(Op::ServerInfo), true, handle_compactions},
    {Method::get, "/api/v1/clock", as(Op::ConfirmTime), true, handle_clock},
    {Method::post, "/api/v1/clock/release", administer(Op::ConfirmTime), true,
     handle_release_clock},
    {Method::get, "/api/v1/slow-requests", as(Op::ServerInfo), true, handle_slow_requests},
    {Method::get, "/api/v1/history", as(Op::ServerInfo), true, handle_history},
    {Method::get, "/api/v1/audit", as(Op::AuditLog, TableIn::query_table), true, handle_audit},
    {Method::get, "/api/v1/config", as(OperateOp::Control), true, handle_config},
    {Method::post, "/api/v1/reload", administer(OperateOp::Control), true, handle_reload},
    {Method::post, "/api/v1/drain", administer(OperateOp::Control), true, handle_drain},
    {Method::get, "/api/v1/backups", as(OperateOp::Backup), true, handle_backups},
    {Method::post, "/api/v1/backups/take", administer(OperateOp::Backup), true, handle_take_backup},
    {Method::get, "/api/v1/tables/dropped", as(Op::ListTables), true, handle_dropped_tables},
    {Method::post, "/api/v1/tables/create", as(Op::CreateTable, TableIn::body), true,
     handle_create_table},
    {Method::post, "/api/v1/tables/drop", as(Op::DropTable, TableIn::body), true,
     handle_drop_table},
    {Method::post, "/api/v1/tables/restore", as(Op::RestoreTable, TableIn::body), true,
     handle_restore_table},
    {Method::post, "/api/v1/tables/reclaim", kAlterRule, true, handle_reclaim_options},
    {Method::post, "/api/v1/families/add", kAlterFamilies, true, handle_add_family},
    {Method::post, "/api/v1/families/drop", kAlterFamilies, true, handle_drop_family},
    {Method::get, "/api/v1/retention/history", as(Op::RuleHistory, TableIn::query_table), true,
     handle_rule_history},
    {Method::post, "/api/v1/retention/preview", as(Op::PreviewRule, TableIn::body), true,
     handle_preview},
    {Method::post, "/api/v1/retention/apply", kAlterRule, true, handle_apply},
    {Method::post, "/api/v1/retention/undo", as(Op::UndoRule, TableIn::body), true, handle_undo},
    {Method::get, "/api/v1/cells", as(Op::ReadRows, TableIn::query_table), true, handle_cells},
    {Method::get, "/api/v1/indexes/cells", as(Op::ReadIndex, TableIn::query_table), true,
     handle_index_cells},
    {Method::get, "/api/v1/profile", as(Op::ServerInfo), true, handle_profile},
    {Method::get, "/api/v1/openapi.json", kOpen, false, handle_asset},
    // ---- console
    {Method::get, "/", kOpen, false, handle_asset},
    {Method::get, "/console/main.js", kOpen, false, handle_asset},
    {Method::get, "/console/overview.js", kOpen, false, handle_asset},
    {Method::get, "/console/charts.js", kOpen, false, handle_asset},
    {Method::get, "/console/theme.js", kOpen, false, handle_asset},
    {Method::get, "/console/views.js", kOpen, false, handle_asset},
    {Method::get, "/console/retention.js", kOpen, false, handle_asset},
    {Method::get, "/console/schema.js", kOpen, false, handle_asset},
    {Method::get, "/console/tablets.js", kOpen, false, handle_asset},
    {Method::get, "/console/merges.js", kOpen, false, handle_asset},
    {Method::get, "/console/backups.js", kOpen, false, handle_asset},
    {Method::get, "/console/doctor.js", kOpen, false, handle_asset},
    {Method::get, "/console/nodes.js", kOpen, false, handle_asset},
    {Method::get, "/console/tables.js", kOpen, false, handle_asset},
    {Method::get, "/console/reclaim.js", kOpen, false, handle_asset},
    {Method::get, "/console/cells.js", kOpen, false, handle_asset},
    {Method::get, "/console/indexes.js", kOpen, false, handle_asset},
    {Method::get, "/console/index_query.js", kOpen, false, handle_asset},
    {Method::get, "/console/format.js", kOpen, false, handle_asset},
    {Method::get, "/console/rules.js", kOpen, false, handle_asset},
    {Method::get, "/console/api.js", kOpen, false, handle_asset},
    {Method::get, "/console/console.css", kOpen, false, handle_asset},
    {Method::get, "/console/icon.svg", kOpen, false, handle_asset},
};

}  // namespace

std::span<const Route> routes() { return kRoutes; }

}  // namespace cellar::http
