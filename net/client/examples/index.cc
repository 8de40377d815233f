// A secondary index: rows found by the value of a column, while they are young.
//
//   cellar_example_index 127.0.0.1:7420
#include <cstdio>
#include <string>

#include "net/client/sync_client.h"

using namespace cellar;

namespace {

constexpr const char* kTable = "example_index";
constexpr int64_t kDayUs = 86'400'000'000;
constexpr int64_t kLookUs = 10'000;

Result<void> create(client::SyncClient& cellar) {
  client::TableSpec spec;
  spec.name = kTable;
  client::FamilySpec& family = spec.families.emplace_back();
  family.name = "o";
  family.rule_given = true;
  family.rule = client::RetentionRule::max_age_us(2 * kDayUs);
  const auto created = cellar.create_table(spec);
  if (!created && created.error().code != Errc::already_exists) {
    return std::unexpected(created.error());
  }
  client::IndexSpec index;
  index.name = "by_state";
  index.family = "o";
  index.qualifier = "state";
  index.parts = {client::IndexPart::value, client::IndexPart::time};
  index.covered = {{"o", "item"}};
  index.max_age_us = kDayUs;  // at most the age of the table
  const auto made = cellar.create_index(kTable, index);
  if (!made && made.error().code != Errc::already_exists) return std::unexpected(made.error());
  // Reads are answered when what is in the table already has been entered.
  while (true) {
    TRY(const auto indexes, cellar.describe_indexes(kTable));
    if (!indexes.empty() && indexes.front().ready) return {};
    cellar.sleep_us(kLookUs);
  }
}

Result<void> write(client::SyncClient& cellar, const char* row, const char* state,
                   const char* item) {
  client::Mutation m(row);
  m.set("o", "state", state).set("o", "item", item);
  TRY_VOID(cellar.mutate_row(kTable, m));
  return {};
}

// The rows of that state, newest first, with their items.
Result<std::string> in_state(client::SyncClient& cellar, const char* state) {
  client::ReadIndex read;
  read.index = "by_state";
  read.value = state;
  client::ReadStream stream = cellar.read_index(kTable, read);
  std::string found;
  while (true) {
    TRY(const client::CellBlock block, cellar.next(stream));
    if (block.empty()) return found;
    for (const client::RowPart& hit : block.rows()) {  // each hit is a row of its own
      found += fmt::format("{} {}; ", hit.key, hit.cells.back().value);
    }
  }
}

Result<void> run(client::SyncClient& cellar) {
  TRY_VOID(create(cellar));
  TRY_VOID(write(cellar, "order17", "open", "lamp"));
  TRY_VOID(write(cellar, "order18", "open", "chair"));
  TRY_VOID(write(cellar, "order17", "paid", "lamp"));
  TRY(const std::string open, in_state(cellar, "open"));
  TRY(const std::string paid, in_state(cellar, "paid"));
  std::printf("open: %s\npaid: %s\n", open.c_str(), paid.c_str());
  if (open != "order18 chair; " || paid != "order17 lamp; ") {
    return fail(Errc::internal, "the index finds other rows");
  }
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
