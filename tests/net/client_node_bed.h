// The client and a real node, both on simulated time, with a network between them that can be cut.
#pragma once

#include <gtest/gtest.h>

#include "net/client/client.h"
#include "tests/net/server_bed.h"

namespace cellar::client {

class ClientNodeBed : public testing::Test {
 protected:
  explicit ClientNodeBed(server::ServerOptions options = {})
      : bed_(2, std::move(options)), network_(bed_.fabric(), bed_.client_loop()) {
    connect();
  }
  ~ClientNodeBed() override {
    client_.reset();
    bed_.world().run_for_us(1'000'000);
    bed_.stop();
  }
  void connect(uint32_t attempts = 1) {
    ClientOptions options;
    options.retry.max_attempts = attempts;  // what a test breaks is told, not mended
    options.address = fmt::format("node:{}", server::ServerBed::kPort);
    SimLoop& loop = bed_.client_loop();
    client_ = std::make_unique<Client>(
        ClientEnv{loop.executor(), loop.timers(), network_, bed_.world().random().next()}, options);
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

  server::ServerBed bed_;
  SimNetwork network_;
  std::unique_ptr<Client> client_;
};

}  // namespace cellar::client
