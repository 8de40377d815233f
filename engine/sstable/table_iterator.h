// TableIterator: the entries of one table, in order, through the cache.
//
// A move walks from block to block; if a block is not in memory it stops there (blocked) and
// resume() continues from the same place: `goal_` is the target in block `block_no_`. The current
// block is pinned, so key() and value() are views into it and into the key buffer.
//
// Read-ahead: a forward walk that needs a block loads the following ones in the same device read,
// twice as many each time, up to the options' limit. They are held here until they are reached,
// cached or not. From kOverlapBytes on the next read starts as soon as one has completed, so that
// the device works while entries are processed: at most two reads' worth is held or in flight. A
// seek outside the loaded blocks starts again with one block.
//
// If the index is in parts, a move first needs the part that names its block, and may be blocked
// for that too: a seek is `unplaced_` until the part determines its block. Parts outside the wanted
// range are skipped unread.
#pragma once

#include <vector>

#include "engine/iter/entry_iterator.h"
#include "engine/sstable/data_block.h"
#include "engine/sstable/index_cursor.h"
#include "engine/sstable/read_ahead.h"
#include "engine/sstable/table_reader.h"
#include "engine/sstable/wanted_entries.h"

namespace cellar::engine {

struct TableIteratorOptions {
  IoClass io_class = IoClass::read;
  CacheUse cache = CacheUse::keep;
  // Maximum stored bytes of one device read, unless one block is larger.
  size_t read_ahead_bytes = 128 * 1024;
  // For readers of the whole table: the first device read has the maximum size already.
  bool whole_table = false;
  // The wanted range, and blocks loaded ahead; null: everything, none. They must outlive the
  // iterator.
  ReadWindow* window = nullptr;
  BlockPrefetch* prefetch = nullptr;
  // Blocks without any such time are skipped unread.
  WantedTimes times = {};
  // For a single search instead of a walk: makes heads of blocks found cached.
  bool one_search = false;
  // For a read of one row: the query to a newly loaded part; null: none. Must outlive the iterator.
  const RowProbe* probe = nullptr;

  static TableIteratorOptions for_compaction() {
    return {.io_class = IoClass::compaction,
            .cache = CacheUse::pass,
            .read_ahead_bytes = 512 * 1024,
            .whole_table = true};
  }
};

// REQUIRES: the reader outlives it; not destroyed or moved by a seek between the start of a
// request's load and its block_done().
class TableIterator final : public EntryIterator, private BlockRequest {
 public:
  // Stored bytes of the first read-ahead.
  static constexpr size_t kFirstAheadBytes = 16 * 1024;
  // Read-ahead of at least this size overlaps.
  static constexpr size_t kOverlapBytes = 32 * 1024;
  // Read-ahead blocks unpack to at most this multiple of a read's limit.
  static constexpr size_t kMaxUnpackedRatio = 4;

  explicit TableIterator(TableReader& table, TableIteratorOptions options = {});

  Step seek(Bytes key) override;
  Step seek_before(Bytes key) override;
  Step next() override {
    const BlockReader::Move move = cursor_.next();
    return move == BlockReader::Move::ready ? Step::ready : leave_block(move);
  }
  Step resume() override;
  void collect(std::vector<BlockRequest*>& requests) override;
  Bytes key() const override { return cursor_.key(); }
  Bytes value() const override { return cursor_.value(); }
  const Error& error() const override { return *error_; }

 private:
  enum class Goal : uint8_t { at_or_after, before, first };

  void load(BlockWaiter& waiter) override;
  Step leave_block(BlockReader::Move move);
  Step walk();
  // True if block_no_ is under the cursor; otherwise *stopped is blocked or failed.
  bool stand_on_block(Step* stopped);
  void expect_next_block();
  BlockRef take_ahead();
  bool nothing_wanted(Bytes key) const;
  Step leave_window();
  // True if the part that names block_no_ is loaded and the number is known; otherwise *stopped is
  // set.
  bool stand_on_part(Step* stopped);
  bool pass_over_part(size_t part);
  bool place(Step* stopped);
  // Everything in this block is after the wanted range.
  bool is_behind_window(size_t block_no) const {
    return options_.window != nullptr && options_.window->ends_before(index_.separator(block_no));
  }
  bool is_passed_over(size_t block_no) const {
    return !options_.times.everything() && options_.times.excludes(index_.bounds(block_no));
  }
  // Moves to the next block that the move reads; false if there is none.
  bool pass_over();
  Step damaged() { return damaged(index_.handle(block_no_).offset); }
  Step damaged(uint64_t offset);
  void begin_seek(size_t mark);
  void drop_ahead_unless_near();
  bool covers_ahead(size_t block) const;
  // A read-ahead has completed: takes its blocks and starts the next one.
  void arrive();
  void overlap(size_t next_block);
  void grow_ahead();
  // Sets `run_` to the blocks of the next device read, starting at `block`: at least one.
  void plan_run(size_t block);

  TableReader* table_;
  TableIteratorOptions options_;
  IndexCursor index_;
  BlockReader cursor_;
  BlockRef block_;                // under the cursor
  size_t open_block_ = SIZE_MAX;  // its number
  size_t block_no_ = 0;           // position of the move
  Goal goal_ = Goal::first;
  KeyBuffer target_;       // of an unfinished seek
  size_t part_no_ = 0;     // for a seek, if the index is in parts
  bool unplaced_ = false;  // block_no_ is unknown until part_no_ has been searched for target_
  bool blocked_ = false;
  bool wants_part_ = false;  // the missing block is a part
  bool walked_ = false;      // the wanted block follows one that was read to its end
  size_t ahead_bytes_ = 0;

  PendingBlock pending_;
  std::vector<BlockRef> ahead_;  // loaded, not yet reached: blocks ahead_no_ and following
  size_t ahead_no_ = 0;
  AheadLoad::Ptr next_;  // the blocks after those
  std::vector<BlockHandle> run_;
  std::optional<Error> error_;
};

}  // namespace cellar::engine
