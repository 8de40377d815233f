#include "bench/tail/probe.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <boost/asio/use_awaitable.hpp>

#include "bench/embedded/random_reads.h"
#include "engine/read/scan.h"
#include "io/base/check.h"

namespace cellar::bench {

Probe::Probe(Shard& shard, Bed& bed, double rate, uint64_t seed)
    : engine_(bed.node().engine(shard.id())),
      ranges_(bed.ranges_of(shard.id())),
      interval_ns_(static_cast<int64_t>(1e9 / rate)),
      random_(seed * 1'000'003 + shard.id().value()),
      alarm_(shard.executor(), ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {}

Async<void> Probe::run(const std::atomic<bool>& stop) {
  tally_.begin();
  itimerspec when{};
  when.it_value.tv_nsec = when.it_interval.tv_nsec = interval_ns_;
  CHECK(::timerfd_settime(alarm_.native_handle(), 0, &when, nullptr) == 0, "no timer");
  int64_t due_ns = steady_ns();
  const asio::use_awaitable_t<ShardExecutor> token;
  while (!stop) {
    co_await alarm_.async_wait(asio::posix::descriptor_base::wait_read, token);
    uint64_t count = 0;
    if (::read(alarm_.native_handle(), &count, sizeof count) != sizeof count) continue;
    for (; count > 0; --count) {
      due_ns += interval_ns_;
      read();
      tally_.add(due_ns, std::max(steady_ns(), due_ns));
    }
  }
}

void Probe::read() {
  const auto [range, key] = random_row(ranges_, random_);
  const ReadSpec spec = point_read(key);
  auto cursor = engine_.open_scan(range.tablet.id, range.tablet.epoch, spec);
  CHECK(cursor.has_value(), "{}", cursor.error().to_string());
  CountCells sink;
  CHECK((*cursor)->run(sink) == engine::ScanStep::done, "a read that is not in the cache");
  tally_.cells += sink.cells;
}

}  // namespace cellar::bench
