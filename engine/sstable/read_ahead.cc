#include "engine/sstable/read_ahead.h"

#include <algorithm>

namespace cellar::engine {

void BlockPrefetch::Held::load(BlockWaiter& waiter) {
  table->loader().start(table->blob(), std::span(&handle, 1), IoClass::read, CacheUse::keep,
                        pending, waiter);
}

BlockPrefetch::Held* BlockPrefetch::find(const TableReader& table, uint64_t offset) const {
  const auto found = std::ranges::find_if(blocks_, [&](const std::unique_ptr<Held>& held) {
    return held->table == &table && held->handle.offset == offset;
  });
  return found == blocks_.end() ? nullptr : found->get();
}

void BlockPrefetch::add(TableReader& table, const BlockHandle& handle, uint32_t raw_bytes,
                        size_t place) {
  if (table.has_cached(handle.offset)) return;
  if (Held* held = find(table, handle.offset)) {
    held->place = std::max(held->place, place);
    return;
  }
  full_ = full_ || blocks_.size() == kMaxBlocks || bytes_ + raw_bytes > kMaxBytes;
  if (full_) return;
  blocks_.push_back(std::make_unique<Held>(table, handle, raw_bytes, place));
  bytes_ += raw_bytes;
}

void BlockPrefetch::collect(std::vector<BlockRequest*>& requests) {
  for (; collected_ < blocks_.size(); ++collected_) requests.push_back(blocks_[collected_].get());
}

void BlockPrefetch::drop_before(size_t place) {
  std::erase_if(blocks_, [place](const auto& held) { return held->place < place; });
  collected_ = blocks_.size();
  full_ = false;
  bytes_ = 0;
  for (const auto& held : blocks_) bytes_ += held->raw_bytes;
}

BlockRef BlockPrefetch::take(const TableReader& table, uint64_t offset) {
  Held* held = find(table, offset);
  if (held == nullptr || held->pending.blocks.empty()) return {};
  BlockRef block = std::move(held->pending.blocks.front());
  held->pending.blocks.clear();
  return block;
}

BlockRef BlockPrefetch::peek(const TableReader& table, uint64_t offset) const {
  const Held* held = find(table, offset);
  return held == nullptr || held->pending.blocks.empty() ? BlockRef()
                                                         : held->pending.blocks.front();
}

}  // namespace cellar::engine
