// Serves the console's files and the API description by name from the compiled-in table; never
// reads a disk.
#include <algorithm>

#include "net/http/assets.h"
#include "net/http/http_node.h"
#include "net/http/routes.h"

namespace cellar::http {
namespace {

// No foreign sources, nothing inline; the page may not be shown in a frame.
// The page asks this node and those of http.nodes.
std::string policy(std::string_view nodes) {
  return fmt::format(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
      "connect-src 'self'{}{}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      nodes.empty() ? "" : " ", nodes);
}

std::string_view type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "application/json";
}

}  // namespace

Async<HttpResponse> handle_asset(HttpNode& node, const HttpRequest& request) {
  std::string_view name = request.path;
  name.remove_prefix(name.rfind('/') + 1);
  if (name.empty()) name = "index.html";
  const auto asset = std::ranges::find(assets(), name, &Asset::name);
  if (asset == assets().end()) co_return error_response(404, "NOT_FOUND", "there is no such path");
  HttpResponse response;
  response.content_type = type_of(name);
  response.body = asset->bytes;
  response.headers.emplace_back("Cache-Control", "no-cache");
  response.headers.emplace_back("Content-Security-Policy", policy(node.options().http.nodes));
  co_return response;
}

}  // namespace cellar::http
