// ClientBed: a client and a scripted server, on virtual time and a network that the test can cut.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include <boost/asio/use_awaitable.hpp>

#include "io/sim/sim_loop.h"
#include "net/client/client.h"
#include "tests/net/client/client_fake_server.h"

namespace cellar::client {

inline constexpr uint16_t kPort = 7420;
inline constexpr auto use_awaitable = asio::use_awaitable_t<ShardExecutor>();

class ClientBed : public testing::Test {
 protected:
  ClientBed()
      : world_(seed()),
        loop_(world_.add_loop()),
        server_loop_(world_.add_loop()),
        fabric_(world_),
        network_(fabric_, loop_),
        server_(fabric_, server_loop_) {
    server_.script = mutate_reply;
    server_.listen(kPort);
    world_.run_until_idle();
  }
  ~ClientBed() override {
    client_.reset();
    server_.stop_listening();
    server_.cut();
    world_.run_for_us(10'000'000);
  }
  static uint64_t seed() { return 20261121; }

  // One attempt per request unless options are given, so that its error is visible.
  static ClientOptions one_attempt() {
    ClientOptions options;
    options.retry.max_attempts = 1;
    return options;
  }
  Client& client(ClientOptions options = one_attempt()) {
    options.address = "127.0.0.1:7420";
    client_ = std::make_unique<Client>(
        ClientEnv{loop_.executor(), loop_.timers(), network_, world_.random().next()}, options);
    return *client_;
  }
  static Mutation one_cell(Bytes row) {
    Mutation m(row);
    m.set("f", "q", "v", 1000);
    return m;
  }
  // Starts a write; its result appears in the optional.
  using Outcome = std::optional<Result<MutateReply>>;
  std::shared_ptr<Outcome> write(Bytes row, CallOptions options = {}) {
    auto outcome = std::make_shared<Outcome>();
    client_->async_mutate_row("t", one_cell(row), options,
                              [outcome](Result<MutateReply> r) { outcome->emplace(std::move(r)); });
    return outcome;
  }
  void settle(int64_t us = 60'000'000) { world_.run_for_us(us); }

  SimWorld world_;
  SimLoop& loop_;
  SimLoop& server_loop_;
  SimFabric fabric_;
  SimNetwork network_;
  FakeServer server_;
  std::unique_ptr<Client> client_;
};

}  // namespace cellar::client
