// Who may ask what over HTTP.
#include "net/http/gatekeeper.h"

#include <gtest/gtest.h>

#include "net/security/token.h"

namespace cellar::http {
namespace {

HttpRequest from(std::string peer, std::string authorization = "") {
  HttpRequest request;
  request.path = "/api/v1/cells";
  request.host = "localhost";
  request.peer = std::move(peer);
  request.authorization = std::move(authorization);
  return request;
}

int status(HttpAuthorizer& authorizer, const HttpRequest& request, Access access) {
  const auto refused = Gatekeeper("").refuse(request, access, authorizer);
  return refused ? refused->status : 200;
}

TEST(Gatekeeper, WithoutPrincipalsMetricsAreForAllAndTheRestForThisMachine) {
  LoopbackAuthorizer authorizer;
  for (const Access access :
       {Access::open, Access::metrics, Access::figures, Access::data, Access::change}) {
    EXPECT_EQ(status(authorizer, from("127.0.0.1:5"), access), 200);
    EXPECT_EQ(status(authorizer, from("[::1]:5"), access), 200);
    EXPECT_EQ(status(authorizer, from("10.0.0.1:5"), access),
              access <= Access::metrics ? 200 : 403);
  }
}

TEST(Gatekeeper, WithPrincipalsTheRestTakesATokenThatNeverTravels) {
  const std::string reader = "cellar-" + std::string(64, 'a');
  const std::string admin = "cellar-" + std::string(64, 'b');
  const auto one = [](std::string_view name, std::string_view token, std::string_view role) {
    return fmt::format(
        "[[principal]]\nname = \"{}\"\ntokens = [\"{}\"]\n"
        "[[principal.grant]]\nprefix = \"\"\nroles = [\"{}\"]\n",
        name, security::hash_text(token), role);
  };
  const auto principals = security::Principals::parse(
      one("reader", reader, "read") + one("boss", admin, "admin"), "principals.toml");
  ASSERT_TRUE(principals) << principals.error().message;
  TokenAuthorizer authorizer(*principals);
  const auto ask = [&](std::string_view token, Access access, std::string peer = "127.0.0.1:5") {
    return status(authorizer,
                  from(std::move(peer), token.empty() ? "" : "Bearer " + std::string(token)),
                  access);
  };
  EXPECT_EQ(ask("", Access::open, "10.0.0.1:5"), 200);
  EXPECT_EQ(ask("", Access::metrics, "10.0.0.1:5"), 200);
  EXPECT_EQ(ask("", Access::figures), 200);
  EXPECT_EQ(ask("", Access::figures, "10.0.0.1:5"), 403);
  EXPECT_EQ(ask(admin, Access::figures, "10.0.0.1:5"), 403);
  EXPECT_EQ(ask("", Access::data), 401);
  EXPECT_EQ(ask("cellar-wrong", Access::data), 401);
  EXPECT_EQ(ask(reader, Access::data), 200);
  EXPECT_EQ(ask(reader, Access::data, "10.0.0.1:5"), 403);
  EXPECT_EQ(ask(reader, Access::change), 403);
  EXPECT_EQ(ask(admin, Access::change), 200);
  EXPECT_EQ(ask(admin, Access::data), 403) << "no role implies another";
}

}  // namespace
}  // namespace cellar::http
