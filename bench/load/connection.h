// One connection under load: sends due requests, matches answers, records latencies. Belongs to one
// loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/load/generator.h"
#include "io/loop/async.h"
#include "io/loop/loop.h"
#include "io/net/transport.h"

namespace cellar::bench {

// Shared by the connections of one thread.
struct ThreadTally {
  LoadResult result;
  uint64_t left = 0;  // operations still to start; UINT64_MAX: no bound
  int64_t measure_from_us = 0;
  int64_t stop_at_us = INT64_MAX;
  uint32_t open = 0;  // connections that run
};

int64_t steady_us();

class Connection final : ReplySink {
 public:
  Connection(const LoadOptions& options, std::unique_ptr<Protocol> protocol, Loop& loop,
             ThreadTally& tally, uint64_t number);

  // Runs the whole dialogue: greeting, load, close; on another connection once the server asks
  // clients to leave. `network` outlives it.
  Async<void> run(Network& network, std::unique_ptr<ByteStream> stream);

 private:
  struct Slot {
    int64_t due_us = 0;
    bool used = false;
  };

  void reply(uint64_t id, bool ok, Bytes error) override;
  void send_one(int64_t due_us);
  bool more_is_due(int64_t now_us) const { return tally_.left > 0 && now_us < tally_.stop_at_us; }
  bool may_start(int64_t now_us) const { return more_is_due(now_us) && !protocol_->leaving(); }
  Async<Result<void>> dialogue();
  Async<Result<void>> connect_anew(Network& network);
  void fill(int64_t now_us);
  Async<Result<void>> write_out();
  Async<Result<void>> greet();
  Async<Result<void>> closed_loop();
  Async<Result<void>> open_loop();
  Async<void> send_on_schedule(bool& done);
  Async<Result<void>> receive();

  const LoadOptions& options_;
  std::unique_ptr<Protocol> protocol_;
  ShardExecutor executor_;
  Timers& timers_;
  ThreadTally& tally_;
  KeyChooser keys_;
  std::unique_ptr<ByteStream> stream_;
  std::string value_;
  std::string out_;
  std::string sending_;
  std::string in_;
  size_t in_used_ = 0;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
  uint32_t in_flight_ = 0;
  uint64_t number_;
  double due_us_ = 0;  // open loop: due time of the next request; 0: not begun
  int greetings_left_ = 0;
  bool failed_ = false;
};

}  // namespace cellar::bench
