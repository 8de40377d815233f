// IndexCursor: where an iterator looks up the data blocks of its table: in an index that is in
// memory as a whole, or in its parts, one after the other (part_walk.h). Blocks are numbered
// through the whole table either way. What is asked about a block has to be at hand; a whole index
// always is.
#pragma once

#include <memory>
#include <optional>

#include "engine/sstable/part_walk.h"
#include "engine/sstable/table_reader.h"

namespace cellar::engine {

class IndexCursor {
 public:
  // The table outlives this.
  IndexCursor(TableReader& table, const PartWalk::Options& options) : marks_(table.marks()) {
    if (table.outline() == nullptr) return;
    outline_ = table.outline();
    parts_ = std::make_unique<PartWalk>(table, options);
  }

  size_t blocks() const { return outline_ == nullptr ? marks_.blocks() : outline_->blocks(); }
  // Null: the index is whole, and covers every block.
  PartWalk* parts() const { return parts_.get(); }
  bool covers(size_t block) const { return !parts_ || parts_->covers(block); }
  bool stands_on(size_t block) const { return !parts_ || parts_->stands_on(block); }
  bool reaches(size_t block) const { return !parts_ || parts_->reaches(block); }

  // REQUIRES: covers(block), here and below.
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
  const TableOutline* outline_ = nullptr;
  std::unique_ptr<PartWalk> parts_;
};

}  // namespace cellar::engine
