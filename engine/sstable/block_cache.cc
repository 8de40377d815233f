#include "engine/sstable/block_cache.h"

#include <absl/hash/hash.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "io/base/check.h"
#include "io/base/large_memory.h"

namespace cellar::engine {
namespace {

constexpr size_t kSmallShare = 10;  // share of the small queue: one in this many
constexpr size_t kMinGhosts = 1024;
// A cache whose memory is taken but for one part in this many is full: blocks enter it packed.
constexpr size_t kFullShare = 64;
// an unpacking moves the bound by a block's bytes divided by this
constexpr size_t kBoundStep = 10;

size_t most_held(size_t room) { return std::max(room, BlockCache::kLeastHeldBytes); }

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
  return may_unpack(packed) ? keep_unpacked(packed, *block.get()) : block;
}

// Whether it may be kept unpacked.
bool BlockCache::may_unpack(const PackedBlock& packed) {
  const size_t unpacked = footprint(packed.raw_bytes());
  if (!is_full() && bytes() - footprint(packed) + unpacked <= room()) return true;
  if (packed.asked_ < kMaxAsked) return false;
  unpacked_bound_ = std::min(room(), unpacked_bound_ + unpacked / kBoundStep);
  return unpacked_bytes_ + unpacked <= unpacked_bound_;
}

BlockRef BlockCache::keep_unpacked(PackedBlock& packed, const Block& block) {
  ++stats_.unpacked;
  BlockRef copy(&copy_of(block));
  replace(packed, *copy.get());
  release_entry(packed);
  shrink();
  return copy;
}

// In the map and in the queue. `entry` is in neither afterwards.
void BlockCache::replace(CacheEntry& entry, CacheEntry& by) {
  by.in_main_ = entry.in_main_;
  by.asked_ = entry.asked_;
  const auto behind = std::next(queue_of(entry).list.iterator_to(entry));
  leave(entry);
  enter(by, behind);
  entries_[by.key()] = &by;
}

bool BlockCache::is_full() const {
  const size_t most = most_held(room());
  return held_bytes() >= most - most / kFullShare;
}

size_t BlockCache::debt_bytes() const {
  const size_t blocks = bytes() - std::min(bytes(), room());
  return std::max(blocks, held_bytes() - std::min(held_bytes(), most_held(room())));
}

SlabSlot BlockCache::allocate(size_t bytes) {
  if (bytes <= SlabMemory::kMostSlotBytes) return slabs_->allocate(bytes);
  void* memory = allocate_large(bytes, alignof(Block));
  CHECK(memory != nullptr, "no memory for a block");
  large_bytes_ += bytes;
  return {memory, nullptr};
}

void BlockCache::free(const SlabSlot& slot, size_t bytes) {
  if (slot.slab != nullptr) return slabs_->free(slot);
  large_bytes_ -= bytes;
  free_large(slot.at, bytes);
}

// With one reference, the cache's.
Block& BlockCache::make_copy(const SlabSlot& slot, const Block& block) {
  auto* copy = new (slot.at) Block(block.key(), block.size());
  copy->slab_ = slot.slab;
  copy->packs_ = block.packs_;
  copy->heads_ = block.heads_;
  copy->refs_ = 1;
  std::memcpy(copy->data(), block.data(), block.size());
  return *copy;
}

PackedBlock& BlockCache::make_packed(const SlabSlot& slot, const BlockKey& key,
                                     const CheckedBlock& stored) {
  auto* packed = new (slot.at) PackedBlock(key, stored);
  packed->slab_ = slot.slab;
  return *packed;
}

Block& BlockCache::copy_of(const Block& block) {
  return make_copy(allocate(footprint(block)), block);
}

PackedBlock& BlockCache::packed_of(const BlockKey& key, const CheckedBlock& stored) {
  return make_packed(allocate(sizeof(PackedBlock) + stored.payload.size()), key, stored);
}

// Of one slab to another. False if the entry is pinned.
bool BlockCache::move(CacheEntry& entry, const SlabSlot& to) {
  if (entry.is_packed()) {
    auto& packed = static_cast<PackedBlock&>(entry);
    replace(packed, make_packed(to, packed.key(), packed.stored_));
    packed.~PackedBlock();
    return true;
  }
  auto& block = static_cast<Block&>(entry);
  if (block.refs_ > 1) return false;
  Block& moved = make_copy(to, block);
  moved.slot_ = std::exchange(block.slot_, nullptr);
  if (moved.slot_ != nullptr) moved.slot_->block_ = &moved;
  replace(block, moved);
  block.~Block();
  return true;
}

// Replaces `block`, which is in no queue, by a packed one. False: unchanged.
bool BlockCache::pack(Block& block) {
  if (!block.packs_) return false;
  const std::optional<CheckedBlock> stored = PackedBlock::pack(block.contents(), scratch_);
  block.packs_ = stored.has_value();
  if (!stored) return false;
  ++stats_.packed;
  PackedBlock& packed = packed_of(block.key(), *stored);
  packed.in_main_ = block.in_main_;
  packed.asked_ = block.asked_;
  entries_[block.key()] = &packed;
  enter(packed);
  release_entry(block);
  return true;
}

BlockRef BlockCache::insert(const BlockRef& ref, const CheckedBlock* stored) {
  Block& block = *ref.get();
  const size_t bytes_wanted = footprint(block);
  // A block that would evict a large part of the cache is not cached.
  if (bytes_wanted > room() / 2 || entries_.contains(block.key())) return ref;
  ++stats_.inserted;
  const bool remembered = recall(block.key());
  if (remembered) missed_remembered(bytes_wanted);
  stats_.came_back += remembered;
  const bool full = bytes() + bytes_wanted > room() || is_full();
  std::optional<CheckedBlock> packed;
  if (stored != nullptr) {
    block.packs_ = stored->type != BlockType::raw;
    if (full && PackedBlock::keeps(*stored)) packed = *stored;
  }
  // Without the stored bytes the block would have to be packed, which takes longer, so it must be
  // worth it.
  const bool too_many = unpacked_bytes_ + bytes_wanted > unpacked_bound_;
  if (full && !packed && remembered && too_many && block.packs_)
    packed = PackedBlock::pack(block.contents(), inserted_);
  shrink(kStepBytes, packed ? sizeof(PackedBlock) + packed->payload.size() : bytes_wanted);
  BlockRef copy = packed ? BlockRef() : BlockRef(&copy_of(block));
  CacheEntry& entry =
      packed ? packed_of(block.key(), *packed) : static_cast<CacheEntry&>(*copy.get());
  entries_[entry.key()] = &entry;
  offsets_[entry.key().blob].insert(entry.key().offset);
  entry.asked_ = 0;
  entry.in_main_ = remembered;
  enter(entry);
  return copy ? copy : ref;
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
  const bool lower = bytes < budget_bytes_;
  budget_bytes_ = bytes;
  if (lower) shrink();
}

size_t BlockCache::room(size_t budget_bytes) const {
  const size_t least = std::min(budget_bytes, nominal_bytes_) / kLeastBlockShare;
  return charged_bytes_ + least > budget_bytes ? least : budget_bytes - charged_bytes_;
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

// Until `wanted_bytes` more fit. An entry that comes thus gets a slot of one that leaves.
void BlockCache::shrink(size_t step_bytes, size_t wanted_bytes) {
  const auto moves = [this](void* from, const SlabSlot& to) {
    return move(*static_cast<CacheEntry*>(from), to);
  };
  size_t packs = 0;
  size_t closed_bytes = 0;
  const size_t before = bytes();
  const size_t blocks_before = entries_.size();
  for (size_t looks = 0;; ++looks) {
    const bool too_much_held = held_bytes() + growth(wanted_bytes) > most_held(room());
    if ((bytes() + wanted_bytes <= room() && !too_much_held) || entries_.empty()) return;
    const size_t work = looks + (blocks_before - entries_.size());
    const bool enough = work >= kMostLooks || before - bytes() + closed_bytes >= step_bytes;
    if (enough && debt_bytes() <= debt_bound_) return;
    if (const size_t held = held_bytes(); too_much_held && slabs_->empty_slab(moves)) {
      closed_bytes += held - held_bytes();
      continue;
    }
    if (!forgotten_.empty()) {
      drop_forgotten(1);
      continue;
    }
    CacheEntry* entry = look(packs, enough);
    if (entry == nullptr) continue;
    if (!entry->in_main_ || entry->asked_ > 0) remember(entry->key());
    evict(*entry);
  }
}

// Of held_bytes(), by an entry of that size.
size_t BlockCache::growth(size_t bytes) const {
  if (bytes == 0) return 0;
  return bytes <= SlabMemory::kMostSlotBytes ? slabs_->growth(bytes) : bytes;
}

// The oldest entry of a queue gets another round, packed if it has few requests, or is returned: it
// has to leave. Every entry has to when there is no time for rounds (`hurry`).
CacheEntry* BlockCache::look(size_t& packs, bool hurry) {
  if (small_.bytes > room() / kSmallShare || main_.list.empty()) return look_at_small(hurry);
  return look_at_main(packs, hurry);
}

CacheEntry* BlockCache::look_at_small(bool hurry) {
  CacheEntry& entry = small_.list.back();
  if (entry.asked_ == 0 || hurry) return &entry;
  leave(entry);
  entry.asked_ = 0;
  entry.in_main_ = true;
  enter(entry);
  return nullptr;
}

CacheEntry* BlockCache::look_at_main(size_t& packs, bool hurry) {
  CacheEntry& entry = main_.list.back();
  if (hurry) return &entry;
  leave(entry);
  const bool often = entry.asked_ == kMaxAsked;
  const bool asked = entry.asked_ > 0;
  if (asked) --entry.asked_;
  const bool too_many = unpacked_bytes_ + footprint(entry) > unpacked_bound_;
  if (!entry.is_packed() && !often && too_many && packs < kMostPacksAtOnce) {
    ++packs;
    if (pack(static_cast<Block&>(entry))) return nullptr;
  }
  if (asked) {
    enter(entry);
    return nullptr;
  }
  enter(entry, main_.list.end());
  return &entry;
}

void BlockCache::evict(CacheEntry& entry) {
  leave(entry);
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

void BlockCache::forget(BlobId blob, std::unique_ptr<BlockSlot[]> slots) {
  const auto it = offsets_.find(blob);
  if (it == offsets_.end()) return;
  Forgotten& forgotten = forgotten_.emplace_back();
  forgotten.blob = blob;
  forgotten.offsets = std::move(it->second);
  forgotten.next = forgotten.offsets.begin();
  forgotten.slots = std::move(slots);
  offsets_.erase(it);
  if (wake_) return wake_();
  while (!forgotten_.empty()) drop_forgotten(kPayForgotten);
}

// So many at most, of one blob, and not many more bytes than kPayBytes. REQUIRES: a forgotten one.
void BlockCache::drop_forgotten(size_t blocks) {
  Forgotten& from = forgotten_.front();
  const size_t before = bytes();
  for (; blocks > 0 && from.next != from.offsets.end(); ++from.next, --blocks) {
    if (before - bytes() >= kPayBytes) return;
    const auto found = entries_.find(BlockKey{from.blob, *from.next});
    if (found == entries_.end()) continue;  // it was spoilt, or is forgotten for the second time
    CacheEntry& entry = *found->second;
    leave(entry);
    drop(entry);
  }
  if (from.next == from.offsets.end()) forgotten_.pop_front();
}

void BlockCache::pay() {
  // A step of the debt drops forgotten blocks too, but closes gaps first.
  if (debt_bytes() > 0 || forgotten_.empty()) return shrink(kPayBytes);
  drop_forgotten(kPayForgotten);
}

// Removes an entry that is in no queue and not in the map.
void BlockCache::release_entry(CacheEntry& entry) {
  const SlabSlot slot{&entry, entry.slab_};
  const size_t bytes = footprint(entry);
  if (entry.is_packed()) {
    static_cast<PackedBlock&>(entry).~PackedBlock();
    return free(slot, bytes);
  }
  auto& block = static_cast<Block&>(entry);
  if (block.slot_ != nullptr) std::exchange(block.slot_, nullptr)->block_ = nullptr;
  if (--block.refs_ == 0) {
    block.~Block();
    return free(slot, bytes);
  }
  // The last of the readers that pin it frees it.
  if (slot.slab != nullptr) {
    slabs_->leave(*slot.slab);
  } else {
    large_bytes_ -= bytes;
  }
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
