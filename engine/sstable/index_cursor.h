// IndexCursor: an iterator's access to the index of its table: an index that is completely in
// memory, or its parts, one after the other (part_walk.h). Blocks are numbered through the whole
// table in both cases. A block can be queried only if its part is loaded; a complete index always
// is.
#pragma once

#include <memory>
#include <optional>

#include "engine/sstable/part_walk.h"
#include "engine/sstable/table_reader.h"

namespace cellar::engine {

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
