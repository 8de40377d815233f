// The client and a real node, both on simulated time, on a network that can be cut.
#pragma once

#include <gtest/gtest.h>

#include "net/client/client.h"
#include "tests/net/server/server_bed.h"

namespace cellar::client {

// A node and network; tests make the clients.
class ClientBed : public testing::Test {
 protected:
  explicit ClientBed(server::ServerOptions options = {}, uint64_t seed = 1,
                     int64_t disk_latency_us = 100)
      : bed_(2, std::move(options), seed, disk_latency_us),
        network_(bed_.fabric(), bed_.client_loop()) {}
  ~ClientBed() override {
    client_.reset();
    bed_.world().run_for_us(1'000'000);
    bed_.stop();
  }
  std::unique_ptr<Client> client_with(ClientOptions options) {
    options.address = fmt::format("node:{}", server::ServerBed::kPort);
    SimLoop& loop = bed_.client_loop();
    return std::make_unique<Client>(
        ClientEnv{loop.executor(), loop.timers(), network_, bed_.world().random().next()},
        std::move(options));
  }
  // Runs the simulated world until the operation that `start` begins is done.
  template <class T, class Start>
  Result<T> wait(Start start) {
    std::optional<Result<T>> result;
    start([&](Result<T> r) { result.emplace(std::move(r)); });
    const bool done = bed_.world().run_until([&] { return result.has_value(); });
    CHECK(done, "the operation never ended");
    return *std::move(result);
  }

  server::ServerBed bed_;
  SimNetwork network_;
  std::unique_ptr<Client> client_;
};

// With one client, each of whose attempts is visible, and the calls that most tests make.
class ClientNodeBed : public ClientBed {
 protected:
  explicit ClientNodeBed(server::ServerOptions options = {}) : ClientBed(std::move(options)) {
    connect();
  }
  void connect(uint32_t attempts = 1) {
    ClientOptions options;
    options.retry.max_attempts = attempts;  // errors that a test causes are reported, not retried
    client_ = client_with(std::move(options));
  }
  Result<TableDescription> create(const std::string& name, std::vector<std::string> splits = {}) {
    TableSpec spec;
    spec.name = name;
    spec.splits = std::move(splits);
    for (const char* family : {"f", "g"}) spec.families.emplace_back().name = family;
    return wait<TableDescription>(
        [&](auto done) { client_->async_create_table(spec, std::move(done)); });
  }
  Result<MutateReply> write(const Mutation& m) {
    return wait<MutateReply>(
        [&](auto done) { client_->async_mutate_row("t", m, std::move(done)); });
  }
  Result<std::optional<Row>> read(const std::string& row, std::optional<Filter> filter = {}) {
    const ReadRow request{row, std::move(filter)};
    return wait<std::optional<Row>>(
        [&](auto done) { client_->async_read_row("t", request, {}, std::move(done)); });
  }
  static Mutation cell(Bytes row, Bytes value, int64_t timestamp_us = 1000) {
    Mutation m(row);
    m.set("f", "q", value, timestamp_us);
    return m;
  }
};

}  // namespace cellar::client
