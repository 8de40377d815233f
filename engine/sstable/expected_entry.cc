#include "engine/sstable/expected_entry.h"

#include "engine/sstable/data_block.h"

namespace cellar::engine {

ExpectedEntry::ExpectedEntry(const TableReader& table, Bytes row_prefix, uint64_t hash)
    : table_(&table), row_prefix_(row_prefix), hash_(hash) {
  if (table.top_index() != nullptr || table.blocks() == 0) return;
  table.row_filter().expect(hash);
  at_ = At::filter;
}

bool ExpectedEntry::next() {
  switch (at_) {
    case At::filter:
      at_ = table_->row_filter().may_contain(hash_) ? At::index : At::end;
      if (at_ == At::index) table_->index().expect(row_prefix_);
      break;
    case At::index:
      block_no_ = table_->index().find(row_prefix_);
      table_->index().expect_handle(block_no_);
      table_->expect_slot(block_no_);
      at_ = At::slot;
      break;
    case At::slot:
      at_ = table_->expect_block(block_no_) ? At::block : At::end;
      break;
    case At::block:
      if (const BlockRef block = table_->peek_block(block_no_))
        expect_entry(block->contents(), block->heads(), row_prefix_);
      at_ = At::end;
      break;
    case At::end:
      break;
  }
  return at_ != At::end;
}

}  // namespace cellar::engine
