// Gatekeeper: who may ask what. First the marks of a browser that another site drives: a Host that
// is none of ours (a name that was rebound to this address), an Origin that is not this page, a
// Sec-Fetch-Site that is another page. Then the authoriser, which knows people.
//
// What a route gives away or does is an operation of the protocol, and the permissions of that
// operation (net/server/policy/permissions.h) decide here as they do there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/base/result.h"
#include "net/http/http_message.h"
#include "net/security/authorizer.h"

namespace cellar::http {

enum class Access : uint8_t {
  open,       // health, the console's own files, the API's description
  metrics,    // numbers, and the names of tables beside them
  operation,  // what an operation of the protocol gives or does
};

// Where a request names its table.
enum class TableIn : uint8_t { nowhere, query_name, query_table, body };

// What a route asks of those who use it.
struct Gate {
  Access access = Access::open;
  uint16_t op = 0;                       // operation: which, of wire::fb::Op or OperateOp
  TableIn table = TableIn::nowhere;      // operation: of the table that is meant
  std::optional<security::Need> need{};  // operation: of a part of it; absent: as its permission
};

// The table that the route's handler will take; empty: none, or one that it will refuse.
std::string table_of(const HttpRequest& request, TableIn where);

class HttpAuthorizer {
 public:
  virtual ~HttpAuthorizer() = default;
  // Who asks, null where nobody is asked. UNAUTHENTICATED: say who you are; PERMISSION_DENIED: you
  // may not.
  using Who = std::shared_ptr<const security::Principal>;
  virtual Result<Who> authorize(const HttpRequest& request, const Gate& gate) = 0;
};

// Where no authentication is configured: health and metrics for whoever reaches the listener, which
// proxies and scrapers must; all else for this machine alone.
class LoopbackAuthorizer final : public HttpAuthorizer {
 public:
  Result<Who> authorize(const HttpRequest& request, const Gate& gate) override;
};

// Where principals are configured: as above, and moreover a token, `Authorization: Bearer TOKEN`,
// whose principal may ask for the route's operation. HTTP has no TLS, so a token is taken on the
// node's own machine alone.
class TokenAuthorizer final : public HttpAuthorizer {
 public:
  explicit TokenAuthorizer(std::shared_ptr<const security::Principals> principals)
      : authorizer_(std::move(principals)) {}
  Result<Who> authorize(const HttpRequest& request, const Gate& gate) override;

 private:
  security::Authorizer authorizer_;
};

class Gatekeeper {
 public:
  // `hosts`: names that requests may be sent to, blanks between them.
  explicit Gatekeeper(std::string_view hosts);

  // The refusal, if it is one; else the request's principal is set. A POST must moreover be of JSON
  // and carry X-Cellar-Request, which takes a script of the same origin or a program.
  std::optional<HttpResponse> refuse(HttpRequest& request, const Gate& gate,
                                     HttpAuthorizer& authorizer) const;
  // The first half of it: also for what no route is there for.
  std::optional<HttpResponse> refuse_foreign(const HttpRequest& request) const;

 private:
  bool is_ours(std::string_view host) const;

  std::vector<std::string> hosts_;
};

}  // namespace cellar::http
