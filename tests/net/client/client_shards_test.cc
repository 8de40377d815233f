// A client that knows the shards of its node, over real sockets: each request reaches the shard of
// its tablet, directly, over TLS, and behind a TCP proxy; also while tablets move.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <set>

#include <boost/asio/post.hpp>

#include "net/client/sync_client.h"
#include "net/server/server.h"
#include "tests/net/client/tcp_relay.h"
#include "tests/support/certificates.h"
#include "tests/support/socket_choice.h"

namespace cellar::client {
namespace {

constexpr uint32_t kShards = 4;
constexpr int kRows = 64;

std::string row_name(int i) { return fmt::format("{:02}row", i); }

class ClientShards : public testing::Test {
 protected:
  ClientShards()
      : dir_(std::filesystem::temp_directory_path() / fmt::format("cellar-shards-{}", ::getpid())) {
    std::filesystem::create_directories(dir_);
  }
  ~ClientShards() override {
    server_.reset();
    std::filesystem::remove_all(dir_);
  }
  void start(uint32_t shards = kShards, server::ServerOptions options = {}) {
    options.data_dir = (dir_ / "data").string();
    options.listen = "127.0.0.1:0";
    options.shards = shards;
    options.pin = false;
    options.io = IoBackend::threads;
    options.sockets = socket_choice();
    options.balance.enabled = false;
    auto started = server::Server::start(options, clock_);
    CHECK(started.has_value(), "{}", started.error().to_string());
    server_ = *std::move(started);
    options_.address = server_->address();
  }
  // A table with a tablet on each shard, and a client that knows it.
  void warm_up(SyncClient& client) {
    TableSpec spec;
    spec.name = "t";
    spec.families.emplace_back().name = "f";
    for (int i = 8; i < kRows; i += 8) spec.splits.push_back(fmt::format("{:02}", i));
    const auto created = client.create_table(spec);
    ASSERT_TRUE(created) << created.error().to_string();
    std::set<uint32_t> used;
    for (const TabletDescription& tablet : created->tablets) used.insert(tablet.shard);
    ASSERT_EQ(used.size(), server_->shards());
    use(client, 2);
    serve_until(client, [&] { return client.client().stats().connects >= server_->shards(); });
  }
  // Serves the client's connections until `done`, and then what the client began meanwhile.
  template <class Done>
  static void serve_until(SyncClient& client, Done done) {
    constexpr int64_t kStepUs = 10'000;
    for (int64_t left_us = 20'000'000; left_us > 0 && !done(); left_us -= kStepUs) {
      client.sleep_us(kStepUs);
    }
    EXPECT_TRUE(done());
    client.sleep_us(2 * Dispatcher::kMapPauseUs);
    while (client.client().stats().pending > 0) client.sleep_us(kStepUs);
  }
  // Writes and reads every row.
  static void use(SyncClient& client, int rounds) {
    for (int i = 0; i < rounds * kRows; ++i) {
      const std::string row = row_name(i % kRows);
      Mutation m(row);
      m.set("f", "q", fmt::format("{}", i), 1000);
      const auto written = client.mutate_row("t", m);
      ASSERT_TRUE(written) << written.error().to_string();
      const auto read = client.read_row("t", ReadRow{row, {}});
      ASSERT_TRUE(read && *read) << row;
      EXPECT_EQ((*read)->cells().front().value, fmt::format("{}", i));
    }
  }
  uint64_t sum(uint64_t server::ShardServer::Counters::* counter) {
    uint64_t all = 0;
    for (uint32_t i = 0; i < server_->shards(); ++i) all += on_shard(i, counter);
    return all;
  }
  uint64_t on_shard(uint32_t i, uint64_t server::ShardServer::Counters::* counter) {
    std::promise<uint64_t> value;
    asio::post(server_->executor(ShardId{i}),
               [&] { value.set_value(server_->on(ShardId{i}).counters().*counter); });
    return value.get_future().get();
  }
  uint64_t handed_over() { return sum(&server::ShardServer::Counters::handed_over); }
  uint64_t accepted() { return sum(&server::ShardServer::Counters::accepted); }

  // Every request of a warm client reaches the shard of its tablet, over one connection for each.
  void expect_direct(SyncClient& client) {
    const uint64_t before = handed_over();
    const uint64_t routed = client.client().stats().routed;
    use(client, 4);
    EXPECT_EQ(handed_over(), before);
    EXPECT_EQ(client.client().stats().routed - routed, 2u * 4 * kRows);
    EXPECT_EQ(client.client().stats().connects, server_->shards());
  }

  SystemClock clock_;
  std::filesystem::path dir_;
  std::unique_ptr<server::Server> server_;
  ClientOptions options_;
};

TEST_F(ClientShards, EveryRequestReachesTheShardOfItsTablet) {
  for (const uint32_t shards : {2u, 4u}) {
    SCOPED_TRACE(shards);
    start(shards);
    {
      SyncClient client(options_);
      ASSERT_NO_FATAL_FAILURE(warm_up(client));
      expect_direct(client);
      EXPECT_EQ(accepted(), shards) << "no connection is made in vain";
    }
    server_.reset();
    std::filesystem::remove_all(dir_ / "data");
  }
}

TEST_F(ClientShards, AndOverTls) {
  test::Authority authority(dir_ / "pki", "authority");
  authority.issue("node");
  server::ServerOptions node;
  node.security.certificate = authority.cert("node");
  node.security.key = authority.key("node");
  start(kShards, node);
  options_.tls.enabled = true;
  options_.tls.ca = authority.ca();
  SyncClient client(options_);
  ASSERT_NO_FATAL_FAILURE(warm_up(client));
  expect_direct(client);
  EXPECT_EQ(accepted(), kShards);
}

TEST_F(ClientShards, AndBehindATcpProxyWithAndWithoutItsHeader) {
  for (const bool header : {false, true}) {
    SCOPED_TRACE(header);
    server::ServerOptions node;
    node.net.proxy = {*server::NetworkList::parse("127.0.0.1"), header};
    start(kShards, node);
    {
      TcpRelay relay(server_->address(), header ? TcpRelay::proxy_header() : "");
      options_.address = relay.address();
      SyncClient client(options_);
      ASSERT_NO_FATAL_FAILURE(warm_up(client));
      expect_direct(client);
    }
    server_.reset();
    std::filesystem::remove_all(dir_ / "data");
  }
}

TEST_F(ClientShards, AndBehindAProxyOverTls) {
  test::Authority authority(dir_ / "pki", "authority");
  authority.issue("node");
  server::ServerOptions node;
  node.security.certificate = authority.cert("node");
  node.security.key = authority.key("node");
  node.net.proxy = {*server::NetworkList::parse("127.0.0.1"), true};
  start(kShards, node);
  TcpRelay relay(server_->address(), TcpRelay::proxy_header());
  options_.address = relay.address();
  options_.tls.enabled = true;
  options_.tls.ca = authority.ca();
  SyncClient client(options_);
  ASSERT_NO_FATAL_FAILURE(warm_up(client));
  expect_direct(client);
}

TEST_F(ClientShards, AMovedTabletIsFollowedBeforeARequestIsRefused) {
  start();
  SyncClient client(options_);
  ASSERT_NO_FATAL_FAILURE(warm_up(client));
  SyncClient admin(options_);
  for (int round = 0; round < 6; ++round) {
    const auto table = admin.describe_table("t");
    ASSERT_TRUE(table);
    const TabletDescription& tablet = table->tablets[static_cast<size_t>(round)];
    const uint32_t to = (tablet.shard + 1) % kShards;
    const auto moved = admin.move_tablet("t", tablet.tablet_id, to);
    ASSERT_TRUE(moved) << moved.error().to_string();
    const uint64_t heard = static_cast<uint64_t>(round) + 1;
    serve_until(client, [&] { return client.client().stats().stale == heard; });
    expect_direct(client);
  }
  EXPECT_EQ(client.client().stats().redirects, 0u);
  EXPECT_EQ(client.client().stats().stale, 6u);
}

TEST_F(ClientShards, RequestsAreServedWhileTabletsMoveAndSplit) {
  start();
  SyncClient client(options_);
  ASSERT_NO_FATAL_FAILURE(warm_up(client));
  SyncClient admin(options_);
  for (int round = 0; round < 8; ++round) {
    const auto table = admin.describe_table("t");
    ASSERT_TRUE(table);
    const TabletDescription& tablet =
        table->tablets[static_cast<size_t>(round) % table->tablets.size()];
    if (round % 2 == 0) {
      ASSERT_TRUE(admin.move_tablet("t", tablet.tablet_id, (tablet.shard + 1) % kShards));
    } else {
      SplitTablet split;
      split.table = "t";
      split.row = tablet.start + "5";
      ASSERT_TRUE(admin.split_tablet(split));
    }
    use(client, 1);
  }
  for (int i = 0; i < 2; ++i) {
    serve_until(client, [] { return true; });
    use(client, 1);
  }
  serve_until(client, [] { return true; });
  expect_direct(client);
}

}  // namespace
}  // namespace cellar::client
