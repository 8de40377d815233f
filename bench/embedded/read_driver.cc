#include "bench/embedded/read_driver.h"

#include "bench/embedded/random_reads.h"
#include "engine/read/scan.h"
#include "io/base/check.h"

namespace cellar::bench {
namespace {

// Reads that find everything in memory yield after this many.
constexpr int kReadsPerTurn = 16;

ReadSpec scan_from(const RowKey& first, uint32_t rows) {
  ReadSpec spec;
  spec.rows.add({.start = std::string(first.bytes()), .end = {}});
  spec.row_limit = rows;
  spec.rows.normalize();
  return spec;
}

}  // namespace

ReadDriver::ReadDriver(Shard& shard, Bed& bed, const ReadLoad& load)
    : shard_(shard),
      engine_(bed.node().engine(shard.id())),
      ranges_(bed.ranges_of(shard.id())),
      load_(load) {
  CHECK(!ranges_.empty(), "shard {} has no rows", shard.id());
}

Async<void> ReadDriver::run() {
  tally_.begin();
  running_ = load_.readers;
  for (size_t i = 0; i < load_.readers; ++i) {
    spawn(shard_.executor(), reader(load_.seed + shard_.id().value() * 1000 + i));
  }
  co_await ended_.wait();
}

Async<void> ReadDriver::reader(uint64_t seed) {
  Random random(seed);
  int64_t from_ns = steady_ns();
  int turn = 0;
  do {
    // The wait for the next turn counts as part of the read that waits, as for a read on a
    // schedule: the tail shows the other work of the shard.
    if (++turn == kReadsPerTurn) {
      co_await yield_now();
      turn = 0;
    }
    co_await read(random);
    const int64_t now_ns = steady_ns();
    tally_.add(from_ns, now_ns);
    from_ns = now_ns;
  } while (!over(from_ns));
  if (--running_ == 0) ended_.set();
}

Async<void> ReadDriver::read(Random& random) {
  const auto [range, key] = random_row(ranges_, random);
  const RowKey first = load_.from_start ? RowKey(range.first) : key;
  const ReadSpec spec =
      load_.scan_rows == 0 ? point_read(first) : scan_from(first, load_.scan_rows);
  CountCells sink;
  auto started = engine_.start_read(range.tablet.id, range.tablet.epoch, spec, sink, nullptr);
  CHECK(started.has_value(), "{}", started.error().to_string());
  const auto cursor = std::move(started->cursor);
  for (engine::ScanStep step = started->step; step != engine::ScanStep::done;
       step = cursor->run(sink)) {
    CHECK(step != engine::ScanStep::failed, "{}", cursor->error().to_string());
    if (step == engine::ScanStep::blocked) {
      co_await cursor->load();
    } else {
      co_await yield_now();
    }
  }
  tally_.cells += sink.cells;
}

}  // namespace cellar::bench
