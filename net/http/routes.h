// Routes: everything that HTTP answers, in one fixed table. A path is compared whole; what varies
// is in the query or the body, so no part of a path ever names a file or anything else.
#pragma once

#include <span>
#include <string_view>

#include "net/http/gatekeeper.h"
#include "net/http/http_message.h"

namespace cellar::http {

class HttpNode;

struct Route {
  using Handler = Async<HttpResponse> (*)(HttpNode& node, const HttpRequest& request);
  Method method;  // get (head too) or post
  std::string_view path;
  Access access;
  bool needs_node;  // refused with 503 until the node serves and while a shard is stuck
  Handler handler;
};

std::span<const Route> routes();

// ---- handlers_health.cc ----
Async<HttpResponse> handle_healthz(HttpNode& node, const HttpRequest& request);
Async<HttpResponse> handle_readyz(HttpNode& node, const HttpRequest& request);

}  // namespace cellar::http
