// A first program: write a row, read it back, scan. Start a node, then run it with its address:
//
//   cellar_quickstart 127.0.0.1:7420
#include <cstdio>
#include <string>

#include "net/client/sync_client.h"

using namespace cellar;

namespace {

constexpr auto use_awaitable = asio::use_awaitable_t<ShardExecutor>();

Async<Result<void>> session(client::Client& cellar) {
  client::TableSpec spec;
  spec.name = "quickstart";
  spec.families.emplace_back().name = "page";
  auto created = co_await cellar.async_create_table(spec, use_awaitable);
  if (!created && created.error().code != Errc::already_exists) {
    co_return std::unexpected(created.error());
  }

  client::Mutation m("com.example/index");
  m.set("page", "title", "Example").set("page", "lang", "en");
  CO_TRY_VOID(co_await cellar.async_mutate_row("quickstart", m, use_awaitable));

  CO_TRY(auto row,
         co_await cellar.async_read_row("quickstart", "com.example/index", use_awaitable));
  if (const client::Cell* title = row ? row->find("page", "title") : nullptr) {
    std::printf("title: %s\n", std::string(title->value).c_str());
  }

  auto stream = cellar.read_rows("quickstart", client::ReadRows::prefix("com.example/"));
  while (true) {
    CO_TRY(auto block, co_await stream.async_next(use_awaitable));
    if (block.empty()) break;
    for (const client::RowPart& part : block.rows()) {
      std::printf("%s: %zu cells\n", std::string(part.key).c_str(), part.cells.size());
    }
  }
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
