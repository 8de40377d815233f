// SlabMemory: the memory of a shard's block cache: slots of many sizes, cut from slabs.
//
// The operating system maps chunks of 1 MiB. A slab is a part of a chunk and is divided into slots
// of one size, that of its class; the sizes of classes are 2 to 12 % apart. A slab returns its
// pages to the operating system as soon as its last slot is free. Slots that are free in other
// slabs are gaps: an allocation of about their size uses them, and empty_slab() closes them by
// moving the entries of one slab into the gaps of others.
//
//   a class of 4 slots a slab:      [A B . .] [C . D .] [E F G H]
//   allocate():                     [A B I .] [C . D .] [E F G H]
//   free(A), free(B), empty_slab(): [C D I .]           [E F G H]
//
// Invariants, between any two calls:
//
//   1. held_bytes() is the memory of all slabs. No other memory of the chunks is resident.
//   2. A slab has a slot in use; it is in its class's list if it has a free one.
//   3. A slot has at most a quarter more bytes than were asked for, if these are kLeastSlotBytes or
//      more.
//
// Slots may outlive the owner, see close(). One shard.
#pragma once

#include <absl/functional/function_ref.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <boost/intrusive/list.hpp>

namespace cellar::engine {

class Slab;

struct SlabSlot {
  void* at = nullptr;  // aligned to 64 bytes
  Slab* slab = nullptr;
};

class SlabMemory {
 public:
  static constexpr size_t kGranuleBytes = 16 * 1024;
  static constexpr size_t kChunkGranules = 64;
  static constexpr size_t kChunkBytes = kGranuleBytes * kChunkGranules;
  static constexpr size_t kLeastSlotBytes = 256;
  static constexpr size_t kMostSlotBytes = 64 * 1024;

  SlabMemory();
  ~SlabMemory();
  SlabMemory(const SlabMemory&) = delete;
  SlabMemory& operator=(const SlabMemory&) = delete;

  // `bytes`: at most kMostSlotBytes.
  SlabSlot allocate(size_t bytes);
  void free(const SlabSlot& slot);
  // Of a slot whose user the owner does not know any more: it cannot be moved and will be freed by
  // free_left().
  void leave(Slab& slab);
  static void free_left(const SlabSlot& slot);

  // Moves everything out of one slab. `move` copies an entry, or returns false if it has to stay;
  // then the slab stays too. Returns whether a slab was given back. Moves at most 63 entries, of
  // 512 KiB together.
  bool empty_slab(absl::FunctionRef<bool(void* from, const SlabSlot& to)> move);

  size_t held_bytes() const { return held_bytes_; }
  // What allocate() would add to it.
  size_t growth(size_t bytes) const;
  // Of slabs with slots that were left; of these the owner cannot have any back.
  size_t left_bytes() const { return left_bytes_; }

  // Instead of delete: it deletes itself when the slots that were left are free. All others must be
  // free.
  static void close(SlabMemory* memory);

 private:
  struct Class;
  struct Chunk;
  struct Close {
    void operator()(Chunk* chunk) const;
  };
  friend class Slab;

  void add_slab(Class& of);
  void remove_slab(Slab& slab);
  Chunk& chunk_for(size_t granules, uint64_t& taken);
  // Number of the class that has a free slot, or else needs a slab.
  size_t class_for(size_t bytes) const;
  SlabSlot take(Class& of);
  void put(const SlabSlot& slot);
  bool empty_slab(Class& of, absl::FunctionRef<bool(void* from, const SlabSlot& to)> move);

  std::vector<Class> classes_;  // by size
  std::vector<std::unique_ptr<Chunk, Close>> chunks_;
  size_t held_bytes_ = 0;
  size_t left_bytes_ = 0;
  bool closed_ = false;
};

struct SlabMemoryClose {
  void operator()(SlabMemory* memory) const { SlabMemory::close(memory); }
};
using SlabMemoryPtr = std::unique_ptr<SlabMemory, SlabMemoryClose>;

}  // namespace cellar::engine
