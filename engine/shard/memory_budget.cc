#include "engine/shard/memory_budget.h"

#include <algorithm>
#include <utility>

#include "io/base/check.h"

namespace cellar::engine {
namespace {

// Of chunks of the memtables' memory in one call, some 100 us each.
constexpr int kMostTrims = 4;

size_t less(size_t a, size_t b) { return a - std::min(a, b); }

// What is not set aside.
size_t lent_bytes_of(size_t share_bytes, size_t shards, size_t rows) {
  const size_t clients = share_bytes / MemoryBudget::kClientShare * 3;
  const size_t allocator = share_bytes / MemoryBudget::kOverheadShare;
  const size_t overhead = allocator + std::min(allocator, MemoryBudget::kProgramBytes / shards);
  const size_t headroom = share_bytes / MemoryBudget::kHeadroomShare;
  return less(share_bytes, clients + overhead + rows + headroom);
}

}  // namespace

MemoryBudget::MemoryBudget(size_t node_bytes, size_t shards, MemtableBudget& memtables,
                           BlockCache& cache, const TokenMemory& tokens,
                           const RangeTokenRoom& range_tokens, const RowCache& rows)
    : share_bytes_(node_bytes / shards),
      lent_bytes_(lent_bytes_of(share_bytes_, shards, rows.most_bytes())),
      memtables_(memtables),
      cache_(cache),
      tokens_(tokens),
      range_tokens_(range_tokens),
      rows_(rows) {
  CHECK(memtables.gauge.watcher == nullptr, "a second budget for the same memtables");
  memtables.gauge.watcher = this;
  cache.set_debt_bound(headroom_bytes());
  cache.forget_later([&memtables] { memtables.gauge.release.wake(); });
  memtables_changed();
}

MemoryBudget::~MemoryBudget() {
  cache_.forget_later(nullptr);
  memtables_.gauge.watcher = nullptr;
}

size_t MemoryBudget::token_bytes() const {
  return tokens_.tokens() * kTokenBytes + range_tokens_.bytes();
}

size_t MemoryBudget::other_bytes() const {
  return memtables_.gauge.held_bytes() + token_bytes() + withheld_bytes_;
}

size_t MemoryBudget::cache_bytes() const {
  return std::max(share_bytes_ / kCacheShare, less(lent_bytes(), other_bytes()));
}

void MemoryBudget::grant(int64_t change) {
  granted_bytes_ += change;
  memtables_changed();
}

bool MemoryBudget::is_short() const {
  return granted_bytes_ < 0 && other_bytes() + share_bytes_ / kCacheShare > lent_bytes();
}

// What memtables have held counts for some looks: a shard that writes now and then keeps its
// memory.
CacheOffer MemoryBudget::offer() {
  const size_t least = share_bytes_ / kCacheShare;
  const size_t lent_out = granted_bytes_ < 0 ? static_cast<size_t>(-granted_bytes_) : 0;
  most_others_ = std::max(other_bytes(), most_others_);
  CacheOffer offer;
  offer.lendable_bytes =
      std::min(less(lent_bytes(), most_others_ + least), less(share_bytes_ / kLoanShare, lent_out));
  most_others_ = std::max(other_bytes(), most_others_ / 8 * 7);
  const size_t held = cache_.held_bytes() + cache_.charged_bytes();
  offer.unused_bytes = std::min(offer.lendable_bytes, less(cache_bytes(), held));
  offer.full = held + headroom_bytes() >= cache_bytes();
  offer.came_back = cache_.stats().came_back - std::exchange(came_back_, cache_.stats().came_back);
  return offer;
}

size_t MemoryBudget::withhold(size_t bytes) {
  // What is kept for memtables goes first.
  BlockPool& blocks = memtables_.gauge.blocks;
  for (int i = 0; i < kMostTrims && bytes > 0 && blocks.free_bytes() > 0; ++i) {
    blocks.trim();
    bytes -= std::min(bytes, HugeChunks::kChunkBytes);
  }
  withheld_bytes_ = std::min(bytes, less(lent_bytes(), share_bytes_ / kCacheShare));
  memtables_changed();
  return withheld_bytes_;
}

// Frees at most as much as the memtables have grown, rounded up to a chunk, and one chunk if the
// shard is short of what it has lent.
void MemoryBudget::free_released() {
  MemtableGauge& gauge = memtables_.gauge;
  while (gauge.freeable_bytes() > 0 && gauge.held_bytes() > memtables_.hard_bytes)
    gauge.free_some();
  // What is kept goes before others have to give back what they have borrowed.
  if (is_short() && gauge.blocks.free_bytes() > 0) gauge.blocks.trim();
  gauge.blocks.set_may_grow(gauge.held_bytes() + HugeChunks::kChunkBytes <= memtables_.hard_bytes);
}

// A commit adds tokens too. They are counted with the next block of its memtable.
void MemoryBudget::memtables_changed() {
  free_released();
  cache_.set_budget(cache_bytes());
  if (cache_.owes()) memtables_.gauge.release.wake();
  most_others_ = std::max(most_others_, other_bytes());
  if (!asked_back_ && ask_back_ && is_short()) {
    asked_back_ = true;
    ask_back_();
  }
  DCHECK(holds(), "memtables {}, released {}, tokens {}, blocks {}, charged {}, lent {}",
         memtables_.gauge.all_bytes(), memtables_.gauge.released_bytes(), token_bytes(),
         cache_.bytes(), cache_.charged_bytes(), lent_bytes());
}

bool MemoryBudget::holds() const {
  const MemtableGauge& gauge = memtables_.gauge;
  const size_t least = cache_.room(share_bytes_ / kCacheShare);
  const size_t others = other_bytes() + cache_.charged_bytes();
  const size_t blocks = std::max(least, less(lent_bytes(), others));
  return cache_.bytes() <= blocks + headroom_bytes() &&
         (gauge.freeable_bytes() == 0 || gauge.held_bytes() <= memtables_.hard_bytes);
}

MemoryFigures MemoryBudget::figures() const {
  const MemtableGauge& gauge = memtables_.gauge;
  MemoryFigures figures{.share_bytes = share_bytes_,
                        .lent_bytes = lent_bytes(),
                        .memtable_bytes = gauge.bytes,
                        .pinned_bytes = gauge.pinned_bytes,
                        .released_bytes = gauge.released_bytes(),
                        .cache_bytes = cache_.held_bytes(),
                        .metadata_bytes = cache_.charged_bytes(),
                        .token_bytes = token_bytes(),
                        .withheld_bytes = withheld_bytes_,
                        .row_bytes = rows_.figures().bytes};
  const size_t held = gauge.held_bytes() + figures.cache_bytes + figures.metadata_bytes +
                      figures.token_bytes + withheld_bytes_;
  figures.free_bytes = less(lent_bytes(), held);
  return figures;
}

}  // namespace cellar::engine
