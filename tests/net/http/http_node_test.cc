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
  ASSERT_EQ(peer->code_of(wire::fb::Op::CreateIndex, wire::create_index_body("t", "i")), Errc::ok);
  node.run_for_us(60'000'000);
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

// The definition at once, the state with the next reading of the tables.
TEST(HttpIndexes, ATableShowsItsIndexesAndTheirStates) {
  HttpNodeBed node;
  server::Peer peer(node.bed());
  create_table(peer);
  ASSERT_EQ(peer.code_of(
                wire::fb::Op::CreateIndex,
                wire::create_index_body("t", "i", {.covered = {{"f", "a"}}, .max_age_us = 5'000})),
            Errc::ok);
  node.serve();
  node.run_for_us(60'000'000);
  HttpPeer client(node);
  const auto ask = [&](std::string_view path) {
    client.send(fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path));
    node.run_for_us(kAnswerUs);
    const std::vector<HttpAnswer> answers = answers_of(client.received());
    EXPECT_EQ(answers.back().status, 200) << answers.back().body;
    return answers.back().body;
  };
  const boost::json::value tables = boost::json::parse(ask("/api/v1/tables"));
  const auto& indexes = tables.at("tables").at(0).at("indexes").as_array();
  ASSERT_EQ(indexes.size(), 1u);
  EXPECT_EQ(boost::json::serialize(indexes[0]),
            R"({"name":"i","family":"f","qualifier":"q","order":["value"],"type":"bytes",)"
            R"("match":"newest","covered":["f:a"],"max_age_us":5000,"tighter_base":"follow",)"
            R"("state":{"ready":true,"done":1E0,"entries":0,"bytes":0,"skipped":0}})");
  const std::string metrics = ask("/metrics");
  EXPECT_NE(metrics.find("\ncellar_index_ready{table=\"t\",index=\"i\"} 1\n"), std::string::npos);
  EXPECT_NE(metrics.find("\ncellar_index_done_ratio{table=\"t\",index=\"i\"} 1\n"),
            std::string::npos);
}

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
