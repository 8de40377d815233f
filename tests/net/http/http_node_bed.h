// A whole node in memory, on virtual time, with an HTTP listener; and its clients.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/base/check.h"
#include "net/http/http_listener.h"
#include "net/http/http_node.h"
#include "net/http/routes.h"
#include "tests/net/secure/secure_bed.h"
#include "tests/net/server/raw_peer.h"

namespace cellar::http {

class MemoryNode final : public ServedNode {
 public:
  explicit MemoryNode(server::ServerBed& bed) : bed_(bed) {}
  uint32_t shards() const override { return bed_.shards(); }
  ShardExecutor executor(ShardId shard) override { return bed_.loop(shard.value()).executor(); }
  server::ShardServer& on(ShardId shard) override { return bed_.shard(shard.value()); }
  LoopReading loop(ShardId) override { return {}; }
  const server::NodeFacts& facts() const override { return bed_.shard(0).shared().facts; }
  const std::string& address() const override { return bed_.host(); }
  void ask_reload() override { ++reloads; }

  int reloads = 0;

 private:
  server::ServerBed& bed_;
};

class HttpNodeBed {
 public:
  static constexpr uint16_t kPort = 7421;

  // `principals`: the text of their file; empty: no authentication. Requests are answered by the
  // node once it serves.
  explicit HttpNodeBed(const std::string& principals = {})
      : bed_(make_bed(principals)),
        served_(*bed_),
        readiness_(world().clock()),
        loop_(world().add_loop()),
        network_(bed_->fabric(), loop_) {
    config_.options = bed_->shard(0).options();
    node_ = std::make_unique<HttpNode>(loop_.executor(), loop_.timers(), config_, readiness_);
    const Result<void> opened = world().block_on(loop_, open());
    CHECK(opened, "no listener: {}", opened.error().message);
  }
  ~HttpNodeBed() {
    world().block_on(loop_, listener_->stop());
    world().block_on(loop_, node_->stop());
  }

  void serve() {
    readiness_.serve(bed_->shards());
    node_->serve(served_);
  }
  // Virtual time passes while the shards show that they live.
  void run_for_us(int64_t us) {
    for (; us > 0; us -= server::Readiness::kBeatUs) {
      beat();
      world().run_for_us(std::min(us, server::Readiness::kBeatUs));
    }
    beat();
  }

  SimWorld& world() { return bed_->world(); }
  server::ServerBed& bed() { return *bed_; }
  MemoryNode& served() { return served_; }
  const HttpListener& listener() const { return *listener_; }

 private:
  static std::unique_ptr<server::ServerBed> make_bed(const std::string& principals) {
    if (principals.empty()) return std::make_unique<server::ServerBed>();
    return std::make_unique<server::SecureBed>(principals);
  }
  Async<Result<void>> open() {
    CO_TRY(auto listener, co_await network_.listen("127.0.0.1", kPort, false));
    listener_ = std::make_unique<HttpListener>(loop_.executor(), loop_.timers(), *node_,
                                               std::move(listener));
    node_->set_listener(listener_.get());
    listener_->run();
    co_return Result<void>();
  }
  void beat() {
    for (uint32_t i = 0; i < bed_->shards(); ++i) readiness_.beat(ShardId{i}, {});
  }

  std::unique_ptr<server::ServerBed> bed_;
  MemoryNode served_;
  server::Config config_;
  server::Readiness readiness_;
  SimLoop& loop_;
  SimNetwork network_;
  std::unique_ptr<HttpNode> node_;
  std::unique_ptr<HttpListener> listener_;
};

// A connection to the listener.
class HttpPeer : public server::RawPeer {
 public:
  explicit HttpPeer(HttpNodeBed& node) : RawPeer(node.bed(), "127.0.0.1", HttpNodeBed::kPort) {}
};

struct HttpAnswer {
  int status = 0;
  bool json = false;
  std::string body;  // empty for HEAD
};

// The answers of a connection. CHECKs that they follow one another without a byte between; the last
// may be cut off, and is then left out.
inline std::vector<HttpAnswer> answers_of(Bytes received) {
  constexpr Bytes kBegin = "HTTP/1.1 ";
  constexpr Bytes kLength = "\r\nContent-Length: ";
  std::vector<HttpAnswer> answers;
  while (!received.empty()) {
    const size_t end = received.find("\r\n\r\n");
    if (end == Bytes::npos) break;
    const std::string head(received.substr(0, end + 2));
    CHECK(head.starts_with(kBegin), "no answer begins with '{}'", escape_bytes(head, 200));
    const size_t length = head.find(kLength);
    CHECK(length != std::string::npos, "no length in '{}'", head);
    HttpAnswer answer;
    answer.status = std::atoi(head.c_str() + kBegin.size());
    answer.json = head.find("\r\nContent-Type: application/json") != std::string::npos;
    const size_t bytes = std::strtoull(head.c_str() + length + kLength.size(), nullptr, 10);
    received.remove_prefix(end + 4);
    const bool has_body = bytes > 0 && !received.empty() && !received.starts_with(kBegin);
    if (has_body) {
      if (received.size() < bytes) break;
      answer.body = received.substr(0, bytes);
      received.remove_prefix(bytes);
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

// A request with everything that a route may require.
inline std::string http_request(const Route& route, std::string_view query, std::string_view body,
                                std::string_view token = {}) {
  const bool post = route.method == Method::post;
  std::string text = fmt::format("{} {}{}{} HTTP/1.1\r\nHost: localhost\r\n", post ? "POST" : "GET",
                                 route.path, query.empty() ? "" : "?", query);
  if (!token.empty()) text += fmt::format("Authorization: Bearer {}\r\n", token);
  if (post) {
    text += fmt::format(
        "X-Cellar-Request: 1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
        body.size());
  }
  text += "\r\n";
  if (post) text += body;
  return text;
}

// What a client of the table "t" with the family "f" and the index "i" asks of each route: one
// request of each, in the order of routes().
inline std::vector<std::string> request_of_each_route(std::string_view token = {}) {
  const auto body_of = [](std::string_view path) -> std::string_view {
    if (path.ends_with("/drain")) return R"({"drain": false})";
    if (path.ends_with("/release")) return R"({"max_held_us": 1000})";
    if (path.ends_with("/undo")) return R"({"table": "t", "family": "f"})";
    if (path.ends_with("/create")) return R"({"table": "made", "families": [{"name": "f"}]})";
    if (path.ends_with("/tables/drop")) return R"({"table": "made"})";
    if (path.ends_with("/restore")) return R"({"table": "made"})";
    if (path.ends_with("/tables/reclaim")) return R"({"table": "t", "dead_slack": 0.5})";
    if (path.ends_with("/families/add")) return R"({"table": "t", "families": [{"name": "g"}]})";
    if (path.ends_with("/families/drop")) return R"({"table": "t", "family": "g"})";
    return R"({"table": "t", "family": "f", "rule": {"any_of": [{"max_versions": 1},)"
           R"( {"max_age_us": 3600000000}]}})";
  };
  std::vector<std::string> all;
  for (const Route& route : routes()) {
    const bool api = route.path.starts_with("/api/v1/");
    const bool by_name = route.gate.table == TableIn::query_name;
    std::string_view query;
    if (api) query = by_name ? "name=t" : "table=t&family=f&index=i&limit=2";
    all.push_back(http_request(route, query, body_of(route.path), token));
  }
  return all;
}

}  // namespace cellar::http
