#include "bench/load/generator.h"

#include <sys/resource.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <thread>

#include "bench/load/connection.h"
#include "bench/load/pacer.h"
#include "bench/load/process_use.h"
#include "io/loop/shard_loop.h"
#include "io/net/uring/uring_streams.h"
#include "net/client/connections/dialler.h"

namespace cellar::bench {
namespace {

// What the threads of a run share.
struct Run {
  explicit Run(const LoadOptions& load)
      : options(load),
        keys(load.workload, load.first_insert),
        budget(load.operations),
        timeline(load.interval_us * 1000, load.encodes),
        connected(load.threads + 1) {}

  const LoadOptions& options;
  KeySpace keys;
  Budget budget;
  Timeline timeline;
  std::barrier<> connected;  // of all threads and the one that started them
  std::atomic<bool> fails{false};
  RunTimes times;  // set between the two phases of `connected`
};

class LoadThread {
 public:
  LoadThread(Run& run, ThreadPart part) : run_(run), part_(part), tally_(run.timeline, run.times) {}

  // Connects all, waits for the other threads, then runs all to their end.
  void work(const std::function<std::unique_ptr<Protocol>()>& make_protocol) {
    ShardLoop loop(ShardLoop::kShardSpinUs);
    auto streams = streams_of(loop);
    TcpNetwork network(loop.executor(), loop.timers(), streams.value_or(nullptr));
    ThreadContext context{run_.options, loop, network, dialler_, run_.keys, run_.budget, tally_};
    std::vector<std::unique_ptr<Connection>> connections;
    Result<void> opened;
    if (streams) {
      opened = block_on(loop, open_all(context, make_protocol, connections));
    } else {
      opened = std::unexpected(streams.error());
    }
    if (!opened) {
      error_ = opened.error();
      run_.fails = true;
    }
    run_.connected.arrive_and_wait();  // all are connected
    run_.connected.arrive_and_wait();  // the times are set
    if (!run_.fails) serve(loop, context, connections);
  }

  uint64_t completed() const { return completed_.load(std::memory_order_relaxed); }
  const ThreadTally& tally() const { return tally_; }
  const std::optional<Error>& error() const { return error_; }

 private:
  using Connections = std::vector<std::unique_ptr<Connection>>;

  // Null: those of the loop's reactor.
  Result<std::shared_ptr<DescriptorStreams>> streams_of(Loop& loop) {
    if (run_.options.sockets == SocketBackend::epoll) return nullptr;
    auto ring = Ring::of(loop);
    if (ring) return std::make_shared<UringStreams>(*std::move(ring));
    if (run_.options.sockets == SocketBackend::automatic) return nullptr;
    return std::unexpected(std::move(ring).error());
  }

  Async<Result<void>> open_all(const ThreadContext& context,
                               const std::function<std::unique_ptr<Protocol>()>& make_protocol,
                               Connections& connections) {
    CO_TRY(const Address address, parse_address(run_.options.address));
    for (uint32_t i = part_.first; i < part_.end; ++i) {
      CO_TRY(auto stream, co_await dialler_.connect(context.loop.timers(), context.network,
                                                    run_.options.client, address));
      connections.push_back(
          std::make_unique<Connection>(context, make_protocol(), std::move(stream), i));
      CO_TRY_VOID(co_await connections.back()->greet());
    }
    co_return Result<void>();
  }

  void serve(ShardLoop& loop, ThreadContext& context, Connections& connections) {
    std::optional<Pacer> pacer;
    if (run_.options.rate > 0) {
      pacer.emplace(
          loop, run_.options, run_.budget, tally_,
          schedule_of(part_, run_.options.connections, run_.times.begin_ns, run_.options.rate));
      context.pacer = &*pacer;
    }
    tally_.open = part_.count();
    for (auto& connection : connections) {
      if (pacer) pacer->add(*connection);
      spawn(loop.executor(), connection->run());
    }
    drive(loop, connections);
  }
  void drive(ShardLoop& loop, Connections& connections) {
    struct Watch {
      Connections& connections;
      ThreadTally& tally;
    } watch{connections, tally_};
    const auto stop = [](void* context) {
      auto& w = *static_cast<Watch*>(context);
      w.tally.ended = true;
      for (auto& connection : w.connections) connection->abandon();
    };
    Timer deadline(loop.timers(), stop, &watch);
    if (run_.times.stop_at_ns != INT64_MAX)
      deadline.arm_after_us((run_.times.stop_at_ns - steady_ns()) / 1000 + kDrainUs);
    while (tally_.open > 0) {
      loop.turn(true);
      completed_.store(tally_.recorder.completed() + tally_.warmed, std::memory_order_relaxed);
    }
    tally_.recorder.flush();
  }

  Run& run_;
  const ThreadPart part_;
  client::Dialler dialler_;
  ThreadTally tally_;
  std::atomic<uint64_t> completed_{0};
  std::optional<Error> error_;
};

RunTimes times_from_now(const LoadOptions& options) {
  RunTimes times;
  times.begin_ns = steady_ns();
  times.measure_from_ns = times.begin_ns + options.warmup_us * 1000;
  if (options.operations == 0)
    times.stop_at_ns = times.measure_from_ns + options.duration_us * 1000;
  return times;
}

double unix_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Samples the processes and reports progress while the threads work.
class Observer {
 public:
  using ProgressSink = std::function<void(const Progress&)>;
  Observer(Run& run, std::vector<std::unique_ptr<LoadThread>>& threads, const ProgressSink& sink)
      : run_(run), threads_(threads), sink_(sink) {}

  // Until `running` is 0.
  void watch(const std::atomic<uint32_t>& running, LoadResult& result) {
    for (int tick = 0; running > 0; ++tick) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const int64_t since_ns = steady_ns() - run_.times.measure_from_ns;
      if (since_ns >= 0 && !measures_) begin(result);
      // The second interval leaves time for slices that threads deliver late.
      const int64_t whole = since_ns / run_.timeline.interval_ns() - 1;
      if (whole > 0) run_.timeline.settle(static_cast<uint64_t>(whole));
      if (sink_ && tick % 10 == 9) report(since_ns);
    }
    if (!measures_) begin(result);
    const auto generator = process_use(0);
    const auto server = process_use(run_.options.server_pid);
    result.has_server_use = server && server_before_;
    if (result.has_server_use) result.server = difference(*server_before_, *server);
    if (generator && generator_before_)
      result.generator = difference(*generator_before_, *generator);
  }

 private:
  void begin(LoadResult& result) {
    measures_ = true;
    result.started_s = unix_s();
    generator_before_ = process_use(0);
    if (run_.options.server_pid > 0) server_before_ = process_use(run_.options.server_pid);
  }
  static ProcessUse difference(const ProcessUse& before, const ProcessUse& after) {
    return {after.cpu_s - before.cpu_s, after.resident_bytes, after.peak_bytes};
  }
  void report(int64_t since_ns) {
    Progress progress;
    for (const auto& thread : threads_) progress.completed += thread->completed();
    progress.elapsed_s = static_cast<double>(since_ns) / 1e9;
    progress.has_interval = run_.timeline.last(progress.interval);
    sink_(progress);
  }

  Run& run_;
  std::vector<std::unique_ptr<LoadThread>>& threads_;
  const ProgressSink& sink_;
  bool measures_ = false;
  std::optional<ProcessUse> generator_before_;
  std::optional<ProcessUse> server_before_;
};

void gather(Run& run, const std::vector<std::unique_ptr<LoadThread>>& threads, LoadResult& result) {
  int64_t end_ns = run.times.measure_from_ns;
  if (run.options.operations == 0) end_ns = run.times.stop_at_ns;
  for (const auto& thread : threads) {
    const ThreadTally& tally = thread->tally();
    end_ns = std::max(end_ns, tally.last_completed_ns);
    result.late_sends += tally.late_sends;
    result.lateness.merge(tally.lateness);
    tally.merge_errors_into(result);
  }
  const int64_t elapsed_ns = end_ns - run.times.measure_from_ns;
  run.timeline.finish(elapsed_ns);
  result.elapsed_us = elapsed_ns / 1000;
  result.operations = run.timeline.total();
  result.intervals = run.timeline.intervals();
  if (run.keys.inserts() != nullptr) result.inserted_rows = run.keys.inserts()->existing();
}

Result<void> check_operations(const LoadOptions& options, const Protocol& protocol) {
  for (size_t i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    if (options.workload.share(operation) > 0 && !protocol.can(operation))
      return fail(Errc::unimplemented, "this kind of server has no operation '{}'",
                  name_of(operation));
  }
  return {};
}

}  // namespace

uint64_t LoadResult::completed() const {
  uint64_t sum = 0;
  for (const OperationStats& stats : operations) sum += stats.completed();
  return sum;
}
uint64_t LoadResult::failed() const {
  uint64_t sum = unanswered;
  for (const OperationStats& stats : operations) sum += stats.failed;
  return sum;
}
uint64_t LoadResult::missing() const {
  uint64_t sum = 0;
  for (const OperationStats& stats : operations) sum += stats.missing;
  return sum;
}
double LoadResult::per_second() const {
  return elapsed_us == 0 ? 0
                         : static_cast<double>(completed()) * 1e6 / static_cast<double>(elapsed_us);
}

std::string LoadResult::invalid_reason(const LoadOptions& options) const {
  if (completed() == 0) return "no operation completed";
  if (late_sends * 100 > lateness.count())
    return fmt::format("the generator itself sent {} of {} requests more than {} us late",
                       late_sends, lateness.count(), options.max_late_us);
  return "";
}

Result<LoadResult> run_load(const LoadOptions& options,
                            const std::function<std::unique_ptr<Protocol>()>& make_protocol,
                            const std::function<void(const Progress&)>& progress) {
  TRY_VOID(check_operations(options, *make_protocol()));
  Run run(options);
  std::vector<std::unique_ptr<LoadThread>> work;
  for (uint32_t t = 0; t < options.threads; ++t)
    work.push_back(
        std::make_unique<LoadThread>(run, part_of_thread(t, options.threads, options.connections)));
  std::atomic<uint32_t> running{options.threads};
  std::vector<std::thread> threads;
  for (auto& one : work) {
    threads.emplace_back([&one, &make_protocol, &running] {
      one->work(make_protocol);
      --running;
    });
  }
  LoadResult result;
  run.connected.arrive_and_wait();
  run.times = times_from_now(options);
  run.connected.arrive_and_wait();
  Observer(run, work, progress).watch(running, result);
  for (auto& thread : threads) thread.join();
  for (auto& one : work) {
    if (one->error()) return std::unexpected(*one->error());
  }
  gather(run, work, result);
  return result;
}

}  // namespace cellar::bench
