#include "engine/sstable/slab_memory.h"

#include <absl/base/config.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <new>

#include "io/base/check.h"
#include "io/base/large_memory.h"

#ifdef ABSL_HAVE_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace cellar::engine {
namespace {

constexpr size_t kLineBytes = 64;  // of the CPU's cache
// A step of empty_slab() looks for the emptiest of so many slabs of a class.
constexpr size_t kMostLooks = 8;

// The slabs of one size, with classes of `most_slots` to `least_slots` slots.
struct Tier {
  size_t granules;
  size_t most_slots;
  size_t least_slots;
};
constexpr std::array<Tier, 4> kTiers{{{1, 63, 16}, {4, 63, 8}, {16, 31, 8}, {32, 15, 8}}};
// Classes are at least one part in this many apart.
constexpr size_t kLeastStep = 20;
// An allocation uses a free slot of a larger class if that wastes at most one part in this many.
constexpr size_t kMostWaste = 8;

void forbid(void* at, size_t bytes) {
#ifdef ABSL_HAVE_ADDRESS_SANITIZER
  ASAN_POISON_MEMORY_REGION(at, bytes);
#else
  (void)at, (void)bytes;
#endif
}

void permit(void* at, size_t bytes) {
#ifdef ABSL_HAVE_ADDRESS_SANITIZER
  ASAN_UNPOISON_MEMORY_REGION(at, bytes);
#else
  (void)at, (void)bytes;
#endif
}

}  // namespace

class Slab : public boost::intrusive::list_base_hook<> {
 public:
  SlabMemory* owner = nullptr;
  SlabMemory::Class* of = nullptr;
  SlabMemory::Chunk* chunk = nullptr;
  uint64_t granules = 0;  // of the chunk, as bits
  char* memory = nullptr;
  uint64_t free = 0;  // slots, as bits
  size_t left = 0;    // slots
};

struct SlabMemory::Class {
  size_t slot_bytes = 0;
  size_t slots = 0;  // of a slab
  size_t granules = 0;
  size_t free_slots = 0;               // of all slabs
  boost::intrusive::list<Slab> slabs;  // with free slots; the fullest tend to come first

  size_t slab_bytes() const { return granules * kGranuleBytes; }
  uint64_t all() const { return (uint64_t{1} << slots) - 1; }
};

struct SlabMemory::Chunk {
  char* memory = nullptr;
  uint64_t taken = 0;  // granules, as bits
};

void SlabMemory::Close::operator()(Chunk* chunk) const {
  permit(chunk->memory, kChunkBytes);
  free_large(chunk->memory, kChunkBytes);
  delete chunk;
}

SlabMemory::SlabMemory() {
  for (const Tier& tier : kTiers) {
    size_t last = 0;
    for (size_t slots = tier.most_slots; slots >= tier.least_slots; --slots) {
      const size_t bytes = tier.granules * kGranuleBytes / slots / kLineBytes * kLineBytes;
      if (bytes < last + last / kLeastStep && slots != tier.least_slots) continue;
      last = bytes;
      Class& added = classes_.emplace_back();
      added.slot_bytes = bytes;
      added.slots = slots;
      added.granules = tier.granules;
    }
  }
}

SlabMemory::~SlabMemory() { CHECK(held_bytes_ == 0, "{} bytes are in use", held_bytes_); }

void SlabMemory::close(SlabMemory* memory) {
  CHECK(memory->held_bytes_ == memory->left_bytes_, "{} bytes are held, {} left",
        memory->held_bytes_, memory->left_bytes_);
  memory->closed_ = true;
  if (memory->held_bytes_ == 0) delete memory;
}

size_t SlabMemory::class_for(size_t bytes) const {
  CHECK(bytes <= kMostSlotBytes, "{} bytes for a slot", bytes);
  const auto exact = std::ranges::lower_bound(classes_, bytes, {}, &Class::slot_bytes);
  const size_t most_bytes = std::max(exact->slot_bytes, bytes + bytes / kMostWaste);
  for (auto it = exact; it != classes_.end() && it->slot_bytes <= most_bytes; ++it)
    if (it->free_slots > 0) return static_cast<size_t>(it - classes_.begin());
  return static_cast<size_t>(exact - classes_.begin());
}

size_t SlabMemory::growth(size_t bytes) const {
  const Class& of = classes_[class_for(bytes)];
  return of.free_slots > 0 ? 0 : of.slab_bytes();
}

SlabSlot SlabMemory::allocate(size_t bytes) {
  Class& of = classes_[class_for(bytes)];
  if (of.free_slots == 0) add_slab(of);
  return take(of);
}

SlabSlot SlabMemory::take(Class& of) {
  Slab& slab = of.slabs.front();
  const int slot = std::countr_zero(slab.free);
  slab.free &= slab.free - 1;
  --of.free_slots;
  if (slab.free == 0) of.slabs.pop_front();
  void* at = slab.memory + static_cast<size_t>(slot) * of.slot_bytes;
  permit(at, of.slot_bytes);
  return {at, &slab};
}

void SlabMemory::put(const SlabSlot& slot) {
  Slab& slab = *slot.slab;
  Class& of = *slab.of;
  const size_t number =
      static_cast<size_t>(static_cast<char*>(slot.at) - slab.memory) / of.slot_bytes;
  slab.free |= uint64_t{1} << number;
  ++of.free_slots;
  forbid(slot.at, of.slot_bytes);
}

void SlabMemory::free(const SlabSlot& slot) {
  put(slot);
  Slab& slab = *slot.slab;
  if (!slab.is_linked()) slab.of->slabs.push_front(slab);
  if (slab.free == slab.of->all()) remove_slab(slab);
}

void SlabMemory::leave(Slab& slab) {
  if (slab.left++ == 0) left_bytes_ += slab.of->slab_bytes();
}

void SlabMemory::free_left(const SlabSlot& slot) {
  SlabMemory* memory = slot.slab->owner;
  if (--slot.slab->left == 0) memory->left_bytes_ -= slot.slab->of->slab_bytes();
  memory->free(slot);
  if (memory->closed_ && memory->held_bytes_ == 0) delete memory;
}

void SlabMemory::add_slab(Class& of) {
  uint64_t granules = 0;
  Chunk& chunk = chunk_for(of.granules, granules);
  auto* slab = new Slab();
  slab->owner = this;
  slab->of = &of;
  slab->chunk = &chunk;
  slab->granules = granules;
  slab->memory = chunk.memory + static_cast<size_t>(std::countr_zero(granules)) * kGranuleBytes;
  slab->free = of.all();
  of.free_slots += of.slots;
  of.slabs.push_back(*slab);
  chunk.taken |= granules;
  held_bytes_ += of.slab_bytes();
}

SlabMemory::Chunk& SlabMemory::chunk_for(size_t granules, uint64_t& taken) {
  const uint64_t run = (uint64_t{1} << granules) - 1;
  for (const auto& chunk : chunks_) {
    if (chunk->taken == UINT64_MAX) continue;
    for (size_t at = 0; at < kChunkGranules; at += granules) {
      taken = run << at;
      if ((chunk->taken & taken) == 0) return *chunk;
    }
  }
  taken = run;
  void* memory = allocate_large(kChunkBytes, kLineBytes);
  CHECK(memory != nullptr, "no memory for blocks");
  forbid(memory, kChunkBytes);
  chunks_.emplace_back(new Chunk{.memory = static_cast<char*>(memory)});
  return *chunks_.back();
}

void SlabMemory::remove_slab(Slab& slab) {
  Class& of = *slab.of;
  Chunk& chunk = *slab.chunk;
  of.slabs.erase(of.slabs.iterator_to(slab));
  of.free_slots -= of.slots;
  held_bytes_ -= of.slab_bytes();
  chunk.taken &= ~slab.granules;
  if (chunk.taken == 0) {
    std::erase_if(chunks_, [&](const auto& one) { return one.get() == &chunk; });
  } else if (kLargeMemoryFromSystem) {
    // Fails for locked pages, which stay resident.
    (void)::madvise(slab.memory, of.slab_bytes(), MADV_DONTNEED);
  }
  delete &slab;
}

bool SlabMemory::empty_slab(absl::FunctionRef<bool(void* from, const SlabSlot& to)> move) {
  // The other slabs of such a class have room for what is in one.
  return std::ranges::any_of(
      classes_, [&](Class& of) { return of.free_slots >= of.slots && empty_slab(of, move); });
}

bool SlabMemory::empty_slab(Class& of,
                            absl::FunctionRef<bool(void* from, const SlabSlot& to)> move) {
  const auto gaps = [](const Slab& slab) { return std::popcount(slab.free); };
  Slab* slab = &of.slabs.back();
  size_t looks = 0;
  for (auto it = of.slabs.rbegin(); it != of.slabs.rend() && looks < kMostLooks; ++it, ++looks)
    if (it->left == 0 && gaps(*it) > gaps(*slab)) slab = &*it;
  of.slabs.erase(of.slabs.iterator_to(*slab));
  bool moved = slab->left == 0;
  for (uint64_t used = of.all() & ~slab->free; moved && used != 0; used &= used - 1) {
    const SlabSlot from{slab->memory + static_cast<size_t>(std::countr_zero(used)) * of.slot_bytes,
                        slab};
    const SlabSlot to = take(of);
    moved = move(from.at, to);
    if (moved) {
      put(from);
    } else {
      free(to);
    }
  }
  // One that stays is not the first to be tried next.
  of.slabs.push_front(*slab);
  if (moved) remove_slab(*slab);
  return moved;
}

}  // namespace cellar::engine
