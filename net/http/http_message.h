// What the HTTP room passes about: a request as it was read and checked for form, and its answer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/loop/async.h"
#include "net/security/principals.h"

namespace cellar::http {

enum class Method : uint8_t { get, head, post, other };

struct HttpRequest {
  Method method = Method::get;
  std::string path;   // begins with '/', as it came: nothing is decoded
  std::string query;  // behind the '?', likewise
  std::string host;
  std::string origin;  // empty: none was sent
  std::string content_type;
  std::string authorization;
  std::string fetch_site;  // Sec-Fetch-Site, by which a browser says who drives it
  bool marked = false;     // carries X-Cellar-Request, which no form and no foreign page can send
  std::string body;
  std::string peer;  // HOST:PORT
  // It came when every other connection was at work: what asks a shard is refused with 503.
  bool open_routes_only = false;
  // Who asks, once the gatekeeper has let the request in; null: nobody is asked.
  std::shared_ptr<const security::Principal> principal;

  bool from_loopback() const;
  // The value of a parameter of the query, with %XX decoded; empty where it is not there.
  std::string parameter(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string_view, std::string>> headers;  // beside those of every answer
};

// {"error": {"code": ..., "message": ...}} with that status.
HttpResponse error_response(int status, std::string_view code, std::string_view message);

// Whoever answers requests. On the loop of the connections.
class HttpService {
 public:
  virtual ~HttpService() = default;
  virtual Async<HttpResponse> answer(HttpRequest& request) = 0;
};

}  // namespace cellar::http
