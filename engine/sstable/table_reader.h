// TableReader: an open table. Range deletes and meta are in memory, verified, and so are index and
// filters; of a table with parts only their outline is. Data blocks and parts come through the
// shard's loader and cache. One shard.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/iter/range_delete.h"
#include "engine/sstable/block_loader.h"
#include "engine/sstable/counted_blob.h"
#include "engine/sstable/filter.h"
#include "engine/sstable/index_part.h"
#include "engine/sstable/row_probe.h"
#include "engine/sstable/table_index.h"
#include "engine/sstable/table_meta.h"
#include "engine/sstable/table_outline.h"
#include "engine/store/blob_store.h"
#include "io/loop/background.h"

namespace cellar::engine {

class TableReader {
 public:
  // What the first read of the tail takes; larger tails take further ones.
  static constexpr size_t kTailReadBytes = 64 * 1024;
  // Parts of the tail that are longer are read in pieces of that.
  static constexpr size_t kPieceBytes = 256 * 1024;

  // DATA_LOSS naming blob and offset when anything but the data blocks is damaged;
  // FAILED_PRECONDITION when the table is of a newer format. `loader` must outlive the reader. What
  // is long in a large table is done in slices of `work`, which has none at hand; without one, at
  // once.
  static Async<Result<std::unique_ptr<TableReader>>> open(std::unique_ptr<Blob> blob,
                                                          BlockLoader& loader,
                                                          Background::Work* work = nullptr);
  // In the place of a table that open() found damaged: who looks for anything between its first and
  // last key, of which `meta` tells, is answered `damage`. Its range deletes are not known.
  static std::unique_ptr<TableReader> lost(std::unique_ptr<Blob> blob, BlockLoader& loader,
                                           TableMeta meta, Error damage);
  ~TableReader();  // REQUIRES: no iterator on it, no load of it under way but AheadLoads
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  BlobId id() const { return (*blob_)->id(); }
  const TableMeta& meta() const { return meta_; }  // file_bytes set
  const TableFooter& footer() const { return footer_; }
  const std::vector<StampedRange>& range_deletes() const { return ranges_; }

  // Keys of the table in order, and where their data lies, as far as is known without reading: its
  // data blocks, or its parts as if they were blocks.
  const TableIndex& marks() const { return index_; }
  // Null: the index of all data blocks is in memory, and the marks are it.
  const TableOutline* outline() const { return outline_.get(); }
  const TableIndex& index() const;  // REQUIRES: no outline
  size_t blocks() const { return outline_ ? outline_->blocks() : index_.blocks(); }
  // Of the largest data block, unpacked; 0 when there are none.
  uint32_t most_raw_bytes() const {
    return outline_ ? outline_->most_raw_bytes() : index_.most_raw_bytes();
  }

  // False only when the row is not here. `hash` is row_hash() of its prefix. Says nothing about
  // range deletes. Of a table with parts it is true of nearly all rows: only those of the outline's
  // sample are known by their hash.
  bool may_contain_row(uint64_t hash) const {
    return outline_ ? outline_->may_contain_row(hash) : filter_.may_contain(hash);
  }
  // False only when no entry that matters to the read is here. Likewise; true where that is said by
  // a part which is not in memory.
  bool may_contain(const RowProbe& probe) {
    if (outline_) return part_may_contain(probe);
    return filter_.may_contain(probe.hash()) &&
           (!probe.has_columns() || may_contain_columns(probe));
  }
  // The same by a part, of entries in its blocks and in those behind it.
  bool may_contain(const RowProbe& probe, const IndexPart& part, size_t number) const;
  // Index, filter and the rest; charged to the cache's budget while the reader lives.
  size_t memory_bytes() const { return memory_bytes_; }

  // Data block i, which lies at `offset`, if it is cached.
  BlockRef cached_block(size_t i, uint64_t offset) {
    if (outline_) return loader_.cache().find({id(), offset});
    if (BlockRef block = loader_.cache().find(slots_[i])) return block;
    return loader_.cache().find({id(), offset}, slots_[i]);
  }
  // Data block i is cached, and so is the part that names it. Does not count as asked for.
  bool has_cached_block(size_t i) const;
  // What lies at `offset` is cached. Does not count as asked for.
  bool has_cached(uint64_t offset) const { return loader_.cache().contains({id(), offset}); }
  // REQUIRES: an outline, and a part of it. What came from where a part lies may still be none:
  // open_part() answers false then.
  BlockRef cached_part(size_t number) {
    BlockSlot& slot = outline_->slot(number);
    if (BlockRef block = loader_.cache().find(slot)) return block;
    return loader_.cache().find({id(), outline_->handle(number).offset}, slot);
  }
  bool open_part(const BlockRef& block, size_t number, IndexPart& into) const;

  bool is_lost() const { return lost_; }
  // The first damage that was met while its blocks were read; null: none.
  const Error* damage() const { return damage_ ? &*damage_ : nullptr; }
  void note_damage(const Error& error) {
    if (!damage_ && error.code == Errc::data_loss) damage_ = error;
  }
  Blob& blob() { return **blob_; }
  // For reads that may outlast the table.
  CountedBlob::Ref share_blob() const { return blob_; }
  BlockLoader& loader() { return loader_; }

 private:
  TableReader(std::unique_ptr<Blob> blob, BlockLoader& loader)
      : blob_(new CountedBlob(std::move(blob))), loader_(loader) {}
  // Of the tail, the last bytes of the blob.
  struct Part;
  Async<Result<void>> load(Bytes tail, uint64_t tail_offset, Background::Work* work);
  Async<Result<void>> read(Part& part, Bytes tail, uint64_t tail_offset, Background::Work* work);
  Async<Result<void>> load_index(Bytes contents, uint64_t data_end, Background::Work* work);
  Async<Result<void>> load_outline(Bytes contents, Background::Work* work);
  Async<Result<void>> load_filter(const BlockHandle& handle, Filter& into, Bytes tail,
                                  uint64_t tail_offset, Background::Work* work);
  Async<Result<void>> load_dictionary(Bytes tail, uint64_t tail_offset);
  uint64_t data_end() const;
  bool may_contain_columns(const RowProbe& probe) const;
  template <class Known>
  bool may_contain_columns(const RowProbe& probe, Known known) const;
  bool part_may_contain(const RowProbe& probe);

  CountedBlob::Ref blob_;
  BlockLoader& loader_;
  TableFooter footer_;
  TableMeta meta_;
  TableIndex index_;  // of data blocks, or of parts
  std::unique_ptr<TableOutline> outline_;
  Filter filter_;
  Filter columns_;  // what the meta says where it is
  std::vector<StampedRange> ranges_;
  std::unique_ptr<BlockSlot[]> slots_;  // one a data block, if there is no outline
  size_t memory_bytes_ = 0;
  size_t dictionary_bytes_ = 0;  // that the loader holds
  std::optional<Error> damage_;
  bool lost_ = false;
};

// `size` bytes of a blob, awaited.
Async<Result<std::string>> read_blob(Blob& blob, uint64_t offset, size_t size, IoClass io_class);

}  // namespace cellar::engine
