// TableIterator: the entries of one table, in order, through the cache.
//
// A move walks from block to block; when a block is not in memory it stops there (blocked) and
// resume() goes on from the same place: `goal_` says what is looked for in block `block_no_`. The
// current block is pinned, so key() and value() are views into it and into the key buffer.
//
// Reading ahead: a want that comes from walking forward takes the following blocks along in the
// same device read, twice as many each time, up to the options' bound. They are held here until
// they are reached, cached or not. From kOverlapBytes on the next read is started as soon as one
// has come, so that the device works while entries are looked at: at most two reads' worth is held
// or on its way. A seek that leaves what was read begins anew, with one block.
//
// Of a table whose index is in parts the move first needs the part that names its block, and is
// blocked for that, too: a seek is `unplaced_` until the part says which block it is for. Parts
// that lie outside of what is wanted are passed over, unread.
#pragma once

#include <vector>

#include "engine/iter/entry_iterator.h"
#include "engine/sstable/ahead_load.h"
#include "engine/sstable/block_prefetch.h"
#include "engine/sstable/block_reader.h"
#include "engine/sstable/index_cursor.h"
#include "engine/sstable/read_window.h"
#include "engine/sstable/table_reader.h"
#include "engine/sstable/wanted_times.h"

namespace cellar::engine {

struct TableIteratorOptions {
  IoClass io_class = IoClass::read;
  CacheUse cache = CacheUse::keep;
  // At most this many stored bytes in one device read, unless one block is larger.
  size_t read_ahead_bytes = 128 * 1024;
  // The first device read is as large as that already: for those who will read it all.
  bool whole_table = false;
  // What is wanted for now, and where blocks may be that were loaded ahead; null: everything,
  // nowhere. They outlive the iterator.
  ReadWindow* window = nullptr;
  BlockPrefetch* prefetch = nullptr;
  // Blocks of which nothing has such a time are passed over, unread.
  WantedTimes times = {};
  // For one search rather than a walk: makes the heads of blocks that it finds cached.
  bool one_search = false;
  // Of a read of one row, what a part that had to be loaded is asked; null: nothing. Outlives it.
  const RowProbe* probe = nullptr;

  static TableIteratorOptions for_compaction() {
    return {.io_class = IoClass::compaction,
            .cache = CacheUse::pass,
            .read_ahead_bytes = 512 * 1024,
            .whole_table = true};
  }
};

// REQUIRES: the reader outlives it; not destroyed, nor sought anew, between the start of a want's
// load and its block_done().
class TableIterator final : public EntryIterator, private BlockWant {
 public:
  // The first read ahead is of so many stored bytes.
  static constexpr size_t kFirstAheadBytes = 16 * 1024;
  // Reads ahead of so many and more overlap.
  static constexpr size_t kOverlapBytes = 32 * 1024;
  // Blocks read ahead unpack to at most so many times the bound of a read.
  static constexpr size_t kMaxUnpackedRatio = 4;

  explicit TableIterator(TableReader& table, TableIteratorOptions options = {});

  Step seek(Bytes key) override;
  Step seek_before(Bytes key) override;
  Step next() override {
    const BlockReader::Move move = cursor_.next();
    return move == BlockReader::Move::ready ? Step::ready : leave_block(move);
  }
  Step resume() override;
  void collect(std::vector<BlockWant*>& wants) override;
  Bytes key() const override { return cursor_.key(); }
  Bytes value() const override { return cursor_.value(); }
  const Error& error() const override { return *error_; }

 private:
  enum class Goal : uint8_t { at_or_after, before, first };

  void load(BlockWaiter& waiter) override;
  Step leave_block(BlockReader::Move move);
  Step walk();
  // True when block_no_ is under the cursor; else *stopped is blocked or failed.
  bool stand_on_block(Step* stopped);
  BlockRef take_ahead();
  bool nothing_wanted(Bytes key) const;
  Step leave_window();
  // True when the part that names block_no_ is at hand, and that number is known; else *stopped.
  bool stand_on_part(Step* stopped);
  bool pass_over_part(size_t part);
  bool place(Step* stopped);
  // Everything in this block lies behind what is wanted.
  bool is_behind_window(size_t block_no) const {
    return options_.window != nullptr && options_.window->ends_before(index_.separator(block_no));
  }
  bool is_passed_over(size_t block_no) const {
    return !options_.times.everything() && options_.times.excludes(index_.bounds(block_no));
  }
  // To the next block that the move looks into; false when there is none.
  bool pass_over();
  Step damaged() { return damaged(index_.handle(block_no_).offset); }
  Step damaged(uint64_t offset);
  void begin_seek(size_t mark);
  void drop_ahead_unless_near();
  bool covers_ahead(size_t block) const;
  // What was read ahead has come: it is at hand, and the read after it starts.
  void arrive();
  void overlap(size_t next_block);
  void grow_ahead();
  // `run_` becomes what the next device read takes, from `block` on: one block at least.
  void plan_run(size_t block);

  TableReader* table_;
  TableIteratorOptions options_;
  IndexCursor index_;
  BlockReader cursor_;
  BlockRef block_;                // under the cursor
  size_t open_block_ = SIZE_MAX;  // its number
  size_t block_no_ = 0;           // where the move is
  Goal goal_ = Goal::first;
  KeyBuffer target_;       // of a seek that is not finished
  size_t part_no_ = 0;     // of a seek, where the index is in parts
  bool unplaced_ = false;  // block_no_ is not known yet: what part_no_ says of target_
  bool blocked_ = false;
  bool wants_part_ = false;  // what it is blocked for
  bool walked_ = false;      // the block wanted follows one that was read to its end
  size_t ahead_bytes_ = 0;

  BlockTicket ticket_;
  std::vector<BlockRef> ahead_;  // loaded, not reached yet: blocks ahead_no_ and following
  size_t ahead_no_ = 0;
  AheadLoad::Ptr next_;  // of the blocks behind those
  std::vector<BlockHandle> run_;
  std::optional<Error> error_;
};

}  // namespace cellar::engine
