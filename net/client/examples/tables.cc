// Tables: created with splits and options, altered, described, sampled, dropped.
//
//   cellar_example_tables 127.0.0.1:7420
#include <cstdio>
#include <string>

#include "net/client/sync_client.h"

using namespace cellar;

namespace {

Result<void> run(client::SyncClient& cellar) {
  // The name of a dropped table is free again.
  (void)cellar.drop_table("example_tables");

  client::TableSpec spec;
  spec.name = "example_tables";
  spec.granularity = Granularity::micros;
  spec.families.emplace_back().name = "event";
  spec.options.durability = Durability::periodic;  // acknowledged before it is on disk
  spec.splits = {"eu/", "us/"};                    // three tablets from the beginning
  TRY_VOID(cellar.create_table(spec));

  client::TableChange change;
  change.name = spec.name;
  change.add.emplace_back().name = "profile";
  change.options.durability = Durability::sync;
  TRY(const client::TableDescription table, cellar.alter_table(change));
  std::printf("table %s, version %llu\n", table.name.c_str(),
              static_cast<unsigned long long>(table.version));
  for (const client::FamilySpec& family : table.families) {
    std::printf("  family %s\n", family.name.c_str());
  }
  for (const client::TabletDescription& tablet : table.tablets) {
    std::printf("  tablet %llu: ['%s', '%s') on shard %u\n",
                static_cast<unsigned long long>(tablet.tablet_id), tablet.start.c_str(),
                tablet.end.c_str(), tablet.shard);
  }
  if (table.tablets.size() < 3 || table.families.size() != 2) {
    return fail(Errc::internal, "the table is not what was asked for");
  }

  // Split points for pieces of work of similar size.
  TRY(const auto points, cellar.sample_row_keys(spec.name));
  for (const client::SplitPoint& point : points) {
    std::printf("  %llu bytes before '%s'\n", static_cast<unsigned long long>(point.bytes_before),
                point.key.c_str());
  }

  client::ListTables list;
  list.prefix = "example_";
  TRY(const auto tables, cellar.list_tables(list));
  std::printf("%zu tables begin with %s\n", tables.size(), list.prefix.c_str());
  return cellar.drop_table(spec.name);
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
