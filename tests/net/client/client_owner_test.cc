// Several independent nodes configured with the owners of tables, and a client that knows one of
// them.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <thread>

#include "net/client/sync_client.h"
#include "net/server/server.h"
#include "tests/support/loopback.h"
#include "tests/support/socket_choice.h"

namespace cellar::client {
namespace {

class OwnerTest : public testing::Test {
 protected:
  OwnerTest() {
    dir_ = std::filesystem::temp_directory_path() / fmt::format("cellar-owner-{}", ::getpid());
    // Fixed ports: each node must know the address of the other before it starts.
    for (int i = 0; i < 2; ++i) addresses_[i] = fmt::format("{}:{}", own_loopback_host(), 7700 + i);
    owners_ = fmt::format("one={}, two={}, events*={}, events-eu*={}, gone=127.0.0.1:1",
                          addresses_[0], addresses_[1], addresses_[1], addresses_[0]);
    for (size_t i = 0; i < 2; ++i) start(i);
  }
  ~OwnerTest() override {
    for (auto& server : servers_) server.reset();
    std::filesystem::remove_all(dir_);
  }
  void start(size_t i) {
    server::ServerOptions options;
    options.data_dir = (dir_ / fmt::format("{}", i)).string();
    std::filesystem::create_directories(options.data_dir);
    options.listen = options.advertise = addresses_[i];
    options.owners = *server::TableOwners::parse(owners_);
    options.shards = 2;
    options.pin = false;
    options.io = IoBackend::threads;
    options.sockets = socket_choice();
    auto started = server::Server::start(options, clock_);
    CHECK(started.has_value(), "{}", started.error().to_string());
    servers_[i] = *std::move(started);
    make_table(addresses_[i], "unlisted");
  }
  static ClientOptions to(const std::string& address) {
    ClientOptions options;
    options.address = address;
    options.request_deadline_us = 60'000'000;  // that a loaded machine meets, too
    return options;
  }
  static void make_table(const std::string& address, const std::string& name) {
    SyncClient client(to(address));
    TableSpec spec;
    spec.name = name;
    spec.families.emplace_back().name = "f";
    const auto made = client.create_table(spec);
    CHECK(made || made.error().code == Errc::already_exists, "{}", made.error().to_string());
  }
  static Result<MutateReply> write(SyncClient& client, const std::string& table) {
    Mutation m("row");
    m.set("f", "q", "v");  // has a server timestamp: repeated only where nothing was applied
    return client.mutate_row(table, m);
  }
  static void expect_written(SyncClient& client, const std::string& table) {
    const auto written = write(client, table);
    EXPECT_TRUE(written) << table << ": " << written.error().to_string();
  }

  SystemClock clock_;
  std::filesystem::path dir_;
  std::string addresses_[2];
  std::string owners_;
  std::unique_ptr<server::Server> servers_[2];
};

TEST_F(OwnerTest, AHintIsFollowedOnceAndRemembered) {
  make_table(addresses_[1], "two");
  SyncClient client(to(addresses_[0]));
  ASSERT_TRUE(write(client, "two"));
  EXPECT_EQ(client.client().stats().redirects, 1u);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(write(client, "two"));
  EXPECT_EQ(client.client().stats().redirects, 1u);
  const auto row = client.read_row("two", ReadRow("row"));
  ASSERT_TRUE(row && *row) << "reads go there too";

  auto stream = client.read_rows("two", ReadRows());
  const auto block = client.next(stream);
  ASSERT_TRUE(block) << block.error().to_string();
  EXPECT_EQ(block->rows().size(), 1u);

  SyncClient direct(to(addresses_[1]));
  EXPECT_TRUE(*direct.read_row("two", ReadRow("row")));
}

TEST_F(OwnerTest, SchemaAndRetentionGoToTheOwner) {
  SyncClient client(to(addresses_[0]));
  SyncClient direct(to(addresses_[1]));
  make_table(addresses_[0], "two");
  ASSERT_TRUE(direct.describe_table("two")) << "made where it belongs";
  const auto expect = [](const auto& result, const char* what) {
    EXPECT_TRUE(result) << what << ": " << result.error().to_string();
  };
  TableChange change;
  change.name = "two";
  FamilySpec& family = change.alter.emplace_back();
  family.name = "f";
  family.rule_given = true;
  family.rule = RetentionRule::max_versions(3);
  // Each by a client of its own, which does not know the owner yet.
  const auto by_name = [this] { return std::make_unique<SyncClient>(to(addresses_[0])); };
  expect(by_name()->alter_table(change), "alter");
  expect(by_name()->describe_table("two"), "describe");
  PreviewRule preview;
  preview.table = "two";
  preview.family = "f";
  expect(by_name()->preview_rule(preview), "preview");
  expect(by_name()->rule_history("two", "f"), "history");
  change.alter[0].rule = RetentionRule::max_versions(1);
  expect(client.alter_table(change), "alter again");
  expect(by_name()->undo_rule({.table = "two", .family = "f"}), "undo");
  expect(by_name()->flush_table("two"), "flush");
  expect(by_name()->compact_table("two"), "compact");
  expect(by_name()->sample_row_keys("two"), "samples");
  expect(by_name()->reclaim_report({.table = "two"}), "reclaim");
  const auto audit = by_name()->audit_log({.table = "two"});
  ASSERT_TRUE(audit) << audit.error().to_string();
  EXPECT_GE(audit->entries.size(), 4u);
  DropRows drop;
  drop.prefix = "r";
  CallOptions tokens;
  tokens.draw_tokens = true;
  expect(by_name()->drop_row_range("two", drop, tokens), "drop rows");
  ListTablets list;
  list.table = "two";
  const auto tablets = by_name()->list_tablets(list);
  ASSERT_TRUE(tablets && tablets->tablets.size() == 1) << tablets.error().to_string();
  expect(by_name()->move_tablet("two", tablets->tablets[0].tablet_id,
                                tablets->tablets[0].shard == 0 ? 1 : 0),
         "move");
  expect(by_name()->drop_table("two"), "drop");
  EXPECT_FALSE(direct.describe_table("two"));
  expect(by_name()->restore_table("two"), "restore");
  expect(direct.describe_table("two"), "restored");
}

// The owner has an address that no client can reach.
TEST_F(OwnerTest, WhatCannotSucceedIsNotRepeated) {
  ClientOptions options = to(addresses_[0]);
  options.request_deadline_us = options.admin_deadline_us = 60'000'000;
  SyncClient client(options);
  const auto described = client.describe_table("gone");
  ASSERT_FALSE(described);
  EXPECT_EQ(described.error().applied, Applied::not_applied);
  EXPECT_NE(described.error().message.find("127.0.0.1:1"), std::string::npos)
      << described.error().message;
  EXPECT_LE(client.client().stats().repeats, 1u);
}

TEST_F(OwnerTest, TheLongestBeginningDecidesAndWhatIsNotListedIsEverybodys) {
  make_table(addresses_[1], "events-us");
  make_table(addresses_[0], "events-eu-1");
  SyncClient client(to(addresses_[0]));
  expect_written(client, "events-eu-1");
  expect_written(client, "unlisted");
  EXPECT_EQ(client.client().stats().redirects, 0u);
  expect_written(client, "events-us");
  EXPECT_EQ(client.client().stats().redirects, 1u);
}

TEST_F(OwnerTest, AnOwnerThatIsDownIsToldAndNothingIsDoneElsewhere) {
  SyncClient client(to(addresses_[0]));
  const auto gone = write(client, "gone");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().applied, Applied::not_applied) << gone.error().to_string();

  // The node is back: the next request finds it.
  make_table(addresses_[1], "two");
  servers_[1].reset();
  EXPECT_FALSE(write(client, "two"));
  start(1);
  expect_written(client, "two");
}

// The likeliest wrong port is a node's console.
TEST(WrongPort, AnHttpServerIsRecognised) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  std::thread server([listener] {
    const int peer = ::accept(listener, nullptr, nullptr);
    constexpr std::string_view kAnswer = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
    (void)!::write(peer, kAnswer.data(), kAnswer.size());
    char until_closed = 0;
    while (::read(peer, &until_closed, 1) > 0) continue;
    ::close(peer);
  });
  {
    ClientOptions options;
    options.address = fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
    SyncClient client(options);
    const auto pong = client.ping();
    ASSERT_FALSE(pong);
    EXPECT_EQ(pong.error().code, Errc::invalid_argument);
    EXPECT_NE(pong.error().message.find("speaks HTTP"), std::string::npos) << pong.error().message;
  }
  server.join();
  ::close(listener);
}

TEST(TableOwners, WhatIsNoListIsRefused) {
  for (const char* bad : {"one", "=127.0.0.1:1", "one=", "one=host", "a=1.2.3.4:5,b"}) {
    EXPECT_FALSE(server::TableOwners::parse(bad)) << bad;
  }
  const auto owners = server::TableOwners::parse(" a = 1.2.3.4:5 ,b*=[::1]:6,*=h:7");
  ASSERT_TRUE(owners) << owners.error().message;
  EXPECT_EQ(*owners->find("a"), "1.2.3.4:5");
  EXPECT_EQ(*owners->find("bc"), "[::1]:6");
  EXPECT_EQ(*owners->find("zzz"), "h:7");
  EXPECT_EQ(server::TableOwners::parse(owners->to_string())->to_string(), owners->to_string());
}

}  // namespace
}  // namespace cellar::client
