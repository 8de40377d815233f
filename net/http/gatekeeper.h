// Gatekeeper: access control of HTTP requests. It first rejects requests of a browser controlled by
// another site: a Host that is not ours (DNS rebinding), a foreign Origin, a foreign
// Sec-Fetch-Site. Then the authorizer checks the client.
//
// A route corresponds to an operation of the protocol, and that operation's permissions
// (net/server/requests/op_table.h) apply.
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
  open,       // health, the console's files, the API description
  metrics,    // figures and table names
  operation,  // what an operation of the protocol returns or does
};

// Where a request names its table.
enum class TableIn : uint8_t { nowhere, query_name, query_table, body };

// What a route requires of its clients.
struct Gate {
  Access access = Access::open;
  uint16_t op = 0;                       // for operation: of wire::fb::Op or OperateOp
  TableIn table = TableIn::nowhere;      // for operation: where the table is named
  std::optional<security::Need> need{};  // for operation: overrides its permission
};

// The table that the route's handler will use; empty if there is none or the handler will refuse
// it.
std::string table_of(const HttpRequest& request, TableIn where);

class HttpAuthorizer {
 public:
  virtual ~HttpAuthorizer() = default;
  // Returns the client's principal, or null if authentication is disabled. Errors: UNAUTHENTICATED,
  // PERMISSION_DENIED.
  using Who = std::shared_ptr<const security::Principal>;
  virtual Result<Who> authorize(const HttpRequest& request, const Gate& gate) = 0;
};

// Without configured authentication: health and metrics are open to every peer, because proxies and
// scrapers need them; all other routes require a loopback peer.
class LoopbackAuthorizer final : public HttpAuthorizer {
 public:
  Result<Who> authorize(const HttpRequest& request, const Gate& gate) override;
};

// With configured principals: additionally requires `Authorization: Bearer TOKEN` of a principal
// with permission for the route's operation. HTTP has no TLS, so tokens are accepted from loopback
// peers only.
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
  // `hosts`: allowed Host names; `nodes`: origins of consoles that may use this node besides its
  // own; both separated by blanks.
  explicit Gatekeeper(std::string_view hosts, std::string_view nodes = {});

  // Returns a refusal, or sets the request's principal. A POST must also have a JSON body and
  // X-Cellar-Request, which only a same-origin script or a program can send.
  std::optional<HttpResponse> refuse(HttpRequest& request, const Gate& gate,
                                     HttpAuthorizer& authorizer) const;
  // The answer to a browser that asks whether a page of another origin may send a request; null if
  // it is no such question or the origin is not one of `nodes`.
  std::optional<HttpResponse> preflight(const HttpRequest& request) const;
  // Permits the page that sent the request to read the answer, if its origin is one of `nodes`.
  void share(const HttpRequest& request, HttpResponse& response) const;
  // The checks against foreign sites; also used if no route matches.
  std::optional<HttpResponse> refuse_foreign(const HttpRequest& request) const;

 private:
  bool is_ours(std::string_view host) const;

  bool is_peer(std::string_view origin) const;

  std::vector<std::string> hosts_;
  std::vector<std::string> nodes_;
};

}  // namespace cellar::http
