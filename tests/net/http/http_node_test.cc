// The routes of a whole node in memory.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "net/http/routes.h"
#include "tests/net/http/http_node_bed.h"

namespace cellar::http {
namespace {

constexpr int64_t kAnswerUs = 1'000'000;

void create_table(server::Peer& peer) {
  ASSERT_EQ(peer.code_of(wire::fb::Op::CreateTable, wire::create_table_body("t", {"f"}, {"m"})),
            Errc::ok);
  ASSERT_EQ(
      peer.code_of(wire::fb::Op::MutateRow, wire::set_body("t", "r", "f", "q", "value", 1000)),
      Errc::ok);
}

class HttpRoutes : public testing::TestWithParam<bool> {};

TEST_P(HttpRoutes, AreAllAnsweredByANodeInMemory) {
  const bool secured = GetParam();
  HttpNodeBed node(secured ? server::principal_text(
                                 "all", "", R"("read", "write", "schema", "retention", "admin")")
                           : "");
  auto peer =
      secured ? server::come_as(node.bed(), "all") : std::make_unique<server::Peer>(node.bed());
  create_table(*peer);
  node.serve();
  HttpPeer client(node);
  const std::vector<std::string> requests = request_of_each_route(secured ? "token-all" : "");
  for (size_t i = 0; i < requests.size(); ++i) {
    SCOPED_TRACE(requests[i]);
    client.send(requests[i]);
    node.run_for_us(kAnswerUs);
    const std::vector<HttpAnswer> answers = answers_of(client.received());
    ASSERT_EQ(answers.size(), i + 1);
    // The node in memory takes no backups.
    const bool takes = routes()[i].path.ends_with("/take");
    EXPECT_EQ(answers.back().status, takes ? 501 : 200) << answers.back().body;
    if (answers.back().json) EXPECT_NO_THROW((void)boost::json::parse(answers.back().body));
    // Refused without the token, but for what is open to all.
    if (!secured) continue;
    HttpPeer stranger(node);
    stranger.send(request_of_each_route()[i]);
    node.run_for_us(kAnswerUs);
    const auto refusals = answers_of(stranger.received());
    ASSERT_EQ(refusals.size(), 1u);
    const bool open = routes()[i].gate.access != Access::operation;
    EXPECT_EQ(refusals[0].status, open ? 200 : 401);
  }
  EXPECT_EQ(node.served().reloads, 1);
}

INSTANTIATE_TEST_SUITE_P(Principals, HttpRoutes, testing::Bool(),
                         [](const auto& of) { return of.param ? "known" : "none"; });

TEST(HttpStart, WhatNeedsTheNodeIsRefusedUntilItServes) {
  HttpNodeBed node;
  HttpPeer client(node);
  size_t asked = 0;
  for (const std::string& request : request_of_each_route()) {
    client.send(request);
    node.world().run_for_us(kAnswerUs);
    const Route& route = routes()[asked];
    const auto answers = answers_of(client.received());
    ASSERT_EQ(answers.size(), ++asked);
    const bool up = !route.needs_node && route.path != "/readyz";
    EXPECT_EQ(answers.back().status, up ? 200 : 503) << route.path;
  }
}

}  // namespace
}  // namespace cellar::http
