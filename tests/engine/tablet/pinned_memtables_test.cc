// Flushed memtables that slow readers still pin: they stop no writer, cause no flushes, and are
// bounded.
#include <gtest/gtest.h>

#include "engine/read/scan.h"
#include "io/loop/async.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

// Pauses at every cell.
struct SlowSink final : CellSink {
  size_t cells = 0;
  std::vector<std::string> rows;
  Flow cell(const CellView& cell) override {
    ++cells;
    if (rows.empty() || rows.back() != cell.row) rows.emplace_back(cell.row);
    return Flow::pause;
  }
  Flow end_row(Bytes) override { return Flow::pause; }
};

struct Reader {
  std::unique_ptr<engine::ScanCursor> cursor;
  ReadSpec spec;
  SlowSink sink;
};

class PinnedMemtables : public testing::Test {
 protected:
  static TestNodeOptions options() {
    TestNodeOptions options;
    options.engine.memory_bytes = 8u << 20;  // 4 MiB for memtables
    return options;
  }
  void SetUp() override { ASSERT_TRUE(node_.create_table("t", {"f"})); }

  bool write(const std::string& row, size_t bytes) {
    const std::string column = fmt::format("f:{:06}", written_++);
    return node_.write("t", row, {set_cell(column, 1, std::string(bytes, 'v'))}).has_value();
  }
  // A reader that has taken one cell.
  std::unique_ptr<Reader> open() {
    ReadSpec spec;
    spec.rows = RowSet::everything();
    return open(std::move(spec));
  }
  std::unique_ptr<Reader> open(ReadSpec spec) {
    auto reader = std::make_unique<Reader>();
    reader->spec = std::move(spec);
    auto opened = node_.node()
                      .engine(ShardId{0})
                      .open_scan(node_.table("t")->tablets[0].id, Epoch{}, reader->spec);
    EXPECT_TRUE(opened);
    reader->cursor = *std::move(opened);
    (void)run(*reader);
    return reader;
  }
  // A reader of one row that has taken one cell, before it had a cursor.
  std::unique_ptr<Reader> start(const std::string& row) {
    auto reader = std::make_unique<Reader>();
    reader->spec.rows.add(KeyRange::single(row));
    auto started = node_.node()
                       .engine(ShardId{0})
                       .start_read(node_.table("t")->tablets[0].id, Epoch{}, reader->spec,
                                   reader->sink, nullptr);
    EXPECT_TRUE(started);
    EXPECT_EQ(started->step, engine::ScanStep::paused);
    reader->cursor = std::move(started->cursor);
    return reader;
  }
  engine::ScanStep run(Reader& reader) {
    return node_.world().block_on(node_.loop(0), run_through(reader));
  }
  static Async<engine::ScanStep> run_through(Reader& reader) {
    for (;;) {
      const engine::ScanStep step = reader.cursor->run(reader.sink);
      if (step == engine::ScanStep::blocked) {
        co_await reader.cursor->load();
      } else if (step == engine::ScanStep::yielded) {
        co_await yield_now();
      } else {
        co_return step;
      }
    }
  }

  TestNode node_{options()};
  int written_ = 0;
};

TEST_F(PinnedMemtables, SlowReadersStopNoWriter) {
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 6; ++i) {
    for (int n = 0; n < 90; ++n) ASSERT_TRUE(write("row", 10'000)) << i << " " << n;
    readers.push_back(open());
    ASSERT_TRUE(node_.flush("t"));
  }
  const uint64_t flushes = node_.stats().flushes;
  size_t refused = 0;
  for (int i = 0; i < 100; ++i) {
    refused += !write("row", 10'000);
    node_.world().run_for_us(1'000'000);
  }
  EXPECT_EQ(refused, 0u);
  EXPECT_LE(node_.stats().flushes - flushes, 2u) << "tiny memtables are flushed in a loop";
  for (int i = 0; i < 20; ++i) {
    refused += !write("row", 300'000);
    node_.world().run_for_us(1'000'000);
  }
  EXPECT_EQ(refused, 0u);
  EXPECT_LE(node_.stats().memtable_bytes, 4u << 20);
  EXPECT_GT(node_.stats().pinned_memtable_bytes, 0u);
  EXPECT_LE(node_.stats().pinned_memtable_bytes, 2u << 20);
  // A row is read as of one stamp: a reader in the middle of a row has to begin the row again.
  EXPECT_EQ(run(*readers.front()), engine::ScanStep::failed);
  EXPECT_EQ(readers.front()->cursor->error().code, Errc::unavailable);
  EXPECT_TRUE(readers.front()->cursor->error().retryable());
  readers.clear();
  EXPECT_EQ(node_.stats().pinned_memtable_bytes, 0u);
}

// The cells of a row that was begun may be in no newer version: it is not read from one.
TEST_F(PinnedMemtables, ARowThatWasBegunFailsWhenItsMemtableIsLetGo) {
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 8; ++i) {
    const std::string row = fmt::format("row{}", i);
    for (const bool again : {false, true}) {
      written_ = 0;
      for (int n = 0; n < 60; ++n) ASSERT_TRUE(write(row, 10'000)) << i << " " << n;
      if (!again) readers.push_back(start(row));
    }
    ASSERT_TRUE(node_.flush("t"));
  }
  EXPECT_LE(node_.stats().pinned_memtable_bytes, 2u << 20);
  size_t failed = 0;
  for (const auto& reader : readers) {
    engine::ScanStep step = run(*reader);
    while (step == engine::ScanStep::paused) step = run(*reader);
    failed += step == engine::ScanStep::failed;
    if (step == engine::ScanStep::failed) {
      EXPECT_EQ(reader->cursor->error().code, Errc::unavailable);
    } else {
      EXPECT_EQ(reader->sink.cells, 60u);
    }
  }
  EXPECT_GT(failed, 0u);
  EXPECT_LT(failed, readers.size());
}

TEST_F(PinnedMemtables, BetweenRowsAReaderGoesOnWithWhatIsNewest) {
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(write(fmt::format("r{:02}", i), 10'000));
  auto reader = open();
  EXPECT_EQ(run(*reader), engine::ScanStep::paused);  // after the row
  ASSERT_TRUE(node_.flush("t"));
  EXPECT_GT(node_.stats().pinned_memtable_bytes, 0u);
  EXPECT_EQ(run(*reader), engine::ScanStep::paused);
  EXPECT_EQ(node_.stats().pinned_memtable_bytes, 0u);
  while (run(*reader) == engine::ScanStep::paused) {
  }
  EXPECT_EQ(reader->sink.rows.size(), 20u);
  EXPECT_EQ(reader->sink.cells, 20u);
}

// With concurrent flushes, merges and deletes, forwards and reversed, over one range and several.
TEST_F(PinnedMemtables, AReaderThatIsRenewedLeavesOutNoRowAndRepeatsNone) {
  for (const bool reversed : {false, true}) {
    for (const bool several : {false, true}) {
      std::vector<std::string> expected;
      for (int i = 0; i < 30; ++i) {
        const std::string row = fmt::format("r{:02}", i);
        ASSERT_TRUE(node_.set("t", row, "f:q", 1, "v"));
        if (!several || i < 10 || i >= 20) expected.push_back(row);
      }
      if (reversed) std::ranges::reverse(expected);
      ReadSpec spec;
      spec.reversed = reversed;
      spec.rows = RowSet::everything();
      if (several) {
        spec.rows = RowSet();
        spec.rows.add({"r00", "r10"});
        spec.rows.add({"r20", "r30"});
      }
      auto reader = open(std::move(spec));
      for (int step = 0;; ++step) {
        ASSERT_TRUE(node_.set("t", fmt::format("z{:02}", step), "f:q", 1, "v"));
        ASSERT_TRUE(node_.drop_rows("t", "z", ""));
        ASSERT_TRUE(node_.flush("t"));
        if (step % 5 == 4) ASSERT_TRUE(node_.compact("t"));
        if (run(*reader) != engine::ScanStep::paused) break;
      }
      std::erase_if(reader->sink.rows, [](const std::string& row) { return row > "z"; });
      EXPECT_EQ(reader->sink.rows, expected) << reversed << several;
      EXPECT_EQ(node_.stats().pinned_memtable_bytes, 0u);
    }
  }
}

TEST_F(PinnedMemtables, TheBoundReachesReadersThatDoNotRun) {
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 8; ++i) {
    for (int n = 0; n < 60; ++n) ASSERT_TRUE(write(fmt::format("r{:02}", n), 10'000));
    readers.push_back(open());
    while (!readers.back()->cursor->between_rows()) (void)run(*readers.back());
    ASSERT_TRUE(node_.flush("t"));
    EXPECT_LE(node_.stats().pinned_memtable_bytes, 2u << 20);
  }
  // The readers are not interrupted; all rows come, with those written meanwhile.
  for (const auto& reader : readers) {
    while (run(*reader) == engine::ScanStep::paused) {
    }
    EXPECT_FALSE(reader->cursor->run(reader->sink) == engine::ScanStep::failed);
    EXPECT_EQ(reader->sink.rows.size(), 60u);
  }
}

TEST_F(PinnedMemtables, AReaderOfADroppedTableIsLetGoToo) {
  for (int n = 0; n < 60; ++n) ASSERT_TRUE(write(fmt::format("r{:02}", n), 10'000));
  auto reader = open();
  ASSERT_TRUE(node_.flush("t"));
  ASSERT_TRUE(node_.drop_table("t"));
  node_.world().run_for_us(1'000'000);
  while (run(*reader) == engine::ScanStep::paused) {
  }
  EXPECT_EQ(reader->sink.rows.size(), 60u);
  reader.reset();
  EXPECT_EQ(node_.stats().pinned_memtable_bytes, 0u);
}

}  // namespace
}  // namespace cellar::support
