// One connection under load: sends requests, matches answers, records latencies. Belongs to one
// loop.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/generator.h"
#include "io/loop/async.h"
#include "io/loop/loop.h"
#include "io/net/transport.h"
#include "net/client/connections/dialler.h"

namespace cellar::bench {

class Pacer;

int64_t steady_ns();

// The operations that may still start, shared by the connections of all threads.
class Budget {
 public:
  explicit Budget(uint64_t operations) : bounded_(operations > 0), left_(operations) {}
  // Takes one operation; false: none is left.
  bool take() {
    if (!bounded_) return true;
    uint64_t left = left_.load(std::memory_order_relaxed);
    while (left > 0 && !left_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
    }
    return left > 0;
  }

 private:
  const bool bounded_;
  std::atomic<uint64_t> left_;
};

// Shared by the connections of one thread.
struct ThreadTally {
  explicit ThreadTally(Timeline& timeline, const RunTimes& run_times)
      : times(run_times), recorder(timeline, run_times) {}

  const RunTimes& times;
  Recorder recorder;
  Histogram lateness;  // in nanoseconds
  uint64_t late_sends = 0;
  uint64_t warmed = 0;  // completed in the warm-up
  int64_t last_completed_ns = 0;
  std::string first_error;
  std::map<std::string, uint64_t> errors;
  uint64_t unanswered = 0;  // requests of broken connections, and failures of the warm-up
  uint64_t checked_values = 0;
  uint64_t wrong_values = 0;
  std::string first_wrong;
  uint32_t open = 0;   // connections that run
  bool ended = false;  // no operation starts any more

  void note_error(Bytes message);
  void merge_errors_into(LoadResult& result) const;
};

// What the connections of one thread share.
struct ThreadContext {
  const LoadOptions& options;
  Loop& loop;
  Network& network;
  client::Dialler& dialler;
  KeySpace& keys;
  Budget& budget;
  ThreadTally& tally;
  Pacer* pacer = nullptr;  // of an open loop, once it runs
};

class Connection final : ReplySink {
 public:
  // `context` outlives it.
  Connection(const ThreadContext& context, std::unique_ptr<Protocol> protocol,
             std::unique_ptr<ByteStream> stream, uint64_t number);

  // Greets the server. Before run().
  Async<Result<void>> greet();
  // Load, then close; on another connection once the server asks clients to leave.
  Async<void> run();

  // ---- open loop, called by the pacer ----
  bool may_send() const { return joined_ && !free_.empty() && !protocol_->leaving(); }
  // Encodes one request; flush() sends it.
  void send(int64_t due_ns);
  void flush();
  // Ends once the last answer is there.
  void finish();
  // Ends now.
  void abandon();

 private:
  struct Slot {
    int64_t due_ns = 0;
    uint64_t number = 0;  // insert
    Operation operation = Operation::read;
    bool used = false;
    bool updates = false;  // the second half of a modify
    uint64_t rows = 0;     // that its first half found
    std::string key;
  };

  void value(uint64_t id, Bytes row, Bytes field, Bytes value) override;
  void reply(uint64_t id, const Answer& answer) override;
  void complete(Slot& slot, uint64_t rows);
  void release(uint64_t id);
  bool takes_operation(int64_t now_ns);
  void fill();
  bool idle_and_done() const;
  void lose_requests(const Error& error);
  Async<Result<void>> load();
  Async<Result<void>> connect_anew();
  Async<void> write_rest(size_t written);
  Async<Result<void>> receive();

  const ThreadContext& context_;
  std::unique_ptr<Protocol> protocol_;
  RequestDrawer drawer_;
  std::unique_ptr<ByteStream> stream_;
  std::string out_;
  std::string sending_;
  std::string in_;
  std::string scratch_;
  size_t in_used_ = 0;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  uint32_t in_flight_ = 0;
  bool writing_ = false;  // write_rest() runs
  bool joined_ = false;   // open loop: the pacer may use it
  bool finishing_ = false;
};

}  // namespace cellar::bench
