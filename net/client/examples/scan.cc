// A scan that resumes where it stopped. The stream recovers from lost connections and restarts of
// the node; a program that is stopped keeps the last key it has processed, and the next run begins
// after that key.
//
//   cellar_example_scan 127.0.0.1:7420
#include <cstdio>
#include <string>

#include "net/client/sync_client.h"

using namespace cellar;

namespace {

constexpr const char* kTable = "example_scan";
constexpr int kRows = 3000;

Result<void> fill(client::SyncClient& cellar) {
  client::TableSpec spec;
  spec.name = kTable;
  spec.families.emplace_back().name = "f";
  const auto created = cellar.create_table(spec);
  if (!created && created.error().code != Errc::already_exists) {
    return std::unexpected(created.error());
  }
  client::BatchWriter writer(cellar.client(), kTable);
  for (int i = 0; i < kRows; ++i) {
    client::Mutation m(fmt::format("order/{:06}", i));
    m.set("f", "total", std::to_string(i * 7), 1000);
    TRY_VOID(cellar.add(writer, std::move(m)));
  }
  return cellar.close(writer);
}

// Reads at most `limit` rows after `bookmark`, and advances it.
Result<int> scan(client::SyncClient& cellar, std::string& bookmark, uint64_t limit) {
  client::ReadRows read = client::ReadRows::prefix("order/");
  if (!bookmark.empty()) {
    read.ranges.front().start = bookmark;
    read.ranges.front().start_open = true;
  }
  read.row_limit = limit;
  client::CallOptions patient;
  patient.wait_for_connection = true;  // also through a restart of the node
  client::ReadStream stream = cellar.read_rows(kTable, read, patient);
  int rows = 0;
  while (true) {
    TRY(const client::CellBlock block, cellar.next(stream));
    if (block.empty()) return rows;
    for (const client::RowPart& part : block.rows()) {
      // A row larger than a chunk comes in parts; `complete` marks the last one.
      if (!part.complete) continue;
      ++rows;
      bookmark = part.key;
    }
  }
}

Result<void> run(client::SyncClient& cellar) {
  TRY_VOID(fill(cellar));
  std::string bookmark;  // a program would keep it in a file or in a table
  TRY(const int first, scan(cellar, bookmark, 1000));
  std::printf("%d rows, up to %s\n", first, bookmark.c_str());
  TRY(const int rest, scan(cellar, bookmark, 0));
  std::printf("%d more, up to %s\n", rest, bookmark.c_str());
  if (first + rest != kRows) return fail(Errc::internal, "rows are missing, or came twice");
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
