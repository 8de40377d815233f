// Metrics that expire: a family with a retention rule, points with their own time to live, and a
// read of the last hour.
//
//   cellar_example_timeseries 127.0.0.1:7420
//
// Exit code 77: the node does not have retention, or times to live of single cells, yet.
#include <cstdio>
#include <string>

#include "net/client/sync_client.h"

using namespace cellar;

namespace {

constexpr const char* kTable = "example_timeseries";
constexpr int64_t kSecondUs = 1'000'000;
constexpr int64_t kHourUs = 3600 * kSecondUs;

Result<void> make_table(client::SyncClient& cellar) {
  (void)cellar.drop_table(kTable);
  client::TableSpec spec;
  spec.name = kTable;
  client::FamilySpec& points = spec.families.emplace_back();
  points.name = "m";
  points.rule_given = true;
  points.rule =
      // two days unless a cell has its own time to live
      client::RetentionRule::max_age_us(48 * kHourUs);
  TRY_VOID(cellar.create_table(spec));
  return {};
}

Result<void> run(client::SyncClient& cellar) {
  TRY_VOID(make_table(cellar));
  TRY(const client::Pong pong, cellar.ping());
  const int64_t now_us = pong.now_us / kSecondUs * kSecondUs;

  // One row per series and hour, one column per metric, one version per point: a range of time is a
  // range of rows, and expired points are removed as whole files.
  client::BatchWriter writer(cellar.client(), kTable);
  constexpr int kPoints = 360;
  for (int i = 0; i < kPoints; ++i) {
    const int64_t at_us = now_us - i * 10 * kSecondUs;
    client::Mutation m(fmt::format("host42/{}", at_us / kHourUs));
    m.set("m", "cpu", fmt::format("{}", 40 + i % 20), at_us);
    // Debugging points live an hour, whatever the rule of the family.
    if (i % 60 == 0) m.set("m", "debug", "x", at_us).with_ttl(kHourUs);
    TRY_VOID(cellar.add(writer, std::move(m)));
  }
  TRY_VOID(cellar.close(writer));

  client::ReadRows last_hour = client::ReadRows::prefix("host42/");
  last_hour.filter = client::Filter::time_range(now_us - kHourUs, now_us + 1000);
  client::ReadStream stream = cellar.read_rows(kTable, last_hour);
  int cpu = 0;
  int debug = 0;
  while (true) {
    TRY(const client::CellBlock block, cellar.next(stream));
    if (block.empty()) break;
    for (const client::Cell& cell : block.cells()) {
      (cell.qualifier == "cpu" ? cpu : debug) += 1;
    }
  }
  std::printf("%d points of cpu, %d of debug in the last hour\n", cpu, debug);
  if (cpu != kPoints || debug != kPoints / 60) return fail(Errc::internal, "points are missing");
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  client::ClientOptions options;
  if (argc > 1) options.address = argv[1];
  client::SyncClient cellar(options);
  const auto result = run(cellar);
  if (!result) std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
  if (!result && result.error().code == Errc::unimplemented) return 77;
  return result ? 0 : 1;
}
