// A shard with a blob store in memory, a cache, and helpers for tests of tables.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "engine/sstable/table_iterator.h"
#include "engine/sstable/table_writer.h"
#include "io/sim/sim_loop.h"
#include "tests/support/mem_blob_store.h"

namespace cellar::engine {

// Counts block_done(); load_all() starts every wanted load.
struct CountingWaiter final : BlockWaiter {
  size_t started = 0;
  size_t done = 0;
  void block_done() override { ++done; }
  bool idle() const { return started == done; }
  void load_all(EntryIterator& it) {
    std::vector<BlockWant*> wants;
    it.collect(wants);
    CHECK(!wants.empty(), "blocked, but nothing wanted");
    started += wants.size();
    for (BlockWant* want : wants) want->load(*this);
  }
};

class TableFixture {
 public:
  explicit TableFixture(size_t cache_bytes = 8u << 20)
      : loop(world.add_loop()),
        store(loop.executor()),
        cache(cache_bytes),
        loader(loop.executor(), cache) {}

  // Completes the read-ahead.
  ~TableFixture() { world.run_until_idle(); }

  // Writes a table of these entries under `options.blob`.
  TableMeta write(const std::map<std::string, std::string>& entries, TableWriterOptions options,
                  std::vector<RangeTombstone> ranges = {}) {
    auto out = world.block_on(loop, store.create(options.blob, 0, IoClass::flush));
    CHECK(out.has_value());
    TableWriter writer(std::move(options), std::move(*out));
    for (RangeTombstone& range : ranges) writer.add_range_delete(std::move(range));
    for (const auto& [key, value] : entries) {
      writer.add(key, value);
      if (writer.wants_flush()) CHECK(world.block_on(loop, writer.flush()).has_value());
    }
    auto meta = world.block_on(loop, writer.finish());
    CHECK(meta.has_value(), "{}", meta.error().to_string());
    return *meta;
  }

  Result<std::unique_ptr<TableReader>> try_open(BlobId id) {
    auto blob = world.block_on(loop, store.open(id));
    CHECK(blob.has_value());
    return world.block_on(loop, TableReader::open(std::move(*blob), loader));
  }
  std::unique_ptr<TableReader> open(BlobId id) {
    auto reader = try_open(id);
    CHECK(reader.has_value(), "{}", reader.error().to_string());
    return std::move(*reader);
  }

  // Runs the loop until the step is not blocked.
  Step finish(EntryIterator& it, Step step) {
    while (step == Step::blocked) {
      waiter.load_all(it);
      world.run_until_idle();
      CHECK(waiter.idle());
      step = it.resume();
    }
    return step;
  }

  SimWorld world;
  SimLoop& loop;
  MemBlobStore store;
  BlockCache cache;
  BlockLoader loader;
  CountingWaiter waiter;
};

inline constexpr BlobId kBlob{0x400001a};

inline TableWriterOptions small_blocks(uint32_t block_bytes = 256, BlobId blob = kBlob) {
  TableWriterOptions options;
  options.blob = blob;
  options.block_bytes = block_bytes;
  return options;
}

// A cell of column f:q.
inline std::pair<std::string, std::string> cell_of(Bytes row, int64_t timestamp_us = 1000,
                                                   uint64_t stamp = 1, Bytes value = "v") {
  std::pair<std::string, std::string> entry;
  append_cell(entry.first, row, "f", "q", timestamp_us, CommitStamp{stamp});
  append_cell_value(entry.second, value);
  return entry;
}

}  // namespace cellar::engine
