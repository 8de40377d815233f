// WriteDriver: keeps a number of commits of single rows in flight on one shard, as a server does
// for its clients: each is one Engine::submit(), answered by its `done`. With a rate they are due
// on a schedule instead, and the time of a commit counts from its due time. A commit refused for
// overload is retried after the delay in its answer, and its time continues.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/embedded/bed.h"
#include "bench/embedded/dataset.h"
#include "bench/embedded/stages.h"
#include "bench/embedded/tally.h"
#include "io/loop/event.h"

namespace cellar::bench {

struct WriteLoad {
  uint64_t operations = 0;  // of this shard; 0: until stop()
  size_t in_flight = 64;
  double rate = 0;  // a second, on this shard; 0: unlimited
  Durability level = Durability::periodic;
  size_t value_bytes = 100;
  bool in_order = false;  // row after row, instead of random ones
  uint64_t seed = 1;
  const std::vector<RowRange>* ranges = nullptr;  // of another table; must outlive the driver
};

// On one shard; created, run and destroyed there.
class WriteDriver final : public LoopHook {
 public:
  WriteDriver(Shard& shard, Bed& bed, const WriteLoad& load);
  ~WriteDriver() override;

  // Resumes when every operation has completed.
  Async<void> run();
  // Starts no further operation.
  void stop() { stopping_ = true; }
  const Tally& tally() const { return tally_; }

  bool on_turn() override;
  bool may_sleep() override {
    slept_ = true;
    return true;
  }

 private:
  struct Slot {
    WriteDriver* owner = nullptr;
    engine::Write write;
    RowKey key;
    Mutation cell;
    int64_t from_ns = 0;
    int64_t retry_ns = 0;
    int64_t refused_ns = 0;  // time between a refusal and the next attempt
  };

  bool all_begun() const {
    return stopping_ || (load_.operations != 0 && begun_ >= load_.operations);
  }
  bool may_begin(int64_t now_ns);
  void begin(Slot& slot, int64_t now_ns);
  void submit(Slot& slot);
  static void done(engine::Write& write);
  uint64_t next_row(const RowRange** range);

  Shard& shard_;
  engine::Engine& engine_;
  const std::vector<RowRange>& ranges_;
  const WriteLoad load_;
  Random random_;
  ValueSource values_;
  uint64_t rows_ = 0;  // of all ranges
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
  std::deque<Slot*> refused_;
  uint64_t begun_ = 0;
  uint64_t ordered_ = 0;
  Timer alarm_;
  Event finished_;
  bool stopping_ = false;
  Tally tally_;
  StageLine stages_;
  bool slept_ = true;
};

}  // namespace cellar::bench
