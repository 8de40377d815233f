// Many mutations in few requests: the batching writer, in a coroutine. async_add waits if the node
// is slower than the program, so memory stays bounded; close() waits for writes in flight.
//
//   cellar_example_batch 127.0.0.1:7420
#include <cstdio>
#include <string>

#include "net/client/batch_writer.h"
#include "net/client/sync_client.h"

using namespace cellar;

namespace {

constexpr auto use_awaitable = asio::use_awaitable_t<ShardExecutor>();
constexpr const char* kTable = "example_batch";
constexpr int kRows = 20'000;

Async<Result<void>> session(client::Client& cellar) {
  client::TableSpec spec;
  spec.name = kTable;
  spec.families.emplace_back().name = "f";
  auto created = co_await cellar.async_create_table(spec, use_awaitable);
  if (!created && created.error().code != Errc::already_exists) {
    co_return std::unexpected(created.error());
  }

  client::BatchWriterOptions options;
  options.batch_rows = 1000;
  options.max_pending_bytes = 8u << 20;
  options.on_failure = [](Bytes row, const Error& error) {
    std::fprintf(stderr, "%s: %s\n", std::string(row).c_str(), error.to_string().c_str());
  };
  client::BatchWriter writer(cellar, kTable, options);
  for (int i = 0; i < kRows; ++i) {
    client::Mutation m(fmt::format("user/{:08}", i));
    m.set("f", "name", fmt::format("user number {}", i), 1000);
    CO_TRY_VOID(co_await writer.async_add(std::move(m), use_awaitable));
  }
  // A single mutation whose result is awaited.
  client::Mutation last("user/last");
  last.set("f", "name", "the last one", 1000);
  CO_TRY_VOID(co_await writer.async_write(std::move(last), use_awaitable));
  CO_TRY_VOID(co_await writer.async_close(use_awaitable));
  std::printf("%llu mutations in %llu batches\n",
              static_cast<unsigned long long>(writer.stats().applied),
              static_cast<unsigned long long>(writer.stats().batches));
  if (writer.stats().applied != kRows + 1) co_return fail(Errc::internal, "some are missing");
  co_return Result<void>();
}

}  // namespace

int main(int argc, char** argv) {
  ShardLoop loop;
  TcpNetwork network(loop.executor(), loop.timers());
  client::ClientOptions options;
  if (argc > 1) options.address = argv[1];
  client::Client cellar({loop.executor(), loop.timers(), network, entropy_seed()}, options);
  auto result = block_on(loop, session(cellar));
  if (!result) std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  return result ? 0 : 1;
}
