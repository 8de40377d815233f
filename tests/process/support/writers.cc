#include "tests/process/support/writers.h"

#include <map>

namespace cellar::process {
namespace {

std::string row_name(int writer, uint64_t number) {
  return fmt::format("w{:02}-{:010}", writer, number);
}
std::string latest_name(int writer) { return fmt::format("w{:02}-latest", writer); }

client::Mutation row_mutation(int writer, uint64_t number) {
  client::Mutation m(row_name(writer, number));
  // Some values are large, so that commits span log records and blocks.
  const std::string value =
      fmt::format("{}-{}", writer, number) + std::string(number % 17 == 0 ? 9000 : 20, 'x');
  for (int c = 0; c < kColumns; ++c)
    m.set(c % 2 == 0 ? "a" : "b", fmt::format("c{}", c), value, 1000);
  return m;
}

struct Seen {
  std::map<uint64_t, int> columns;  // row number -> columns that hold the row's value
  std::map<uint64_t, std::set<std::string>> values;
  uint64_t latest = 0;
  bool has_latest = false;
};

void note(std::map<int, Seen>& seen, Bytes row, std::span<const client::Cell> cells) {
  if (cells.empty()) return;  // a row that ended in the next block
  const int writer = std::stoi(std::string(row.substr(1, 2)));
  Seen& mine = seen[writer];
  if (row.substr(4) == "latest") {
    mine.latest = std::stoull(std::string(cells[0].value));
    mine.has_latest = true;
    return;
  }
  const uint64_t number = std::stoull(std::string(row.substr(4)));
  mine.columns[number] += static_cast<int>(cells.size());
  for (const auto& cell : cells) mine.values[number].insert(std::string(cell.value));
}

void check_writer(const Writer& writer, Seen& seen, std::vector<std::string>& wrong) {
  for (const uint64_t number : writer.acknowledged_rows()) {
    if (!seen.columns.contains(number))
      wrong.push_back(
          fmt::format("acknowledged row {} is lost", row_name(writer.number(), number)));
  }
  for (const auto& [number, columns] : seen.columns) {
    if (columns != kColumns)
      wrong.push_back(fmt::format("row {} has {} of {} columns", row_name(writer.number(), number),
                                  columns, kColumns));
    if (seen.values[number].size() != 1)
      wrong.push_back(fmt::format("row {} mixes values", row_name(writer.number(), number)));
    if (number >= writer.started())
      wrong.push_back(fmt::format("row {} was never written", row_name(writer.number(), number)));
  }
  if (writer.latest_acknowledged() > 0 &&
      (!seen.has_latest || seen.latest < writer.latest_acknowledged())) {
    wrong.push_back(fmt::format("{} reads {}, {} was acknowledged", latest_name(writer.number()),
                                seen.latest, writer.latest_acknowledged()));
  }
}

}  // namespace

void Writer::write_until_failure(const std::string& address, int depth) {
  client::ClientOptions options;
  options.address = address;
  options.request_deadline_us = 20'000'000;
  options.retry.max_attempts = 1;  // the first failure ends the load
  client::SyncClient sync(options);
  bool failed = false;
  int in_flight = 0;
  while (!failed || in_flight > 0) {
    while (!failed && in_flight < depth) {
      const uint64_t number = next_++;
      ++in_flight;
      sync.client().async_mutate_row(kTable, row_mutation(number_, number),
                                     [&, number](Result<client::MutateReply> reply) {
                                       --in_flight;
                                       if (reply) acknowledged_.insert(number);
                                       failed = failed || !reply;
                                     });
      if (number % 8 != 0) continue;
      client::Mutation latest(latest_name(number_));
      latest.set("a", "n", std::to_string(number), 1000);
      ++in_flight;
      sync.client().async_mutate_row(
          kTable, latest, [&, number](Result<client::MutateReply> reply) {
            --in_flight;
            if (reply) latest_acknowledged_ = std::max(latest_acknowledged_, number);
            failed = failed || !reply;
          });
    }
    sync.loop().turn(true);
  }
}

std::vector<std::string> check_promises(client::SyncClient& client,
                                        const std::vector<Writer>& writers) {
  std::map<int, Seen> seen;
  client::ReadStream stream = client.read_rows(kTable, {});
  while (true) {
    const auto block = client.next(stream);
    if (!block) return {"the scan failed: " + block.error().to_string()};
    if (block->empty()) break;
    for (const client::RowPart& row : block->rows()) note(seen, row.key, row.cells);
  }
  std::vector<std::string> wrong;
  for (const Writer& writer : writers) check_writer(writer, seen[writer.number()], wrong);
  return wrong;
}

Result<void> create_kill_table(const std::string& address) {
  client::ClientOptions options;
  options.address = address;
  client::SyncClient client(options);
  client::TableSpec spec;
  spec.name = kTable;
  spec.families.resize(2);
  spec.families[0].name = "a";
  spec.families[1].name = "b";
  // Two tablets, so that with two shards both logs have acknowledged writes.
  spec.splits = {"w02"};
  TRY_VOID(client.create_table(spec));
  return {};
}

}  // namespace cellar::process
