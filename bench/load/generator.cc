#include "bench/load/generator.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "bench/load/connection.h"
#include "io/loop/shard_loop.h"
#include "io/net/tcp_transport.h"
#include "net/client/connections/dialler.h"

namespace cellar::bench {
namespace {

class LoadThread {
 public:
  LoadThread(const LoadOptions& options, uint32_t first, uint32_t count)
      : options_(options), first_(first), count_(count) {}

  // Connects all, then runs all to their end.
  void run(const std::function<std::unique_ptr<Protocol>()>& make_protocol) {
    ShardLoop loop;
    TcpNetwork network(loop.executor(), loop.timers());
    auto opened = block_on(loop, connect_all(network, loop, make_protocol));
    if (!opened) {
      error_ = opened.error();
      return;
    }
    const int64_t now_us = steady_us();
    tally_.left =
        options_.operations == 0 ? UINT64_MAX : options_.operations * count_ / options_.connections;
    tally_.measure_from_us = now_us + options_.warmup_us;
    if (options_.operations == 0)
      tally_.stop_at_us = now_us + options_.warmup_us + options_.duration_us;
    tally_.open = count_;
    for (uint32_t i = 0; i < count_; ++i)
      spawn(loop.executor(), connections_[i]->run(network, std::move(streams_[i])));
    while (tally_.open > 0) {
      loop.turn(true);
      completed_.store(tally_.result.completed, std::memory_order_relaxed);
    }
    tally_.result.elapsed_us = steady_us() - tally_.measure_from_us;
    connections_.clear();
  }

  uint64_t completed() const { return completed_.load(std::memory_order_relaxed); }
  const LoadResult& result() const { return tally_.result; }
  const std::optional<Error>& error() const { return error_; }

 private:
  Async<Result<void>> connect_all(TcpNetwork& network, Loop& loop,
                                  const std::function<std::unique_ptr<Protocol>()>& make_protocol) {
    CO_TRY(const Address address, parse_address(options_.address));
    for (uint32_t i = 0; i < count_; ++i) {
      CO_TRY(auto stream,
             co_await dialler_.connect(loop.timers(), network, options_.client, address));
      streams_.push_back(std::move(stream));
      connections_.push_back(
          std::make_unique<Connection>(options_, make_protocol(), loop, tally_, first_ + i));
    }
    co_return Result<void>();
  }

  const LoadOptions& options_;
  const uint32_t first_;
  const uint32_t count_;
  client::Dialler dialler_;
  ThreadTally tally_;
  std::vector<std::unique_ptr<ByteStream>> streams_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::atomic<uint64_t> completed_{0};
  std::optional<Error> error_;
};

}  // namespace

Result<LoadResult> run_load(const LoadOptions& options,
                            const std::function<std::unique_ptr<Protocol>()>& make_protocol,
                            const std::function<void(uint64_t)>& progress) {
  std::vector<std::unique_ptr<LoadThread>> work;
  std::vector<std::thread> threads;
  std::atomic<uint32_t> running{options.threads};
  for (uint32_t t = 0; t < options.threads; ++t) {
    const uint32_t first = options.connections * t / options.threads;
    const uint32_t end = options.connections * (t + 1) / options.threads;
    work.push_back(std::make_unique<LoadThread>(options, first, end - first));
  }
  for (auto& one : work) {
    threads.emplace_back([&one, &make_protocol, &running] {
      one->run(make_protocol);
      --running;
    });
  }
  for (int tick = 1; running > 0; ++tick) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (!progress || tick % 20 != 0) continue;
    uint64_t done = 0;
    for (auto& one : work) done += one->completed();
    progress(done);
  }
  for (auto& thread : threads) thread.join();

  LoadResult total;
  for (auto& one : work) {
    if (one->error()) return std::unexpected(*one->error());
    const LoadResult& part = one->result();
    total.completed += part.completed;
    total.failed += part.failed;
    total.late_sends += part.late_sends;
    total.elapsed_us = std::max(total.elapsed_us, part.elapsed_us);
    total.latency_us.merge(part.latency_us);
    if (total.first_error.empty()) total.first_error = part.first_error;
  }
  return total;
}

}  // namespace cellar::bench
