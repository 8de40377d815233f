// HTTP messages: a parsed and syntactically valid request, and its reply.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/loop/async.h"
#include "net/security/principals.h"

namespace cellar::http {

enum class Method : uint8_t { get, head, post, options, other };

struct HttpRequest {
  Method method = Method::get;
  std::string path;   // begins with '/'; not decoded
  std::string query;  // after the '?'; not decoded
  std::string host;
  std::string origin;  // empty if absent
  std::string content_type;
  std::string authorization;
  std::string fetch_site;  // Sec-Fetch-Site: the browser's statement of the initiating site
  bool marked = false;     // has X-Cellar-Request, which forms and foreign pages cannot send
  std::string body;
  std::string peer;  // HOST:PORT
  // Accepted while all other connections were at work: requests that need a shard are refused with
  // 503.
  bool open_routes_only = false;
  // Set by the gatekeeper; null if authentication is disabled.
  std::shared_ptr<const security::Principal> principal;

  bool from_loopback() const;
  // A query parameter with %XX decoded; empty if absent.
  std::string parameter(std::string_view name) const;
  std::optional<std::string> find_parameter(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  // in addition to the standard headers
  std::vector<std::pair<std::string_view, std::string>> headers;
};

// {"error": {"code": ..., "message": ...}} with the given status.
HttpResponse error_response(int status, std::string_view code, std::string_view message);

// Answers requests, on the loop of the connections.
class HttpService {
 public:
  virtual ~HttpService() = default;
  virtual Async<HttpResponse> answer(HttpRequest& request) = 0;
};

}  // namespace cellar::http
