// The client over real sockets: on a plain Asio io_context, and blocking.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/client/connections/context_env.h"
#include "net/client/sync_client.h"
#include "net/server/server.h"
#include "tests/support/loopback.h"
#include "tests/support/socket_choice.h"

namespace cellar::client {
namespace {

TableSpec spec() {
  TableSpec made;
  made.name = "t";
  made.families.emplace_back().name = "f";
  return made;
}

class ClientTcpTest : public testing::Test {
 protected:
  ClientTcpTest() {
    dir_ = std::filesystem::temp_directory_path() / fmt::format("cellar-client-{}", ::getpid());
    start(own_loopback_host() + ":0");  // a test restarts the node on its port
    options_.address = server_->address();
  }
  ~ClientTcpTest() override {
    server_.reset();
    std::filesystem::remove_all(dir_);
  }
  void start(const std::string& listen) {
    std::filesystem::create_directories(dir_);
    server::ServerOptions options;
    options.data_dir = (dir_ / "data").string();
    options.listen = listen;
    options.shards = 2;
    options.pin = false;
    options.sockets = socket_choice();
    auto started = server::Server::start(options, clock_);
    CHECK(started.has_value(), "{}", started.error().to_string());
    server_ = *std::move(started);
  }
  SystemClock clock_;
  std::filesystem::path dir_;
  std::unique_ptr<server::Server> server_;
  ClientOptions options_;
};

// asio::use_awaitable with its default executor, as in every Asio program, not that of a shard.
asio::awaitable<int> session(Client& client) {
  auto created = co_await client.async_create_table(spec(), asio::use_awaitable);
  if (!created) co_return -1;
  Mutation m("row");
  m.set("f", "q", "v", 1000);
  auto written = co_await client.async_mutate_row("t", m, asio::use_awaitable);
  if (!written) co_return -2;
  auto row = co_await client.async_read_row("t", "row", asio::use_awaitable);
  client.close();
  co_return row && *row ? static_cast<int>((*row)->cells().size()) : -3;
}

TEST_F(ClientTcpTest, WorksOnAnyIoContext) {
  asio::io_context context;
  Client client(context_env(context), options_);
  int cells = 0;
  asio::co_spawn(context, session(client), [&](std::exception_ptr, int n) { cells = n; });
  context.run();  // returns, because no work is left
  EXPECT_EQ(cells, 1);
}

TEST_F(ClientTcpTest, ADeadlinePassesOnAnyIoContext) {
  asio::io_context context;
  options_.address = "127.0.0.1:1";
  options_.wait_for_connection = true;
  Client client(context_env(context), options_);
  CallOptions call;
  call.deadline_us = 120'000;
  std::optional<Error> error;
  client.async_read_row("t", ReadRow{"row", {}}, call, [&](auto row) {
    error = row.error();
    client.close();
  });
  context.run();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Errc::deadline_exceeded);
}

TEST_F(ClientTcpTest, ABlockingClientOutlivesARestartOfTheNode) {
  options_.wait_for_connection = true;
  SyncClient client(options_);
  ASSERT_TRUE(client.create_table(spec()).has_value());
  Mutation m("row");
  m.set("f", "q", "v", 1000);
  ASSERT_TRUE(client.mutate_row("t", m).has_value());
  const std::string address = server_->address();
  ASSERT_TRUE(server_->stop().has_value());
  server_.reset();
  start(address);
  const auto row = client.read_row("t", ReadRow{"row", {}});
  // The loss of the connection may be noticed only by this request.
  const auto again =
      row ? row.value().has_value() : client.read_row("t", ReadRow{"row", {}}).value().has_value();
  EXPECT_TRUE(again);
}

}  // namespace
}  // namespace cellar::client
