// Writes and reads one row with the blocking client: for scripts, tests, and programs without
// concurrency.
//
//   cellar_example_point 127.0.0.1:7420
#include <cstdio>
#include <string>

#include "net/client/sync_client.h"

using namespace cellar;

namespace {

Result<void> run(client::SyncClient& cellar) {
  client::TableSpec spec;
  spec.name = "example_point";
  spec.families.emplace_back().name = "page";
  const auto created = cellar.create_table(spec);
  if (!created && created.error().code != Errc::already_exists) {
    return std::unexpected(created.error());
  }

  // A mutation changes one row, completely or not at all. With explicit timestamps the client can
  // repeat it after a lost connection, and does so.
  TRY(const client::Pong pong, cellar.ping());
  const int64_t now_us = pong.now_us / 1000 * 1000;  // the table's granularity is milliseconds
  client::Mutation m("com.example/index");
  m.set("page", "title", "Example", now_us).set("page", "lang", "en", now_us);
  TRY_VOID(cellar.mutate_row("example_point", m));

  // Only the newest version of each column.
  const client::ReadRow newest{"com.example/index", client::Filter::cells_per_column(1)};
  TRY(const auto row, cellar.read_row("example_point", newest));
  if (!row) return fail(Errc::not_found, "the row that was just written is not there");
  for (const client::Cell& cell : row->cells()) {
    std::printf("%s:%s = %s\n", std::string(cell.family).c_str(),
                std::string(cell.qualifier).c_str(), std::string(cell.value).c_str());
  }

  client::Mutation gone("com.example/index");
  gone.delete_row();
  TRY_VOID(cellar.mutate_row("example_point", gone));
  TRY(const auto nothing, cellar.read_row("example_point", newest));
  if (nothing) return fail(Errc::internal, "a deleted row is still read");
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  client::ClientOptions options;
  if (argc > 1) options.address = argv[1];
  client::SyncClient cellar(options);
  const auto result = run(cellar);
  if (!result) std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  return result ? 0 : 1;
}
