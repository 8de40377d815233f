// Many requests in flight over few connections, on the program's own io_context: concurrent
// coroutines, each of which waits for its own requests in turn.
//
//   cellar_example_pipeline 127.0.0.1:7420
#include <cstdio>
#include <optional>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "net/client/client.h"
#include "net/client/connections/context_env.h"

using namespace cellar;

namespace {

constexpr const char* kTable = "example_pipeline";
constexpr int kWorkers = 64;
constexpr int kRounds = 50;

struct Shared {
  client::Client& cellar;
  int working = 0;
  int done = 0;
  std::optional<Error> failed;
};

// Each worker waits only for its own answers. Requests made in one turn of the loop are sent in one
// write, and each row goes to the shard that serves it.
asio::awaitable<void> worker(Shared& shared, int number) {
  for (int i = 0; i < kRounds && !shared.failed; ++i) {
    const std::string row = fmt::format("sensor/{:03}/{:04}", number, i);
    client::Mutation m(row);
    m.set("f", "value", std::to_string(number * i), 1000);
    auto written = co_await shared.cellar.async_mutate_row(kTable, m, asio::use_awaitable);
    if (!written) {
      shared.failed = written.error();
      break;
    }
    auto read = co_await shared.cellar.async_read_row(kTable, row, asio::use_awaitable);
    if (!read) {
      shared.failed = read.error();
      break;
    }
    if (read->has_value()) ++shared.done;
  }
  // The last worker closes the client, and the context runs out of work.
  if (--shared.working == 0) shared.cellar.close();
}

asio::awaitable<void> start(Shared& shared) {
  client::TableSpec spec;
  spec.name = kTable;
  spec.families.emplace_back().name = "f";
  auto created = co_await shared.cellar.async_create_table(spec, asio::use_awaitable);
  if (!created && created.error().code != Errc::already_exists) {
    shared.failed = created.error();
    shared.cellar.close();
    co_return;
  }
  auto executor = co_await asio::this_coro::executor;
  shared.working = kWorkers;
  for (int i = 0; i < kWorkers; ++i) asio::co_spawn(executor, worker(shared, i), asio::detached);
}

}  // namespace

int main(int argc, char** argv) {
  asio::io_context context;
  client::ClientOptions options;
  if (argc > 1) options.address = argv[1];
  client::Client cellar(client::context_env(context), options);
  Shared shared{cellar, 0, 0, std::nullopt};
  asio::co_spawn(context, start(shared), asio::detached);
  context.run();
  if (shared.failed) std::fprintf(stderr, "%s\n", shared.failed->to_string().c_str());
  const client::ClientStats stats = cellar.stats();
  std::printf("%d rows written and read; %llu requests in %llu writes to %llu connections\n",
              shared.done, static_cast<unsigned long long>(stats.requests),
              static_cast<unsigned long long>(stats.writes),
              static_cast<unsigned long long>(stats.connects));
  return shared.done == kWorkers * kRounds ? 0 : 1;
}
