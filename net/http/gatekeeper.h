// Gatekeeper: who may ask what. First the marks of a browser that another site drives: a Host that
// is none of ours (a name that was rebound to this address), an Origin that is not this page. Then
// the authoriser, which knows people.
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

// What a route gives away or does, from the least to the most.
enum class Access : uint8_t {
  open,     // health, the console's own files, the API's description
  metrics,  // numbers, and the names of tables beside them
  figures,  // what tables there are and how they do, requests that took long
  data,     // what the cells hold
  change,   // changes something, or costs as much as changing something
};

class HttpAuthorizer {
 public:
  virtual ~HttpAuthorizer() = default;
  // UNAUTHENTICATED: say who you are; PERMISSION_DENIED: you may not.
  virtual Result<void> authorize(const HttpRequest& request, Access access) = 0;
};

// Where no authentication is configured: health and metrics for whoever reaches the listener, which
// proxies and scrapers must; all else for this machine alone.
class LoopbackAuthorizer final : public HttpAuthorizer {
 public:
  Result<void> authorize(const HttpRequest& request, Access access) override;
};

// Where principals are configured: as above, and moreover a token, `Authorization: Bearer TOKEN`,
// for what lies beyond figures. What cells hold takes the role read, and changes admin, both over
// all tables. HTTP has no TLS, so a token is taken on the node's own machine alone.
class TokenAuthorizer final : public HttpAuthorizer {
 public:
  explicit TokenAuthorizer(std::shared_ptr<const security::Principals> principals)
      : authorizer_(std::move(principals)) {}
  Result<void> authorize(const HttpRequest& request, Access access) override;

 private:
  security::Authorizer authorizer_;
};

class Gatekeeper {
 public:
  // `hosts`: names that requests may be sent to, blanks between them.
  explicit Gatekeeper(std::string_view hosts);

  // The refusal, if it is one. A change must moreover be a POST of JSON that carries
  // X-Cellar-Request, which takes a script of the same origin or a program.
  std::optional<HttpResponse> refuse(const HttpRequest& request, Access access,
                                     HttpAuthorizer& authorizer) const;
  // The first half of it: also for what no route is there for.
  std::optional<HttpResponse> refuse_foreign(const HttpRequest& request) const;

 private:
  bool is_ours(std::string_view host) const;

  std::vector<std::string> hosts_;
};

}  // namespace cellar::http
