// LogTest: local logs on a disk in memory, with a record of the appends.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "engine/store/log/local_log_store.h"
#include "tests/engine/store/store_rig.h"

namespace cellar::engine {

struct LogTest : testing::Test {
  std::unique_ptr<Log> create(StoreRig& rig, LogOptions options = small_log()) {
    LocalLogStore store(*rig.fs, rig.runtime, options);
    return value_of(rig.run(store.create(kLog)));
  }
  Append& append(Log& log, const std::string& payload, Durability level = Durability::sync) {
    const int number = static_cast<int>(appends.size());
    Append& a = appends.emplace_back(order, number, level);
    expect_ok(log.append(entry_of(static_cast<uint64_t>(number), payload), a));
    return a;
  }
  Result<LogReadReport> read(MemDisk& from_disk, Collector& into, LogPosition from = kLogBegin) {
    StoreRig rig(from_disk);
    LocalLogStore store(*rig.fs, rig.runtime, small_log());
    return rig.run(store.read(kLog, from, into));
  }
  // Damages the first entry in a copy of the disk, and expects that a read reports it as damage,
  // not as a torn tail. Returns the message.
  std::string expect_first_entry_is_guarded() {
    const auto image = disk.clone();
    expect_ok(image->corrupt("log/0000000000030001-00000000.seg", 4096 + 30, 1));
    Collector seen;
    const auto damaged = read(*image, seen);
    if (damaged) {
      ADD_FAILURE() << "the damage was taken for a torn tail";
      return {};
    }
    EXPECT_EQ(damaged.error().code, Errc::data_loss);
    return damaged.error().message;
  }
  void expect_all_appended(const Collector& seen) {
    ASSERT_EQ(seen.seen.size(), payloads.size());
    for (size_t i = 0; i < payloads.size(); ++i) EXPECT_EQ(seen.seen[i].payload, payloads[i]);
  }

  MemDisk disk;
  std::deque<Append> appends;
  std::vector<int> order;
  std::vector<std::string> payloads;
};

}  // namespace cellar::engine
