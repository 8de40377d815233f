// TabletTable: a table on disk as one tablet has it: its slice, and the tablet's name for the blob.
// Versions hold it. Condemned, because no manifest entry of this tablet names it any more, it gives
// its name back when the last of them is gone: then the blob goes, or the count of those that name
// it falls (obsolete_blobs.h).
#pragma once

#include <utility>

#include "engine/files/obsolete_blobs.h"
#include "engine/manifest/table_item.h"
#include "engine/sstable/table_slice.h"
#include "engine/version/open_tables.h"

namespace cellar::engine {

class TabletTable final : public ShardCounted<TabletTable> {
 public:
  TabletTable(TableItem item, Ref<OpenTable> table, ObsoleteBlobs& ends)
      : item_(std::move(item)),
        table_(std::move(table)),
        slice_(table_->reader(), item_.rows),
        ends_(ends),
        end_(item_.meta.blob) {}
  ~TabletTable() {
    table_.reset();
    if (!obsolete_) return;
    ends_.gone(*this);
    if (item_.shared) {
      ends_.release_shared(end_);
    } else {
      ends_.remove(end_);
    }
  }

  const TableItem& item() const { return item_; }
  const TableMeta& meta() const { return item_.meta; }
  BlobId blob() const { return item_.meta.blob; }
  const TableSlice& slice() const { return slice_; }
  const Ref<OpenTable>& table() const { return table_; }
  // Something of it was found to be damaged since it was opened: no merge tries it again before the
  // next start.
  bool is_damaged() const { return slice_.table().damage() != nullptr; }
  const Error* damage() const { return slice_.table().damage(); }
  // Another tablet is about to name the blob, and BlobRefCounts knows.
  void share() { item_.shared = true; }
  // Was of no version: nobody reads it.
  void mark_obsolete() { obsolete_ = true; }
  // Was of that tablet until now; who still reads it pins it.
  void mark_obsolete(TableId table, TabletId tablet, int64_t now_us) {
    obsolete_ = true;
    end_.table = table;
    end_.tablet = tablet;
    end_.bytes = item_.meta.file_bytes;
    end_.since_us = now_us;
    ends_.obsolete(*this, end_);
  }

 private:
  TableItem item_;
  Ref<OpenTable> table_;
  TableSlice slice_;
  ObsoleteBlobs& ends_;
  ObsoleteBlob end_;
  bool obsolete_ = false;
};

}  // namespace cellar::engine
