// TableReader: an open table. Range deletes, metadata, index and filters are verified and in
// memory; of a table with parts only the top-level index is. Data blocks and parts come through the
// shard's loader and cache. One shard.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/iter/range_delete.h"
#include "engine/sstable/block_loader.h"
#include "engine/sstable/filter.h"
#include "engine/sstable/index_parts.h"
#include "engine/sstable/table_index.h"
#include "engine/sstable/table_meta.h"
#include "engine/sstable/wanted_entries.h"
#include "engine/store/blob_store.h"
#include "io/loop/background.h"

namespace cellar::engine {

class TableReader {
 public:
  // Size of the first read of the tail; larger tails need further reads.
  static constexpr size_t kTailReadBytes = 64 * 1024;
  // Of the beginning of a block, loaded by expect_walk().
  static constexpr size_t kWalkBytes = 8 * 1024;
  // Read size for longer parts of the tail.
  static constexpr size_t kPieceBytes = 256 * 1024;

  // DATA_LOSS with blob and offset if anything except the data blocks is damaged;
  // FAILED_PRECONDITION if the table has another format. `loader` must outlive the reader. Long
  // steps yield through `work` (no slice may be active); null: run to completion.
  static Async<Result<std::unique_ptr<TableReader>>> open(std::unique_ptr<Blob> blob,
                                                          BlockLoader& loader,
                                                          Background::Work* work = nullptr);
  // A replacement for a table that open() found damaged: reads between its first and last key,
  // taken from `meta`, get the error `damage`. Its range deletes are unknown.
  static std::unique_ptr<TableReader> lost(std::unique_ptr<Blob> blob, BlockLoader& loader,
                                           TableMeta meta, Error damage);
  ~TableReader();  // REQUIRES: no iterator, and no load in progress except AheadLoads
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  BlobId id() const { return (*blob_)->id(); }
  const TableMeta& meta() const { return meta_; }  // file_bytes set
  const TableFooter& footer() const { return footer_; }
  const std::vector<RangeTombstone>& range_deletes() const { return ranges_; }

  // Keys of the table in order with the position of their data, as known without reading: its data
  // blocks, or its parts in place of blocks.
  const TableIndex& marks() const { return index_; }
  // Null: marks() is the index of all data blocks.
  const TopLevelIndex* top_index() const { return top_index_.get(); }
  const TableIndex& index() const;  // REQUIRES: no top-level index
  size_t blocks() const { return top_index_ ? top_index_->blocks() : index_.blocks(); }
  // Uncompressed size of the largest data block; 0 if there are none.
  uint32_t most_raw_bytes() const {
    return top_index_ ? top_index_->most_raw_bytes() : index_.most_raw_bytes();
  }

  // False only if the row is not in the table. `hash` is row_hash() of its prefix. Range deletes
  // are not considered. For a table with parts it is true for nearly all rows: only the rows of the
  // top-level index's sample are known.
  bool may_contain_row(uint64_t hash) const {
    return top_index_ ? top_index_->may_contain_row(hash) : filter_.may_contain(hash);
  }
  // False only if the table has no entry relevant to the probe. True if the part that would tell is
  // not in memory.
  bool may_contain(const RowProbe& probe) {
    if (top_index_) return part_may_contain(probe);
    return filter_.may_contain(probe.hash()) &&
           (!probe.has_columns() || may_contain_columns(probe));
  }
  // The same by a part, for entries in its blocks and after them.
  bool may_contain(const RowProbe& probe, const IndexPartition& part, size_t number) const;
  // Of whole rows; unopened in a table that has none, or has a top-level index.
  const Filter& row_filter() const { return filter_; }

  // A walk reads data block i soon, and then perhaps the next one: loads the beginning and the end
  // of block i and the header of the next one into the processor's cache, if their slots have them.
  // An index in parts has no slots.
  void expect_walk(size_t i) const;

  // ---- for ExpectedEntry; REQUIRES: no top-level index ----
  void expect_slot(size_t i) const { __builtin_prefetch(&slots_[i]); }
  // False: the block is not known to be cached unpacked.
  bool expect_block(size_t i) const { return BlockCache::expect(slots_[i]); }
  // Does not count as a request.
  BlockRef peek_block(size_t i) const { return slots_[i].peek(); }

  // Memory of index, filter and so on; charged to the cache's budget while the reader lives.
  size_t memory_bytes() const { return memory_bytes_; }

  // Data block i, at `offset`, if it is cached.
  BlockRef cached_block(size_t i, uint64_t offset) {
    if (top_index_) return loader_.cache().find({id(), offset});
    if (BlockRef block = loader_.cache().find(slots_[i])) return block;
    return loader_.cache().find({id(), offset}, slots_[i]);
  }
  // Whether data block i and the part that names it are cached. Does not count as a request.
  bool has_cached_block(size_t i) const;
  // Whether the block at `offset` is cached. Does not count as a request.
  bool has_cached(uint64_t offset) const { return loader_.cache().contains({id(), offset}); }
  // REQUIRES: a top-level index with that part. The block may still be invalid: open_part() then
  // returns false.
  BlockRef cached_part(size_t number) {
    BlockSlot& slot = top_index_->slot(number);
    if (BlockRef block = loader_.cache().find(slot)) return block;
    return loader_.cache().find({id(), top_index_->handle(number).offset}, slot);
  }
  bool open_part(const BlockRef& block, size_t number, IndexPartition& into) const;

  bool is_lost() const { return lost_; }
  // The first damage found while reading its blocks; null: none.
  const Error* damage() const { return damage_ ? &*damage_ : nullptr; }
  void note_damage(const Error& error) {
    if (!damage_ && error.code == Errc::data_loss) damage_ = error;
  }
  // Index, filters or other parts that are in memory here are damaged on the device: reads succeed,
  // a merge saves the rows, the next start would lose the table.
  bool tail_is_damaged() const { return tail_is_damaged_; }
  void note_tail_damage() { tail_is_damaged_ = true; }
  // The section of an index is damaged on the device: reads of rows do not meet it, and a merge
  // makes it again from the cells.
  bool sections_are_damaged() const { return sections_are_damaged_; }
  void note_section_damage() { sections_are_damaged_ = true; }
  Blob& blob() { return **blob_; }
  // For reads that may outlive the table.
  CountedBlob::Ref share_blob() const { return blob_; }
  BlockLoader& loader() { return loader_; }

 private:
  TableReader(std::unique_ptr<Blob> blob, BlockLoader& loader)
      : blob_(new CountedBlob(std::move(blob))), loader_(loader) {}
  // A block of the tail, the last bytes of the blob.
  struct Part;
  Async<Result<void>> load(Bytes tail, uint64_t tail_offset, Background::Work* work);
  Async<Result<void>> read(Part& part, Bytes tail, uint64_t tail_offset, Background::Work* work);
  Async<Result<void>> load_index(Bytes contents, uint64_t data_end, Background::Work* work);
  Async<Result<void>> load_top_index(Bytes contents, Background::Work* work);
  Async<Result<void>> load_filter(const BlockHandle& handle, Filter& into, Bytes tail,
                                  uint64_t tail_offset, Background::Work* work);
  Async<Result<void>> load_dictionary(Bytes tail, uint64_t tail_offset);
  uint64_t data_end() const;
  Result<void> check_sections() const;
  bool may_contain_columns(const RowProbe& probe) const;
  template <class Known>
  bool may_contain_columns(const RowProbe& probe, Known known) const;
  bool part_may_contain(const RowProbe& probe);

  CountedBlob::Ref blob_;
  BlockLoader& loader_;
  TableFooter footer_;
  TableMeta meta_;
  TableIndex index_;  // of data blocks or of parts
  std::unique_ptr<TopLevelIndex> top_index_;
  Filter filter_;
  Filter columns_;  // empty unless the meta has a handle for it
  std::vector<RangeTombstone> ranges_;
  std::unique_ptr<BlockSlot[]> slots_;  // one per data block, if there is no top-level index
  size_t memory_bytes_ = 0;
  size_t dictionary_bytes_ = 0;  // held by the loader
  std::optional<Error> damage_;
  bool lost_ = false;
  bool tail_is_damaged_ = false;
  bool sections_are_damaged_ = false;
};

// Reads `size` bytes of a blob.
Async<Result<std::string>> read_blob(Blob& blob, uint64_t offset, size_t size, IoClass io_class);

}  // namespace cellar::engine
