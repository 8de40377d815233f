// One shard in memory for tests of stores: a simulated loop, and a disk with crash images and rules
// of faults.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/store/local/local_stores.h"
#include "io/base/log.h"
#include "io/loop/runtime.h"
#include "io/sim/faulty_fs.h"
#include "io/sim/mem_fs.h"
#include "io/sim/sim_loop.h"

namespace cellar::engine {

// A machine over a disk. The disk outlives it, so that another machine can start from its contents.
struct StoreRig {
  explicit StoreRig(MemDisk& mem_disk, uint64_t seed = 1, MemFsOptions fs_options = {})
      : disk(mem_disk), world(seed), loop(world.add_loop()), clock(world.clock()) {
    if (fs_options.max_latency_us > 0) {
      fs_options.random = &world.random();
      fs_options.timers = &loop.timers();
    }
    set_log_level(LogLevel::off);  // thousands of recoveries, each of which logs
    auto base = std::make_unique<MemFs>(loop.executor(), disk, fs_options);
    fs = std::make_unique<FaultyFs>(loop.executor(), std::move(base), rules, &loop.timers());
  }
  // Suspended coroutines refer to the file system and to objects of the test.
  ~StoreRig() { world.crash(); }

  template <class T>
  T run(Async<T> work) {
    return world.block_on(loop, std::move(work));
  }

  MemDisk& disk;
  FaultRules rules;
  SimWorld world;
  SimLoop& loop;
  TrustedClock clock;
  Random random{1};
  Runtime runtime{loop.executor(), loop.timers(), clock, random};
  std::unique_ptr<FaultyFs> fs;
};

template <class T>
T value_of(Result<T> result) {
  EXPECT_TRUE(result) << result.error().to_string();
  CHECK(result, "{}", result.error().to_string());
  return *std::move(result);
}
inline void expect_ok(const Result<void>& result) {
  EXPECT_TRUE(result) << result.error().to_string();
}

// A LogAppend that keeps its result and appends its number when it is done.
struct Append : LogAppend {
  explicit Append(std::vector<int>& done_numbers, int own_number, Durability at = Durability::sync)
      : order(done_numbers), number(own_number) {
    level = at;
    done = [](LogAppend& self) {
      auto& mine = static_cast<Append&>(self);
      mine.is_done = true;
      mine.order.push_back(mine.number);
    };
  }
  bool ok() const { return is_done && failure == nullptr; }
  std::vector<int>& order;
  int number;
  bool is_done = false;
};

// Collects the contents of a log.
struct Collector final : LogVisitor {
  struct Seen {
    TabletId tablet;
    Epoch epoch;
    CommitStamp stamp;
    std::string payload;
    LogPosition end;
  };
  Result<void> entry(const LogEntry& e, LogPosition end) override {
    seen.push_back({e.tablet, e.epoch, e.stamp, std::string(e.payload), end});
    return {};
  }
  std::vector<Seen> seen;
};

// Payload number `i` of a run: contains its number all over, so that exchanged bytes are noticed.
inline std::string payload_of(uint64_t i, size_t size) {
  std::string out;
  while (out.size() < size) out += fmt::format("<{}:{}>", i, out.size());
  out.resize(size);
  return out;
}

inline LogEntry entry_of(uint64_t i, Bytes payload) {
  return LogEntry{TabletId{i % 7 + 1}, Epoch{i % 3 + 1}, CommitStamp{1000 + i}, payload};
}

constexpr LogId kLog = make_log_id(SessionEpoch{3}, 1);

// Small enough that a test crosses many segments.
inline LogOptions small_log() {
  LogOptions options;
  options.segment_bytes = 64u << 10;
  options.batch_bytes = 16u << 10;
  options.max_pending_bytes = 256u << 10;
  return options;
}

}  // namespace cellar::engine
