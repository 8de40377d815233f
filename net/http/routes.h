// Routes: all HTTP endpoints, in one fixed table. A path is compared as a whole; parameters are in
// the query or body, so no part of a path names a file.
#pragma once

#include <span>
#include <string_view>

#include "net/http/gatekeeper.h"
#include "net/http/http_message.h"

namespace cellar::http {

class HttpNode;

struct Route {
  using Handler = Async<HttpResponse> (*)(HttpNode& node, const HttpRequest& request);
  Method method;  // get (includes head) or post
  std::string_view path;
  Gate gate;
  bool needs_node;  // 503 until the node serves and while a shard is stuck
  Handler handler;
};

std::span<const Route> routes();

// ---- handlers_health.cc ----
Async<HttpResponse> handle_healthz(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_readyz(HttpNode& node, const HttpRequest& request);

// ---- handlers_metrics.cc ----
Async<HttpResponse> handle_metrics(HttpNode& node, const HttpRequest& request);
// ---- handlers_figures.cc ----
Async<HttpResponse> handle_node(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_shards(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_clock(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_slow_requests(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_history(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_config(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_profile(HttpNode& node, const HttpRequest& request);
// ---- handlers_merges.cc ----
Async<HttpResponse> handle_compactions(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_heat(HttpNode& node, const HttpRequest& request);
// ---- handlers_schema.cc ----
Async<HttpResponse> handle_create_table(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_drop_table(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_restore_table(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_dropped_tables(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_add_family(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_drop_family(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_reclaim_options(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_preview(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_apply(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_undo(HttpNode& node, const HttpRequest& request);
// ---- handlers_backups.cc ----
Async<HttpResponse> handle_backups(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_take_backup(HttpNode& node, const HttpRequest& request);
// ---- handlers_tables.cc ----
Async<HttpResponse> handle_tables(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_table(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_tablets(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_reclaim(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_rule_history(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_audit(HttpNode& node, const HttpRequest& request);
// ---- handlers_cells.cc ----
Async<HttpResponse> handle_cells(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_index_cells(HttpNode& node, const HttpRequest& request);
// ---- handlers_changes.cc ----
Async<HttpResponse> handle_drain(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_reload(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_release_clock(HttpNode& node, const HttpRequest& request);
// ---- handlers_assets.cc ----
Async<HttpResponse> handle_asset(HttpNode& node, const HttpRequest& request);

}  // namespace cellar::http
