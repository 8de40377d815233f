// TableSalvage on every part of a table, TableMerge with many tables.
#include <gtest/gtest.h>

#include <set>

#include "engine/repair/merge_tables.h"
#include "engine/repair/table_salvage.h"
#include "engine/store/blob/blob_files.h"
#include "engine/store/local/local_stores.h"
#include "io/sim/mem_fs.h"
#include "io/sim/sim_loop.h"

namespace cellar::engine {
namespace {

class RepairTables : public testing::Test {
 protected:
  using Entries = std::map<std::string, std::string>;

  RepairTables() : fs_(loop_.executor(), disk_), store_(make_local_blob_store(fs_)) {}

  template <class T>
  T run(Async<T> work) {
    return world_.block_on(loop_, std::move(work));
  }
  static std::string key_of(const std::string& row, uint64_t stamp) {
    std::string key;
    append_cell(key, row, "f", "q", 5, CommitStamp{stamp});
    return key;
  }
  static std::string value_of(const std::string& text) {
    std::string value;
    append_cell_value(value, text);
    return value;
  }
  TableMeta write(BlobId id, const Entries& entries, size_t part_bytes = 0,
                  Compression compression = Compression::lz4,
                  const std::vector<IndexSchema>& indexes = {}) {
    TableWriterOptions options;
    options.indexes = make_index_set(indexes);
    options.blob = id;
    options.table = TableId{1};
    options.block_bytes = 1024;
    options.part_bytes = part_bytes;
    options.compression = compression;
    auto blob = run(store_->create(id, 0, IoClass::flush));
    EXPECT_TRUE(blob);
    TableWriter writer(options, *std::move(blob));
    for (const auto& [key, value] : entries) writer.add(key, value);
    writer.add_range_delete({"x", "y", CommitStamp{77}});
    auto meta = run(finish_table(writer, {}));
    EXPECT_TRUE(meta);
    return *meta;
  }
  static std::vector<IndexSchema> two_indexes() {
    IndexSchema by_time;
    by_time.id = 1;
    by_time.family = "f";
    by_time.parts = {cellar::IndexPart::time};
    IndexSchema by_value;
    by_value.id = 2;
    by_value.family = "f";
    by_value.parts = {cellar::IndexPart::value};
    return {by_time, by_value};
  }
  Async<Entries> collect(TableSalvage& salvage) {
    Entries found;
    while (true) {
      const bool more = co_await salvage.next_block();
      if (!more) co_return found;
      for (const auto& entry : salvage.entries()) found[entry.key] = entry.value;
    }
  }

  SimWorld world_;
  SimLoop& loop_ = world_.add_loop();
  MemDisk disk_;
  MemFs fs_;
  std::unique_ptr<BlobStore> store_;
};

// A flipped bit anywhere: what is read was written, what is missing is in the lost rows.
TEST_F(RepairTables, AFlippedBitLosesNoRowThatIsNotTold) {
  Entries entries;
  for (int i = 0; i < 400; ++i) {
    const std::string row = fmt::format("user{:05}", i);
    entries[key_of(row, 9)] = value_of(fmt::format("{} {:0>60}", row, i * 7919 % 1000));
  }
  uint64_t id = 1;
  for (const size_t part_bytes : {size_t{0}, size_t{600}}) {
    for (const Compression packed : {Compression::none, Compression::lz4, Compression::zstd}) {
      const BlobId blob_id{id++};
      const bool indexed = packed != Compression::lz4;
      const TableMeta meta = write(blob_id, entries, part_bytes, packed,
                                   indexed ? two_indexes() : std::vector<IndexSchema>());
      ASSERT_EQ(meta.sections.size(), indexed ? 2u : 0u);
      const std::string path = blob_path(blob_id);
      size_t whole = 0;
      size_t partly = 0;
      for (uint64_t at = 0; at < meta.file_bytes; at += 37) {
        SCOPED_TRACE(fmt::format("parts {} at {} of {}", part_bytes, at, meta.file_bytes));
        ASSERT_TRUE(disk_.corrupt(path, at, 0x10));
        auto blob = run(store_->open(blob_id));
        ASSERT_TRUE(blob);
        TableSalvage salvage(**blob, &meta);
        world_.block_on(loop_, salvage.open());
        if (salvage.readable()) {
          const Entries found = run(collect(salvage));
          EXPECT_FALSE(salvage.damage().empty());
          EXPECT_TRUE(salvage.range_deletes_lost() || salvage.range_deletes().size() == 1);
          for (const auto& [key, value] : found) {
            const auto known = entries.find(key);
            EXPECT_TRUE(known != entries.end() && known->second == value);
          }
          for (const auto& [key, value] : entries) {
            if (found.contains(key)) continue;
            const std::string row = first_row_at(key);
            EXPECT_TRUE(std::ranges::any_of(salvage.lost_rows(), [&](const KeyRange& rows) {
              return rows.contains(row);
            })) << row;
          }
          EXPECT_EQ(found.size() == entries.size(), salvage.lost_blocks() == 0);
          for (const IndexSection& section : meta.sections) {
            if (at < section.offset || at >= section.root.end()) continue;
            EXPECT_EQ(found.size(), entries.size());
            EXPECT_NE(salvage.damage().find("section of index"), std::string::npos);
          }
          ++partly;
        } else {
          ++whole;
        }
        ASSERT_TRUE(disk_.corrupt(path, at, 0x10));
      }
      EXPECT_GT(partly, 10 * whole) << part_bytes;
    }
  }
}

TEST_F(RepairTables, RowsOfSeparatorsAreNeverTooNarrow) {
  using namespace std::literals;
  const std::vector<std::string> rows = {"a",       "a\0"s, "a\0\0b"s, "ab", "a\xff",    "\0"s,
                                         "\0\xff"s, "b\1",  "b",       "bb", "b\0\x01"s, "c"};
  for (const std::string& row : rows) {
    const std::string key = key_of(row, 3);
    for (size_t size = 1; size <= key.size(); ++size) {
      const Bytes separator = Bytes(key).substr(0, size);
      for (const std::string& other : rows) {
        const std::string before = key_of(other, 4);
        if (before < separator) EXPECT_LT(other, row_end_before(separator)) << size;
        if (before >= separator) EXPECT_GE(other, first_row_at(separator)) << size;
      }
    }
  }
}

TEST_F(RepairTables, AMergeKeepsEveryEntryOnceAndTheNewerOneOfTwo) {
  RepairIds ids(SessionEpoch{9});
  Entries all;
  std::vector<MergeSource> sources;
  constexpr uint64_t kTables = 2 * TableMerge::kMostSources + 40;
  for (uint64_t n = kTables; n > 0; --n) {
    Entries entries;
    for (uint64_t i = 0; i < 5; ++i) {
      const std::string row = fmt::format("r{:05}", (n * 31 + i * 97) % 2000);
      entries[key_of(row, n * 10 + i)] = value_of(fmt::format("{} {}", n, i));
    }
    // The cell that every table has: the newest one has lost its value.
    std::string tombstone;
    append_tombstone(tombstone, kNoExpiry);
    entries[key_of("same", 1)] = n == kTables ? tombstone : value_of("alive");
    write(BlobId{n}, entries);
    sources.push_back({store_.get(), BlobId{n}});
    for (const auto& [key, value] : entries) all.try_emplace(key, value);
  }
  TableMerge merge(loop_.executor(), *store_, ids);
  TableWriterOptions format;
  format.table = TableId{1};
  format.run = 1;
  std::set<std::string> families;
  const auto merged = run(merge.run(std::move(sources), format, families));
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(families, std::set<std::string>{"f"});
  Entries found;
  size_t ranges = 0;
  for (const TableMeta& meta : *merged) {
    auto blob = run(store_->open(meta.blob));
    ASSERT_TRUE(blob);
    TableSalvage salvage(**blob);
    world_.block_on(loop_, salvage.open());
    found.merge(run(collect(salvage)));
    EXPECT_TRUE(salvage.damage().empty()) << salvage.damage();
    ranges += salvage.range_deletes().size();
  }
  EXPECT_EQ(found, all);
  EXPECT_EQ(ranges, 1u);
  // The sources and the intermediate tables are gone.
  EXPECT_EQ(run(store_->list())->size(), merged->size());
}

}  // namespace
}  // namespace cellar::engine
