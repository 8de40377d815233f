// A connection of the HTTP listener of a whole node in memory: any bytes in any pieces, with and
// without principals, before and after the node serves. Answers must be whole HTTP and JSON, and
// the listener must go on serving others.
#include <boost/json.hpp>

#include "io/base/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/net/http/http_node_bed.h"

namespace cellar::fuzz {
namespace {

using http::HttpAnswer;
using http::HttpNodeBed;
using http::HttpPeer;
namespace fb = wire::fb;

constexpr int64_t kPieceUs = 500;       // between two pieces
constexpr int64_t kAnswersUs = 50'000;  // for the last answers
constexpr uint8_t kSecured = 1;         // bits of the first byte: the node has principals
constexpr uint8_t kServing = 2;         // the node serves

std::string principals() {
  return server::principal_text("all", "", R"("read", "write", "schema", "retention", "admin")") +
         server::principal_text("reader", "t", R"("read")");
}

// A table with rows, one of them on disk.
void fill(server::Peer& peer) {
  const auto done = [&peer](fb::Op op, std::string body) {
    CHECK(peer.code_of(op, std::move(body)) == Errc::ok);
  };
  done(fb::Op::CreateTable, wire::create_table_body("t", {"f", "g"}, {"m"}));
  done(fb::Op::CreateIndex, wire::create_index_body("t", "i"));
  done(fb::Op::MutateRow, wire::set_body("t", "r", "f", "q", "value", 1000));
  done(fb::Op::FlushTable, wire::flush_body("t"));
  done(fb::Op::MutateRow, wire::set_body("t", "a\xff", "f", "", "\"\n\xc3", 2000));
}

void check_answers(Bytes received, Bytes input) {
  for (const HttpAnswer& answer : http::answers_of(received)) {
    CHECK(answer.status != 500, "'{}' is answered by '{}'", escape_bytes(input, 2000), answer.body);
    if (!answer.json || answer.body.empty()) continue;
    boost::system::error_code error;
    (void)boost::json::parse(answer.body, error);
    CHECK(!error, "no JSON: '{}'", escape_bytes(answer.body, 2000));
  }
}

// Two bytes say how, the others are sent.
void fuzz_http(Bytes input) {
  if (input.size() < 2) return;
  const auto how = static_cast<uint8_t>(input[0]);
  const size_t piece = 1 + static_cast<size_t>(static_cast<uint8_t>(input[1])) * 16;
  input.remove_prefix(2);
  const bool secured = how & kSecured;
  HttpNodeBed node(secured ? principals() : std::string());
  if (how & kServing) {
    auto owner =
        secured ? server::come_as(node.bed(), "all") : std::make_unique<server::Peer>(node.bed());
    fill(*owner);
    node.serve();
  }
  HttpPeer peer(node);
  for (Bytes rest = input; !rest.empty() && !peer.closed();) {
    const Bytes part = rest.substr(0, piece);
    peer.send(std::string(part));
    rest.remove_prefix(part.size());
    node.run_for_us(kPieceUs);
  }
  node.run_for_us(kAnswersUs);
  check_answers(peer.received(), input);
  HttpPeer other(node);
  other.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  node.run_for_us(kAnswersUs);
  const auto health = http::answers_of(other.received());
  CHECK(health.size() == 1 && health[0].status == 200, "the listener serves nobody any more");
}

std::string seed_of(uint8_t how, uint8_t piece, const std::string& bytes) {
  return std::string{static_cast<char>(how), static_cast<char>(piece)} + bytes;
}

std::vector<std::string> http_seeds() {
  std::vector<std::string> seeds;
  std::string all;
  for (const std::string& request : http::request_of_each_route()) {
    seeds.push_back(seed_of(kServing, 255, request));
    all += request;
  }
  seeds.push_back(seed_of(kServing, 3, all));
  seeds.push_back(seed_of(0, 64, all));
  for (const std::string_view token : {"token-all", "token-reader"}) {
    all.clear();
    for (const std::string& request : http::request_of_each_route(token)) all += request;
    seeds.push_back(seed_of(kServing | kSecured, 255, all));
  }
  const auto get = [&](const std::string& target) {
    seeds.push_back(
        seed_of(kServing, 255, fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", target)));
  };
  get("/api/v1/cells?table=t&prefix=a%5CxFF&dead=0&limit=1&after=");
  get("/api/v1/indexes/"
      "cells?table=t&index=i&value_from=a%5CxFF&value_through=z&explain=1&after=6100");
  get("/api/v1/history?range=day");
  get("/api/v1/table?name=%74");
  const auto post = [&](std::string_view path, std::string_view body) {
    for (const http::Route& route : http::routes()) {
      if (route.path == path)
        seeds.push_back(seed_of(kServing, 255, http::http_request(route, "", body)));
    }
  };
  post("/api/v1/retention/preview",
       R"({"table": "t", "family": "f", "approximate": true, "rule": {"all_of": [)"
       R"({"max_age_us": 5}, {"any_of": [{"max_versions": 2}, {"max_age_us": 7}]}]}})");
  post("/api/v1/retention/apply",
       R"({"table": "t", "family": "g", "rule": null, "expected_version": 1})");
  post("/api/v1/drain", R"({"drain": true})");
  // What is not there.
  post("/api/v1/retention/undo", R"({"table": "u", "family": "f"})");
  post("/api/v1/retention/preview", R"({"table": "t", "family": "h", "rule": null})");
  post("/api/v1/retention/apply", R"({"table": "t", "family": "f", "rule": [1]})");
  get("/api/v1/cells?table=u");
  get("/api/v1/table?name=u");
  seeds.push_back(seed_of(
      kServing, 255,
      "POST /api/v1/drain HTTP/1.1\r\nHost: localhost\r\nX-Cellar-Request: 1\r\n"
      "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
      "7\r\n{\"drain\r\n9\r\n\": false}\r\n0\r\n\r\nHEAD / HTTP/1.1\r\nHost: [::1]\r\n"
      "Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\nConnection: close\r\n\r\n"));
  return seeds;
}

}  // namespace

const FuzzTarget kHttpTarget = {"http", &fuzz_http, &http_seeds};

}  // namespace cellar::fuzz
