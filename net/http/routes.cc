#include "net/http/routes.h"

namespace cellar::http {
namespace {

constexpr Route kRoutes[] = {
    {Method::get, "/healthz", Access::open, false, handle_healthz},
    {Method::get, "/readyz", Access::open, false, handle_readyz},
    {Method::get, "/metrics", Access::metrics, true, handle_metrics},
    // ---- the API
    {Method::get, "/api/v1/node", Access::figures, true, handle_node},
    {Method::get, "/api/v1/shards", Access::figures, true, handle_shards},
    {Method::get, "/api/v1/tables", Access::figures, true, handle_tables},
    {Method::get, "/api/v1/table", Access::figures, true, handle_table},
    {Method::get, "/api/v1/tablets", Access::data, true, handle_tablets},
    {Method::get, "/api/v1/reclaim", Access::data, true, handle_reclaim},
    {Method::get, "/api/v1/compactions", Access::figures, true, handle_compactions},
    {Method::get, "/api/v1/clock", Access::figures, true, handle_clock},
    {Method::post, "/api/v1/clock/release", Access::change, true, handle_release_clock},
    {Method::get, "/api/v1/slow-requests", Access::figures, true, handle_slow_requests},
    {Method::get, "/api/v1/history", Access::figures, true, handle_history},
    {Method::get, "/api/v1/audit", Access::data, true, handle_audit},
    {Method::get, "/api/v1/config", Access::data, true, handle_config},
    {Method::post, "/api/v1/reload", Access::change, true, handle_reload},
    {Method::post, "/api/v1/drain", Access::change, true, handle_drain},
    {Method::get, "/api/v1/retention/history", Access::figures, true, handle_rule_history},
    {Method::post, "/api/v1/retention/preview", Access::change, true, handle_preview},
    {Method::post, "/api/v1/retention/apply", Access::change, true, handle_apply},
    {Method::post, "/api/v1/retention/undo", Access::change, true, handle_undo},
    {Method::get, "/api/v1/cells", Access::data, true, handle_cells},
    {Method::get, "/api/v1/profile", Access::data, true, handle_profile},
    {Method::get, "/api/v1/openapi.json", Access::open, false, handle_asset},
    // ---- the console
    {Method::get, "/", Access::open, false, handle_asset},
    {Method::get, "/console/main.js", Access::open, false, handle_asset},
    {Method::get, "/console/views.js", Access::open, false, handle_asset},
    {Method::get, "/console/tables.js", Access::open, false, handle_asset},
    {Method::get, "/console/reclaim.js", Access::open, false, handle_asset},
    {Method::get, "/console/cells.js", Access::open, false, handle_asset},
    {Method::get, "/console/format.js", Access::open, false, handle_asset},
    {Method::get, "/console/rules.js", Access::open, false, handle_asset},
    {Method::get, "/console/api.js", Access::open, false, handle_asset},
    {Method::get, "/console/console.css", Access::open, false, handle_asset},
    {Method::get, "/console/icon.svg", Access::open, false, handle_asset},
};

}  // namespace

std::span<const Route> routes() { return kRoutes; }

}  // namespace cellar::http
