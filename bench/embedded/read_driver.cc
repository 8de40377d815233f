#include "bench/embedded/read_driver.h"

#include "engine/read/scan.h"
#include "io/base/check.h"

namespace cellar::bench {
namespace {

// Reads that find everything in memory let others run after so many.
constexpr int kReadsPerTurn = 16;

struct CountCells final : CellSink {
  uint64_t cells = 0;
  Flow cell(const CellView&) override {
    ++cells;
    return Flow::more;
  }
  Flow end_row(Bytes) override { return Flow::more; }
};

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
    if (++turn == kReadsPerTurn) {
      co_await yield_now();
      turn = 0;
      from_ns = steady_ns();
    }
    co_await read(random);
    const int64_t now_ns = steady_ns();
    tally_.add(from_ns, now_ns);
    from_ns = now_ns;
  } while (!over(from_ns));
  if (--running_ == 0) ended_.set();
}

Async<void> ReadDriver::read(Random& random) {
  const RowRange& range = ranges_[random.below(ranges_.size())];
  const RowKey key(range.first + (load_.from_start ? 0 : random.below(range.end - range.first)));
  ReadSpec spec;
  if (load_.scan_rows == 0) {
    spec.rows.add(KeyRange::single(key.bytes()));
  } else {
    spec.rows.add({.start = std::string(key.bytes()), .end = {}});
    spec.row_limit = load_.scan_rows;
  }
  spec.rows.normalize();
  CountCells sink;
  auto started = engine_.start_read(range.tablet.id, range.tablet.epoch, spec, sink, nullptr);
  CHECK(started.has_value(), "{}", started.error().to_string());
  auto [step, cursor] = std::move(*started);
  for (; step != engine::ScanStep::done; step = cursor->run(sink)) {
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
