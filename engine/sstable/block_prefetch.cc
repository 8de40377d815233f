#include "engine/sstable/block_prefetch.h"

#include <algorithm>

namespace cellar::engine {

void BlockPrefetch::Held::load(BlockWaiter& waiter) {
  const BlockHandle handle = table->index().handle(block_no);
  table->loader().start(table->blob(), std::span(&handle, 1), IoClass::read, CacheUse::keep, ticket,
                        waiter);
}

BlockPrefetch::Held* BlockPrefetch::find(const TableReader& table, size_t block_no) {
  const auto found = std::ranges::find_if(blocks_, [&](const std::unique_ptr<Held>& held) {
    return held->table == &table && held->block_no == block_no;
  });
  return found == blocks_.end() ? nullptr : found->get();
}

void BlockPrefetch::add(TableReader& table, size_t block_no, size_t place) {
  if (table.has_cached_block(block_no)) return;
  if (Held* held = find(table, block_no)) {
    held->place = std::max(held->place, place);
    return;
  }
  const size_t bytes = table.index().raw_bytes(block_no);
  full_ = full_ || blocks_.size() == kMaxBlocks || bytes_ + bytes > kMaxBytes;
  if (full_) return;
  blocks_.push_back(std::make_unique<Held>(table, block_no, place));
  bytes_ += bytes;
}

void BlockPrefetch::collect(std::vector<BlockWant*>& wants) {
  for (; collected_ < blocks_.size(); ++collected_) wants.push_back(blocks_[collected_].get());
}

void BlockPrefetch::drop_before(size_t place) {
  std::erase_if(blocks_, [place](const auto& held) { return held->place < place; });
  collected_ = blocks_.size();
  full_ = false;
  bytes_ = 0;
  for (const auto& held : blocks_) bytes_ += held->raw_bytes();
}

BlockRef BlockPrefetch::take(const TableReader& table, size_t block_no) {
  Held* held = find(table, block_no);
  if (held == nullptr || held->ticket.blocks.empty()) return {};
  BlockRef block = std::move(held->ticket.blocks.front());
  held->ticket.blocks.clear();
  return block;
}

}  // namespace cellar::engine
