// How an iterator finds the blocks of its table: IndexCursor, over a complete index or over its
// parts; PartWalk, over parts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/sstable/index_parts.h"
#include "engine/sstable/read_ahead.h"
#include "engine/sstable/table_reader.h"

namespace cellar::engine {

// PartWalk: the index parts that an iterator needs: the current one, and the next one if it is
// loaded.
//
// A part comes from earlier loads, from the cache, or from blocks that a read loaded ahead for
// later rows. Otherwise the iterator reports blocked and load() loads it. An iterator that walks
// into the next part has the following ones loaded while it processes data.
//
// A reader of a whole table bypasses the cache and holds kPartsAtOnce parts twice, 160 KiB.
class PartWalk {
 public:
  static constexpr size_t kPartsAtOnce = 8;  // for readers of the whole table
  static constexpr size_t kWalkParts = 2;    // for walking iterators

  struct Options {
    IoClass io_class = IoClass::read;
    CacheUse cache = CacheUse::keep;
    bool whole_table = false;
    BlockPrefetch* prefetch = nullptr;
  };
  // REQUIRES: the table has a top-level index and outlives this.
  PartWalk(TableReader& table, const Options& options) : table_(table), options_(options) {}
  PartWalk(const PartWalk&) = delete;
  PartWalk& operator=(const PartWalk&) = delete;

  // The part that names the data block is loaded.
  bool covers(size_t block) const { return here_.covers(block) || next_.covers(block); }
  // That part is the current one.
  bool stands_on(size_t block) const { return here_.covers(block); }
  // covers(), after a check whether the next part has been loaded meanwhile.
  bool reaches(size_t block);

  enum class Step : uint8_t { ready, absent, malformed };
  // Makes a part the current one; if the result is absent, load() loads it.
  Step stand_on(size_t part);
  // REQUIRES: the last stand_on() returned ready.
  const IndexPartition& part() const { return here_.part; }
  size_t first_block() const { return here_.first; }

  // REQUIRES: covers(block).
  BlockHandle handle(size_t block) const { return of(block).part.handle(block - of(block).first); }
  uint32_t raw_bytes(size_t block) const {
    return of(block).part.raw_bytes(block - of(block).first);
  }
  TimeBounds bounds(size_t block) const { return of(block).part.bounds(block - of(block).first); }
  // Valid until the next call.
  Bytes separator(size_t block);

  // REQUIRES: stand_on() returned absent; not destroyed or moved until the waiter was called.
  void load(BlockWaiter& waiter);
  // Call after the load: its error; empty if stand_on() should be tried again.
  std::optional<Error> arrive();

 private:
  struct Open {
    bool covers(size_t block) const { return block - first < part.blocks(); }
    size_t number = SIZE_MAX;
    size_t first = 0;  // first data block of the part
    BlockRef ref;
    IndexPartition part;
  };
  const Open& of(size_t block) const { return here_.covers(block) ? here_ : next_; }
  Step open(size_t number, Open& into);
  BlockRef find(size_t number);
  void look_ahead();
  std::vector<BlockHandle> run(size_t first, size_t most) const;

  TableReader& table_;
  const Options options_;
  Open here_;
  Open next_;
  size_t stood_on_ = SIZE_MAX;  // the last one
  bool walking_ = false;        // to the next part
  size_t wanted_ = 0;           // the absent part
  PendingBlock pending_;
  std::vector<BlockRef> loaded_;  // part number loaded_first_ and following
  size_t loaded_first_ = 0;
  AheadLoad::Ptr ahead_;
  std::string separator_;
};

// IndexCursor: an iterator's access to the index of its table: an index that is completely in
// memory, or its parts, one after the other. Blocks are numbered through the whole
// table in both cases. A block can be queried only if its part is loaded; a complete index always
// is.
class IndexCursor {
 public:
  // The table must outlive this.
  IndexCursor(TableReader& table, const PartWalk::Options& options) : marks_(table.marks()) {
    if (table.top_index() == nullptr) return;
    top_index_ = table.top_index();
    parts_ = std::make_unique<PartWalk>(table, options);
  }

  size_t blocks() const { return top_index_ == nullptr ? marks_.blocks() : top_index_->blocks(); }
  // Null: the index is complete and covers every block.
  PartWalk* parts() const { return parts_.get(); }
  bool covers(size_t block) const { return !parts_ || parts_->covers(block); }
  bool stands_on(size_t block) const { return !parts_ || parts_->stands_on(block); }
  bool reaches(size_t block) const { return !parts_ || parts_->reaches(block); }

  // REQUIRES: covers(block), also for the methods below.
  BlockHandle handle(size_t block) const {
    return parts_ ? parts_->handle(block) : marks_.handle(block);
  }
  uint32_t raw_bytes(size_t block) const {
    return parts_ ? parts_->raw_bytes(block) : marks_.raw_bytes(block);
  }
  TimeBounds bounds(size_t block) const {
    return parts_ ? parts_->bounds(block) : marks_.bounds(block);
  }
  // Valid until the next call.
  Bytes separator(size_t block) const {
    return parts_ ? parts_->separator(block) : marks_.separator(block);
  }

 private:
  const TableIndex& marks_;
  const TopLevelIndex* top_index_ = nullptr;
  std::unique_ptr<PartWalk> parts_;
};

}  // namespace cellar::engine
