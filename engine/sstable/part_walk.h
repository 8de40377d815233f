// PartWalk: the parts of a table's index that an iterator needs, as it goes: the one under it, and
// the next one where that is at hand.
//
// A part is taken from what was loaded, from the cache, or from what a read loaded ahead for its
// later rows. Where it is in none of them the iterator says that it is blocked, and load() brings
// it; who walks on into the next part has those behind it loaded while it is busy with the data.
//
// Who reads a whole table passes the cache by and holds kPartsAtOnce parts twice, 160 KiB.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/sstable/ahead_load.h"
#include "engine/sstable/block_prefetch.h"
#include "engine/sstable/index_part.h"
#include "engine/sstable/table_reader.h"

namespace cellar::engine {

class PartWalk {
 public:
  static constexpr size_t kPartsAtOnce = 8;  // for those who will read it all
  static constexpr size_t kWalkParts = 2;    // for those who walk on

  struct Options {
    IoClass io_class = IoClass::read;
    CacheUse cache = CacheUse::keep;
    bool whole_table = false;
    BlockPrefetch* prefetch = nullptr;
  };
  // REQUIRES: the table has an outline and outlives this.
  PartWalk(TableReader& table, const Options& options) : table_(table), options_(options) {}
  PartWalk(const PartWalk&) = delete;
  PartWalk& operator=(const PartWalk&) = delete;

  // The data block is named by a part that is at hand.
  bool covers(size_t block) const { return here_.covers(block) || next_.covers(block); }
  // And that part is the one under the iterator.
  bool stands_on(size_t block) const { return here_.covers(block); }
  // covers(), after a look whether the next part has come meanwhile.
  bool reaches(size_t block);

  enum class Step : uint8_t { ready, absent, malformed };
  // To a part; it is under the iterator then, unless it is absent: load() brings it.
  Step stand_on(size_t part);
  // REQUIRES: stand_on() was ready.
  const IndexPart& part() const { return here_.part; }
  size_t first_block() const { return here_.first; }

  // REQUIRES: covers(block).
  BlockHandle handle(size_t block) const { return of(block).part.handle(block - of(block).first); }
  uint32_t raw_bytes(size_t block) const {
    return of(block).part.raw_bytes(block - of(block).first);
  }
  TimeBounds bounds(size_t block) const { return of(block).part.bounds(block - of(block).first); }
  // Valid until the next call.
  Bytes separator(size_t block);

  // REQUIRES: stand_on() answered absent; not destroyed, nor moved, until the waiter was told.
  void load(BlockWaiter& waiter);
  bool is_loading() const { return ticket_.under_way; }
  // After that: why there is none; nothing when it is worth another stand_on().
  std::optional<Error> arrive();

 private:
  struct Open {
    bool covers(size_t block) const { return block - first < part.blocks(); }
    size_t number = SIZE_MAX;
    size_t first = 0;  // data block of the table
    BlockRef ref;
    IndexPart part;
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
  size_t stood_on_ = SIZE_MAX;  // last
  bool walking_ = false;        // to the part behind that
  size_t wanted_ = 0;           // absent
  BlockTicket ticket_;
  std::vector<BlockRef> loaded_;  // parts loaded_first_ and following
  size_t loaded_first_ = 0;
  AheadLoad::Ptr ahead_;
  std::string separator_;
};

}  // namespace cellar::engine
