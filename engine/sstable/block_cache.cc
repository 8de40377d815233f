#include "engine/sstable/block_cache.h"

#include <absl/hash/hash.h>

#include <algorithm>

#include "io/base/check.h"

namespace cellar::engine {
namespace {

constexpr size_t kSmallShare = 10;      // share of the small queue: one in this many
constexpr size_t kLeastBlockShare = 8;  // charges leave blocks at least one in this many
constexpr size_t kMinGhosts = 1024;
// an unpacking moves the bound by a block's bytes divided by this
constexpr size_t kBoundStep = 10;

}  // namespace

BlockSlot::~BlockSlot() {
  if (block_ != nullptr) block_->slot_ = nullptr;
}

BlockCache::~BlockCache() {
  for (Queue* queue : {&small_, &main_}) {
    while (!queue->list.empty()) {
      CacheEntry& entry = queue->list.back();
      leave(entry);
      drop(entry);
    }
  }
}

size_t BlockCache::footprint(const CacheEntry& entry) {
  return entry.is_packed()
             ? sizeof(PackedBlock) + static_cast<const PackedBlock&>(entry).packed_bytes()
             : footprint(static_cast<const Block&>(entry).size());
}

BlockRef BlockCache::find(const BlockKey& key) {
  const auto it = entries_.find(key);
  if (it == entries_.end()) {
    ++stats_.misses;
    return {};
  }
  CacheEntry& entry = *it->second;
  if (entry.is_packed()) return found_packed(static_cast<PackedBlock&>(entry));
  return found(static_cast<Block&>(entry));
}

BlockRef BlockCache::find(const BlockKey& key, BlockSlot& slot) {
  if (BlockRef remembered = find(slot)) return remembered;
  BlockRef block = find(key);
  if (block && block->is_cached() && block.get()->slot_ == nullptr) {
    slot.block_ = block.get();
    block.get()->slot_ = &slot;
  }
  return block;
}

BlockRef BlockCache::found_packed(PackedBlock& packed) {
  BlockRef block = packed.unpack();
  if (!block) {
    ++stats_.spoilt;
    ++stats_.misses;
    leave(packed);
    drop(packed);
    return {};
  }
  ++stats_.hits;
  ++stats_.packed_hits;
  if (packed.asked_ < kMaxAsked) ++packed.asked_;
  if (may_unpack(packed)) keep_unpacked(packed, *block.get());
  return block;
}

// Whether it may be kept unpacked.
bool BlockCache::may_unpack(const PackedBlock& packed) {
  const size_t unpacked = footprint(packed.raw_bytes());
  if (bytes() - footprint(packed) + unpacked <= room()) return true;
  if (packed.asked_ < kMaxAsked) return false;
  unpacked_bound_ = std::min(room(), unpacked_bound_ + unpacked / kBoundStep);
  return unpacked_bytes_ + unpacked <= unpacked_bound_;
}

void BlockCache::keep_unpacked(PackedBlock& packed, Block& block) {
  ++stats_.unpacked;
  block.in_main_ = packed.in_main_;
  block.asked_ = packed.asked_;
  Queue& queue = queue_of(packed);
  const auto behind = std::next(queue.list.iterator_to(packed));
  leave(packed);
  enter(block, behind);
  entries_[block.key()] = &block;
  ++block.refs_;  // the cache's reference
  release_entry(packed);
  shrink();
}

// Replaces `block`, which is in no queue, by a packed one. False: unchanged.
bool BlockCache::pack(Block& block) {
  if (!block.packs_) return false;
  PackedBlock::Ptr packed = PackedBlock::pack(block.key(), block.contents(), scratch_);
  block.packs_ = packed != nullptr;
  if (packed == nullptr) return false;
  ++stats_.packed;
  packed->in_main_ = block.in_main_;
  packed->asked_ = block.asked_;
  entries_[block.key()] = packed.get();
  enter(*packed.release());
  release_entry(block);
  return true;
}

void BlockCache::insert(const BlockRef& ref, const CheckedBlock* stored) {
  Block& block = *ref.get();
  const size_t bytes_wanted = footprint(block);
  // A block that would evict a large part of the cache is not cached.
  if (bytes_wanted > room() / 2 || entries_.contains(block.key())) return;
  ++stats_.inserted;
  const bool remembered = recall(block.key());
  if (remembered) missed_remembered(bytes_wanted);
  const bool full = bytes() + bytes_wanted > room();
  PackedBlock::Ptr packed;
  if (stored != nullptr) {
    block.packs_ = stored->type != BlockType::raw;
    if (full) packed = PackedBlock::keep(block.key(), *stored);
  }
  // Without the stored bytes the block would have to be packed, which takes longer, so it must be
  // worth it.
  const bool too_many = unpacked_bytes_ + bytes_wanted > unpacked_bound_;
  if (full && packed == nullptr && remembered && too_many && block.packs_)
    packed = PackedBlock::pack(block.key(), block.contents(), scratch_);
  if (packed == nullptr) ++block.refs_;  // the cache's reference
  CacheEntry& entry = packed == nullptr ? static_cast<CacheEntry&>(block) : *packed.release();
  entries_[entry.key()] = &entry;
  offsets_[entry.key().blob].insert(entry.key().offset);
  entry.asked_ = 0;
  entry.in_main_ = remembered;
  enter(entry);
  shrink();
}

void BlockCache::missed_remembered(size_t bytes_wanted) {
  unpacked_bound_ = std::min(unpacked_bound_, room());
  unpacked_bound_ -= std::min(unpacked_bound_, bytes_wanted / kBoundStep * kMissWorth);
}

void BlockCache::charge(size_t bytes) {
  charged_bytes_ += bytes;
  shrink();
}

void BlockCache::release(size_t bytes) {
  CHECK(bytes <= charged_bytes_, "release of {} bytes, {} charged", bytes, charged_bytes_);
  charged_bytes_ -= bytes;
}

void BlockCache::set_budget(size_t bytes) {
  budget_bytes_ = bytes;
  shrink();
}

size_t BlockCache::room() const {
  const size_t least = budget_bytes_ / kLeastBlockShare;
  return charged_bytes_ + least > budget_bytes_ ? least : budget_bytes_ - charged_bytes_;
}

void BlockCache::enter(CacheEntry& entry, List::iterator before) {
  Queue& queue = queue_of(entry);
  queue.list.insert(before, entry);
  queue.bytes += footprint(entry);
  if (!entry.is_packed()) unpacked_bytes_ += footprint(entry);
}

void BlockCache::leave(CacheEntry& entry) {
  Queue& queue = queue_of(entry);
  queue.list.erase(queue.list.iterator_to(entry));
  queue.bytes -= footprint(entry);
  if (!entry.is_packed()) unpacked_bytes_ -= footprint(entry);
}

void BlockCache::shrink() {
  size_t packs = 0;
  while (bytes() > room()) {
    if (small_.bytes > room() / kSmallShare || main_.list.empty()) {
      shrink_small();
    } else {
      shrink_main(packs);
    }
  }
}

// Moves the oldest entry of the small queue up or out.
void BlockCache::shrink_small() {
  CacheEntry& entry = small_.list.back();
  leave(entry);
  if (entry.asked_ > 0) {
    entry.asked_ = 0;
    entry.in_main_ = true;
    enter(entry);
    return;
  }
  remember(entry.key());
  ++stats_.evicted;
  drop(entry);
}

// The oldest entry of the main queue gets another round, packed if it has few requests, or leaves.
void BlockCache::shrink_main(size_t& packs) {
  CacheEntry& entry = main_.list.back();
  leave(entry);
  const bool often = entry.asked_ == kMaxAsked;
  const bool asked = entry.asked_ > 0;
  if (asked) --entry.asked_;
  const bool too_many = unpacked_bytes_ + footprint(entry) > unpacked_bound_;
  if (!entry.is_packed() && !often && too_many && packs < kMostPacksAtOnce) {
    ++packs;
    if (pack(static_cast<Block&>(entry))) return;
  }
  if (asked) {
    enter(entry);
    return;
  }
  ++stats_.evicted;
  drop(entry);
}

// Removes an entry that is in no queue.
void BlockCache::drop(CacheEntry& entry) {
  entries_.erase(entry.key());
  const auto blob = offsets_.find(entry.key().blob);
  if (blob != offsets_.end()) {
    blob->second.erase(entry.key().offset);
    if (blob->second.empty()) offsets_.erase(blob);
  }
  release_entry(entry);
}

void BlockCache::forget(BlobId blob) {
  const auto it = offsets_.find(blob);
  if (it == offsets_.end()) return;
  const absl::flat_hash_set<uint64_t> offsets = std::move(it->second);
  offsets_.erase(it);
  for (const uint64_t offset : offsets) {
    CacheEntry& entry = *entries_.at({blob, offset});
    leave(entry);
    drop(entry);
  }
}

// Removes an entry that is in no queue and not in the map.
void BlockCache::release_entry(CacheEntry& entry) {
  if (entry.is_packed()) {
    PackedBlock::Free()(static_cast<PackedBlock*>(&entry));
    return;
  }
  auto& block = static_cast<Block&>(entry);
  if (block.slot_ != nullptr) std::exchange(block.slot_, nullptr)->block_ = nullptr;
  BlockRef last(&block);
  --block.refs_;  // the cache's reference; `last` frees the block unless a reader pins it
}

void BlockCache::remember(const BlockKey& key) {
  const uint64_t fingerprint = absl::Hash<BlockKey>()(key);
  if (!ghosts_.insert(fingerprint).second) return;
  ghost_order_.push_back(fingerprint);
  while (ghost_order_.size() > std::max(kMinGhosts, main_.list.size())) {
    ghosts_.erase(ghost_order_.front());
    ghost_order_.pop_front();
  }
}

bool BlockCache::recall(const BlockKey& key) {
  // Its place in the order stays and is erased again later without effect.
  return ghosts_.erase(absl::Hash<BlockKey>()(key)) > 0;
}

}  // namespace cellar::engine
