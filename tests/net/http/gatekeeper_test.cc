// Permissions over HTTP: the same as over the protocol.
#include "net/http/gatekeeper.h"

#include <gtest/gtest.h>

#include <map>

#include "net/http/routes.h"
#include "net/security/token.h"
#include "net/server/access/access.h"
#include "net/server/requests/op_table.h"

namespace cellar::http {
namespace {

using security::Need;
using security::Role;
using security::Roles;
using wire::fb::Op;
using wire::fb::OperateOp;

constexpr Gate kOpen{};
constexpr Gate kMetrics{.access = Access::metrics};
constexpr Gate kCells{Access::operation, static_cast<uint16_t>(Op::ReadRows), TableIn::query_table};

HttpRequest from(std::string peer, std::string authorization = "") {
  HttpRequest request;
  request.path = "/api/v1/cells";
  request.host = "localhost";
  request.peer = std::move(peer);
  request.authorization = std::move(authorization);
  return request;
}

int status(HttpAuthorizer& authorizer, HttpRequest request, const Gate& gate) {
  const auto refused = Gatekeeper("").refuse(request, gate, authorizer);
  return refused ? refused->status : 200;
}

TEST(Gatekeeper, WithoutPrincipalsMetricsAreForAllAndTheRestForThisMachine) {
  LoopbackAuthorizer authorizer;
  for (const Gate& gate : {kOpen, kMetrics, kCells}) {
    EXPECT_EQ(status(authorizer, from("127.0.0.1:5"), gate), 200);
    EXPECT_EQ(status(authorizer, from("[::1]:5"), gate), 200);
    EXPECT_EQ(status(authorizer, from("10.0.0.1:5"), gate),
              gate.access == Access::operation ? 403 : 200);
  }
}

TEST(Gatekeeper, APageOfAnotherSiteMakesTheNodeDoNothing) {
  LoopbackAuthorizer authorizer;
  for (const char* site : {"cross-site", "same-site", "anything"}) {
    HttpRequest request = from("127.0.0.1:5");
    request.fetch_site = site;
    EXPECT_EQ(status(authorizer, request, kOpen), 200) << "a link to the console, a health check";
    EXPECT_EQ(status(authorizer, request, kMetrics), 403) << site;
    EXPECT_EQ(status(authorizer, request, kCells), 403) << site;
  }
  for (const char* site : {"same-origin", "none", ""}) {
    HttpRequest request = from("127.0.0.1:5");
    request.fetch_site = site;
    EXPECT_EQ(status(authorizer, request, kCells), 200) << site;
  }
}

TEST(Gatekeeper, ConsolesOfNamedNodesMayAskAndNoOthers) {
  LoopbackAuthorizer authorizer;
  const Gatekeeper keeper("", "http://127.0.0.1:7431 http://127.0.0.1:7441");
  const auto told = [&](const HttpRequest& request, std::string_view name) -> std::string {
    HttpResponse response;
    keeper.share(request, response);
    for (const auto& [header, value] : response.headers) {
      if (header == name) return value;
    }
    return "";
  };
  for (const auto& [origin, peer] : {std::pair{"http://127.0.0.1:7441", true},
                                     {"http://127.0.0.1:7442", false},
                                     {"http://127.0.0.1:744", false},
                                     {"https://127.0.0.1:7441", false},
                                     {"null", false}}) {
    HttpRequest request = from("127.0.0.1:5");
    request.origin = origin;
    request.fetch_site = "same-site";
    const auto refused = keeper.refuse(request, kCells, authorizer);
    EXPECT_EQ(refused ? refused->status : 200, peer ? 200 : 403) << origin;
    EXPECT_EQ(told(request, "Access-Control-Allow-Origin"), peer ? origin : "") << origin;
    EXPECT_EQ(told(request, "Vary"), "Origin") << origin;
    request.method = Method::options;
    EXPECT_EQ(keeper.preflight(request).has_value(), peer) << origin;
    request.host = "rebound.example";
    EXPECT_FALSE(keeper.preflight(request)) << origin;
    EXPECT_TRUE(keeper.refuse(request, kCells, authorizer)) << origin;
  }
  HttpRequest request = from("127.0.0.1:5");
  request.origin = "http://127.0.0.1:7441";
  EXPECT_FALSE(keeper.preflight(request)) << "a GET is no question";
  // Another site may not hide behind a missing Origin.
  request.origin.clear();
  request.fetch_site = "same-site";
  EXPECT_TRUE(keeper.refuse(request, kCells, authorizer));
  request.origin = "http://127.0.0.1:7441";
  HttpResponse response;
  Gatekeeper("").share(request, response);
  EXPECT_TRUE(response.headers.empty());
}

std::string token_of(std::string_view name) {
  std::string token = "cellar-" + security::to_hex(security::sha256(name));
  return token;
}
std::string principal(std::string_view name, std::string_view prefix, std::string_view roles) {
  return fmt::format(
      "[[principal]]\nname = \"{}\"\ntokens = [\"{}\"]\n"
      "[[principal.grant]]\nprefix = \"{}\"\nroles = [{}]\n",
      name, security::hash_text(token_of(name)), prefix, roles);
}

TEST(Gatekeeper, WithPrincipalsTheRestTakesATokenThatNeverTravels) {
  const auto principals = security::Principals::parse(
      principal("reader", "", "\"read\"") + principal("boss", "", "\"admin\""), "principals.toml");
  ASSERT_TRUE(principals) << principals.error().message;
  TokenAuthorizer authorizer(*principals);
  const auto ask = [&](std::string_view name, const Gate& gate, std::string peer = "127.0.0.1:5") {
    return status(authorizer, from(std::move(peer), name.empty() ? "" : "Bearer " + token_of(name)),
                  gate);
  };
  EXPECT_EQ(ask("", kOpen, "10.0.0.1:5"), 200);
  EXPECT_EQ(ask("", kMetrics, "10.0.0.1:5"), 200);
  EXPECT_EQ(ask("", kCells), 401);
  EXPECT_EQ(ask("nobody", kCells), 401);
  EXPECT_EQ(ask("reader", kCells), 200);
  EXPECT_EQ(ask("reader", kCells, "10.0.0.1:5"), 403);
  EXPECT_EQ(ask("boss", kCells), 403) << "no role implies another";
}

// The operation of the protocol that each route corresponds to, stated independently.
struct Alike {
  uint16_t op = 0;  // 0: open, or metrics
  TableIn table = TableIn::nowhere;
  std::optional<Need> need = {};
};
template <class AnyOp>
constexpr Alike like(AnyOp op, TableIn table = TableIn::nowhere) {
  return {static_cast<uint16_t>(op), table};
}

// Like a request of the operation that changes something.
template <class AnyOp>
Alike administer(AnyOp op) {
  return {static_cast<uint16_t>(op), TableIn::nowhere, Need{{Role::admin}}};
}

std::map<std::string_view, Alike> alike() {
  return {
      {"/api/v1/node", like(Op::ServerInfo)},
      {"/api/v1/shards", like(Op::ServerInfo)},
      {"/api/v1/compactions", like(Op::ServerInfo)},
      {"/api/v1/slow-requests", like(Op::ServerInfo)},
      {"/api/v1/history", like(Op::ServerInfo)},
      {"/api/v1/profile", like(Op::ServerInfo)},
      {"/api/v1/clock", like(Op::ConfirmTime)},
      {"/api/v1/clock/release", administer(Op::ConfirmTime)},
      {"/api/v1/config", like(OperateOp::Control)},
      {"/api/v1/reload", administer(OperateOp::Control)},
      {"/api/v1/drain", administer(OperateOp::Control)},
      {"/api/v1/tables", like(Op::ListTables)},
      {"/api/v1/table", like(Op::DescribeTable, TableIn::query_name)},
      {"/api/v1/tablets", like(Op::ListTablets, TableIn::query_table)},
      {"/api/v1/reclaim", like(OperateOp::Reclaim, TableIn::query_table)},
      {"/api/v1/heat", like(Op::ListTablets)},
      {"/api/v1/backups", like(OperateOp::Backup)},
      {"/api/v1/backups/take", administer(OperateOp::Backup)},
      {"/api/v1/tables/dropped", like(Op::ListTables)},
      {"/api/v1/tables/create", like(Op::CreateTable, TableIn::body)},
      {"/api/v1/tables/drop", like(Op::DropTable, TableIn::body)},
      {"/api/v1/tables/restore", like(Op::RestoreTable, TableIn::body)},
      {"/api/v1/tables/reclaim",
       {static_cast<uint16_t>(Op::AlterTable), TableIn::body, Need{{Role::retention}}}},
      {"/api/v1/families/add",
       {static_cast<uint16_t>(Op::AlterTable), TableIn::body, Need{{Role::schema}}}},
      {"/api/v1/families/drop",
       {static_cast<uint16_t>(Op::AlterTable), TableIn::body, Need{{Role::schema}}}},
      {"/api/v1/audit", like(Op::AuditLog, TableIn::query_table)},
      {"/api/v1/cells", like(Op::ReadRows, TableIn::query_table)},
      {"/api/v1/indexes/cells", like(Op::ReadIndex, TableIn::query_table)},
      {"/api/v1/retention/history", like(Op::RuleHistory, TableIn::query_table)},
      {"/api/v1/retention/preview", like(Op::PreviewRule, TableIn::body)},
      {"/api/v1/retention/undo", like(Op::UndoRule, TableIn::body)},
      {"/api/v1/retention/apply",
       {static_cast<uint16_t>(Op::AlterTable), TableIn::body, Need{{Role::retention}}}},
  };
}

constexpr std::string_view kTable = "logs.x";

HttpRequest request_of(const Route& route, TableIn table, std::string_view token) {
  HttpRequest request = from("127.0.0.1:5", fmt::format("Bearer {}", token));
  request.method = route.method;
  request.path = route.path;
  request.marked = true;
  request.content_type = "application/json";
  if (table == TableIn::query_name) request.query = fmt::format("name={}", kTable);
  if (table == TableIn::query_table) request.query = fmt::format("limit=1&table={}", kTable);
  if (table == TableIn::body) request.body = fmt::format("{{\"table\": \"{}\"}}", kTable);
  return request;
}

// By the permission table of the protocol only.
bool protocol_allows(const security::Principal& who, const Alike& as) {
  const server::OpSpec& permission = *server::find_op(as.op);
  const Need need = as.need.value_or(permission.need);
  switch (permission.scope) {
    case server::Scope::open:
      return true;
    case server::Scope::node:
      return need.met_by(who.roles_everywhere());
    case server::Scope::list:
      if (as.table == TableIn::nowhere) return need.met_by(who.roles_anywhere());
      break;
    case server::Scope::table:
      if (as.table == TableIn::nowhere) return need.met_by(who.roles_everywhere());
      break;
  }
  return need.met_by(who.roles_on(kTable));
}

// Every route, for every set of roles, on every table, on the prefix of this table, and on another.
TEST(Gatekeeper, EveryRouteAsksWhatTheProtocolAsks) {
  const std::map<std::string_view, Alike> known = alike();
  constexpr std::string_view kRoles[] = {"read",      "write",   "schema",
                                         "retention", "monitor", "admin"};
  std::string text;
  for (unsigned set = 1; set < 1u << std::size(kRoles); ++set) {
    std::string roles;
    for (size_t i = 0; i < std::size(kRoles); ++i) {
      if ((set >> i & 1u) == 0) continue;
      roles += fmt::format("{}\"{}\"", roles.empty() ? "" : ", ", kRoles[i]);
    }
    for (const auto& [name, prefix] : {std::pair{"all", ""}, {"logs", "logs."}, {"other", "o"}}) {
      text += principal(fmt::format("{}-{}", name, set), prefix, roles);
    }
  }
  const auto principals = security::Principals::parse(text, "principals.toml");
  ASSERT_TRUE(principals) << principals.error().message;
  TokenAuthorizer authorizer(*principals);
  for (const Route& route : routes()) {
    if (route.gate.access != Access::operation) {
      EXPECT_FALSE(route.path.starts_with("/api/") && route.path != "/api/v1/openapi.json")
          << route.path << " is open";
      continue;
    }
    const auto as = known.find(route.path);
    ASSERT_NE(as, known.end()) << route.path << " is new: say here what it is in the protocol";
    for (const auto& who : (*principals)->all()) {
      HttpRequest request = request_of(route, as->second.table, token_of(who->name));
      const auto refused = Gatekeeper("").refuse(request, route.gate, authorizer);
      EXPECT_EQ(refused ? refused->status : 200, protocol_allows(*who, as->second) ? 200 : 403)
          << route.path << " as " << who->name;
      if (!refused) EXPECT_EQ(request.principal, who);
    }
    EXPECT_EQ(status(authorizer, from("127.0.0.1:5"), route.gate), 401)
        << route.path << " without a token";
  }
}

}  // namespace
}  // namespace cellar::http
