// Several independent nodes configured with the owners of tables, and a client that knows one of
// them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "net/client/sync_client.h"
#include "net/server/server.h"
#include "tests/support/loopback.h"

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

TEST_F(OwnerTest, ATableIsMadeOnlyWhereItBelongs) {
  SyncClient client(to(addresses_[0]));
  TableSpec spec;
  spec.name = "two";
  spec.families.emplace_back().name = "f";
  const auto made = client.create_table(spec);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::aborted);
  EXPECT_EQ(made.error().applied, Applied::not_applied);
  EXPECT_NE(made.error().message.find(addresses_[1]), std::string::npos) << made.error().message;
  EXPECT_EQ(client.client().stats().repeats, 0u) << "the answer would be the same";
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
