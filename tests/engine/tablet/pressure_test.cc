// Bounds of a tablet: memory, the length of the log, a full disk, a failing log.
#include <gtest/gtest.h>

#include <map>

#include "io/sim/faulty_fs.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

std::vector<OwnedMutation> put(size_t bytes) {
  std::vector<OwnedMutation> ops;
  ops.push_back(set_cell("f:q", 1, std::string(bytes, 'v')));
  return ops;
}

std::string row_of(int i) { return fmt::format("r{:06}", i); }

TestNodeOptions with_faults(FaultRules& faults) {
  TestNodeOptions options;
  options.wrap = [&faults](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
    return std::make_unique<FaultyFs>(loop.executor(), std::move(inner), faults, &loop.timers());
  };
  return options;
}

TEST(Pressure, AFullMemtableIsFlushedByItself) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  for (int i = 0; i < 400; ++i) ASSERT_TRUE(node.write("t", row_of(i), put(10'000)));
  node.world().run_for_us(1'000'000);
  EXPECT_GE(node.stats().flushes, 3u);
  EXPECT_LT(node.stats().memtable_bytes, 2u << 20);
  EXPECT_EQ(node.cells("t").size(), 400u);
}

TEST(Pressure, TheLogIsTrimmedBehindTheFlushes) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(node.write("t", row_of(i), put(10'000)));
  node.world().run_for_us(1'000'000);
  // 10 MB were written; a memtable of 1 MB and a few segments of 256 KiB may remain.
  EXPECT_LT(node.stats().log_bytes, 4u << 20);
}

TEST(Pressure, AnIdleTabletDoesNotHoldTheLogBack) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  ASSERT_TRUE(node.create_table("idle", {"f"}));
  ASSERT_TRUE(node.write("idle", "r", put(10)));
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(node.write("t", row_of(i), put(10'000)));
  node.world().run_for_us(1'000'000);
  EXPECT_LT(node.stats().log_bytes, 4u << 20);
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  EXPECT_EQ(node.cells("idle").size(), 1u);
  EXPECT_EQ(node.cells("t").size(), 1'000u);
}

TEST(Pressure, WritesAreRefusedAtTheMemoryBoundWithAHintAndTakenAgainAfterwards) {
  FaultRules faults;
  TestNodeOptions options = with_faults(faults);
  options.engine.memory_bytes = 8u << 20;  // 4 MiB for memtables
  TestNode node(options);
  ASSERT_TRUE(node.create_table("t", {"f"}));
  ASSERT_TRUE(faults.add("write path=blob/* error=ENOSPC"));
  std::optional<Error> refused;
  for (int i = 0; i < 2'000 && !refused; ++i) {
    const auto written = node.write("t", row_of(i), put(10'000));
    if (!written) refused = written.error();
  }
  ASSERT_TRUE(refused) << "memory grew without a bound";
  EXPECT_EQ(refused->code, Errc::resource_exhausted) << refused->to_string();
  EXPECT_TRUE(refused->retryable());
  EXPECT_NE(refused->message.find("flushed because the disk is full"), std::string::npos)
      << refused->message;
  EXPECT_LE(node.stats().memtable_bytes, (4u << 20) + (256u << 10));
  EXPECT_FALSE(node.cells("t").empty()) << "reads go on";
  EXPECT_FALSE(node.stats().read_only);
  const size_t held = node.cells("t").size();

  faults.clear();  // space returns: the flush is retried
  node.world().run_for_us(15'000'000);
  ASSERT_TRUE(node.write("t", "z", put(10)));
  EXPECT_EQ(node.cells("t").size(), held + 1);
  EXPECT_GT(node.stats().flushes, 0u);
}

TEST(Pressure, AFullDiskIsNotBlamedForAnotherFailureOfFlushingNorOnceThereIsRoomAgain) {
  FaultRules faults;
  TestNodeOptions options = with_faults(faults);
  options.engine.memory_bytes = 8u << 20;  // 4 MiB for memtables
  options.engine.memtable_bytes = 4u << 20;
  options.log.max_pending_bytes = 8u << 20;
  TestNode node(options);
  ASSERT_TRUE(node.create_table("t", {"f"}));
  const auto refusal_of_a_large_one = [&node] {
    EXPECT_TRUE(node.write("t", "small", put(500'000)));
    const auto refused = node.write("t", "large", put(3'900'000));
    EXPECT_FALSE(refused);
    node.world().run_for_us(1'000'000);
    return refused ? std::string() : refused.error().message;
  };
  ASSERT_TRUE(faults.add("write path=blob/* error=EIO"));
  const std::string first = refusal_of_a_large_one();
  EXPECT_TRUE(first.ends_with(" bytes")) << first << ": nothing was flushed yet";
  const std::string broken = refusal_of_a_large_one();
  EXPECT_EQ(broken.find("disk is full"), std::string::npos) << broken;
  EXPECT_NE(broken.find("flush of one failed"), std::string::npos) << broken;
  EXPECT_NE(broken.find("errno 5"), std::string::npos) << broken;

  faults.clear();
  node.world().run_for_us(15'000'000);
  const std::string healed = refusal_of_a_large_one();
  EXPECT_TRUE(healed.ends_with(" bytes")) << healed;
}

TEST(Pressure, AWriteTooLargeForWhatIsLeftIsTakenAfterAFlush) {
  TestNodeOptions options;
  options.engine.memory_bytes = 8u << 20;  // 4 MiB for memtables
  options.engine.memtable_bytes = 4u << 20;
  options.log.max_pending_bytes = 8u << 20;
  TestNode node(options);
  ASSERT_TRUE(node.create_table("t", {"f"}));
  ASSERT_TRUE(node.write("t", "small", put(500'000)));
  const auto refused = node.write("t", "large", put(3'900'000));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::resource_exhausted) << refused.error().to_string();
  node.world().run_for_us(1'000'000);
  const auto taken = node.write("t", "large", put(3'900'000));
  EXPECT_TRUE(taken) << taken.error().to_string();
}

// Without an undo window the table is removed at once.
TEST(Pressure, ATabletThatIsDroppedAmidItsFlushKeepsNoOtherWaiting) {
  FaultRules faults;
  TestNode node(with_faults(faults));
  for (const char* name : {"x", "y"}) {
    engine::TableSpec spec;
    spec.name = name;
    spec.granularity = Granularity::micros;
    spec.families.emplace_back().name = "f";
    spec.families[0].undo_window_us = 0;
    ASSERT_TRUE(node.create_table(std::move(spec)));
  }
  ASSERT_TRUE(faults.add("write path=blob/* delay_us=500000"));
  for (int i = 0; i < 110; ++i) ASSERT_TRUE(node.write("x", row_of(i), put(10'000)));
  ASSERT_EQ(node.stats().flushes, 0u) << "it is under way";
  ASSERT_TRUE(node.drop_table("x"));
  faults.clear();
  const uint64_t before = node.stats().flushes;
  for (int i = 0; i < 110; ++i) ASSERT_TRUE(node.write("y", row_of(i), put(10'000)));
  node.world().run_for_us(2'000'000);
  EXPECT_GT(node.stats().flushes, before);
}

// Each has a merge due whenever one ends.
TEST(Pressure, TabletsAreMergedInTurns) {
  TestNode node;
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(node.create_table(name, {"f"}));
  std::map<std::string, size_t> most;
  for (int i = 0; i < 1'500; ++i) {
    for (const char* name : {"a", "b", "c"}) {
      ASSERT_TRUE(node.write(name, row_of(i), put(10'000)));
      if (i % 100 == 99) most[name] = std::max<size_t>(most[name], node.figures(name)[0].runs);
    }
  }
  EXPECT_LE(most["c"], 2 * most["a"] + 2) << most["a"] << " " << most["b"] << " " << most["c"];
}

TEST(Pressure, AFailedFlushLeavesNothingOnTheDisk) {
  FaultRules faults;
  TestNode node(with_faults(faults));
  ASSERT_TRUE(node.create_table("t", {"f"}));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(node.write("t", row_of(i), put(100)));
  ASSERT_TRUE(faults.add("sync path=blob/* error=ENOSPC"));
  const auto flushed = node.flush("t");
  ASSERT_FALSE(flushed);
  EXPECT_EQ(flushed.error().code, Errc::resource_exhausted) << flushed.error().to_string();
  faults.clear();
  node.world().run_for_us(1'000'000);
  EXPECT_EQ(node.stats().tables_on_disk, 0u);
  for (const std::string& file : node.disk().all_files()) EXPECT_FALSE(file.starts_with("blob/"));
  EXPECT_EQ(node.cells("t").size(), 20u);
  ASSERT_TRUE(node.flush("t"));
  EXPECT_EQ(node.cells("t").size(), 20u);
}

TEST(Pressure, AFailedCompactionLeavesItsInputs) {
  FaultRules faults;
  TestNode node(with_faults(faults));
  ASSERT_TRUE(node.create_table("t", {"f"}));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(node.write("t", row_of(i), put(100)));
    ASSERT_TRUE(node.flush("t"));
  }
  const auto before = node.cells("t");
  ASSERT_TRUE(faults.add("write path=blob/* error=ENOSPC"));
  ASSERT_FALSE(node.compact("t"));
  faults.clear();
  node.world().run_for_us(1'000'000);
  EXPECT_EQ(node.stats().tables_on_disk, 3u);
  EXPECT_EQ(node.cells("t"), before);
  size_t blobs = 0;
  for (const std::string& file : node.disk().all_files()) blobs += file.starts_with("blob/");
  EXPECT_EQ(blobs, 3u);
}

TEST(Pressure, AFailedLogMakesTheShardReadOnlyAndARestartHealsIt) {
  FaultRules faults;
  TestNode node(with_faults(faults));
  ASSERT_TRUE(node.create_table("t", {"f"}));
  ASSERT_TRUE(node.write("t", "kept", put(10)));
  ASSERT_TRUE(faults.add("write path=log/* error=EIO"));
  const auto lost = node.write("t", "lost", put(10));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Errc::unavailable) << lost.error().to_string();
  EXPECT_EQ(lost.error().applied, Applied::maybe_applied);
  EXPECT_TRUE(node.stats().read_only);
  const auto refused = node.write("t", "next", put(10));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unavailable);
  EXPECT_EQ(refused.error().applied, Applied::not_applied);
  EXPECT_EQ(node.cells("t").size(), 1u) << "what failed is not seen, what was acknowledged is";
  faults.clear();
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  EXPECT_EQ(node.cells("t").size(), 1u);
  EXPECT_TRUE(node.write("t", "next", put(10)));
}

TEST(Pressure, DamageBelowTheDurableMarkRefusesTheStartAndNamesThePlace) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(node.write("t", row_of(i), put(1'000)));
  node.world().run_for_us(1'000'000);  // the closing mark
  node.crash(CrashPolicy::none);
  std::string log;
  for (const std::string& file : node.disk().all_files()) {
    if (file.starts_with("log/") && log.empty()) log = file;
  }
  ASSERT_TRUE(node.disk().corrupt(log, 4096 + 100, 0x40));
  const auto opened = node.reopen();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::data_loss);
  EXPECT_NE(opened.error().message.find(log), std::string::npos) << opened.error().to_string();
}

TEST(Pressure, AMissingTableRefusesTheStart) {
  TestNode node;
  ASSERT_TRUE(node.create_table("t", {"f"}));
  ASSERT_TRUE(node.write("t", "r", put(10)));
  ASSERT_TRUE(node.flush("t"));
  ASSERT_TRUE(node.close());
  for (const std::string& file : node.disk().all_files()) {
    if (file.starts_with("blob/")) ASSERT_TRUE(node.disk().remove(file));
  }
  const auto opened = node.reopen();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::data_loss) << opened.error().to_string();
}

}  // namespace
}  // namespace cellar::support
