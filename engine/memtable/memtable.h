// Memtable: the newest entries of one tablet, sorted, in memory.
//
// Keys and values lie together in an arena that is freed with the memtable; a B-tree of (head,
// pointer) pairs, whose nodes lie there too, orders them: so all that there is to free are the
// blocks of the arena, and who has many of them frees them little by little (release()). One
// thread: writer and readers are the same shard.
//
// A head spares most comparisons the way to the key, which is a cache miss. Keys of a tablet often
// begin alike for longer than a head reaches, so heads are taken from where the keys begin to
// differ: behind shared_, which every key begins with. A key that does not begin so cuts shared_
// short, and all heads are made anew; their order stays, it is the keys'. A cut takes only what it
// must while the memtable is small or has doubled since the last one, else it takes half of what
// was left too, so all cuts together cost a constant per entry and a few rounds more.
//
//   keys user0017, user0018                shared_ "user001", heads of "7", "8"
//   add  user0420                          shared_ "user0",   heads of "017", "018", "420"
//
// Iterators and inserts: an iterator may be kept across add(). The bytes of key() and value() live
// as long as the memtable. Its position in the tree does not survive an insert, so the next move
// finds the place again by the last key (one search). An entry added behind an iterator is not
// seen by it, one added ahead is; a reader that wants neither bounds itself by stamp.
#pragma once

#include <absl/container/btree_set.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/iter/entry_iterator.h"
#include "engine/iter/key_head.h"
#include "engine/iter/range_delete.h"
#include "engine/iter/time_bounds.h"
#include "engine/model/mutation.h"
#include "io/base/arena.h"

namespace cellar::engine {

class Memtable {
 public:
  class Iterator;

  Memtable() : tree_(Less(), NodeAllocator<Slot>(arena_)) {}
  ~Memtable() {}  // NOLINT(modernize-use-equals-default): of the tree nothing is left to free
  Memtable(const Memtable&) = delete;
  Memtable& operator=(const Memtable&) = delete;

  // Copies. False, and nothing changes, when the key is there already (the same commit replayed
  // twice). REQUIRES: not frozen; a well-formed key.
  bool add(Bytes key, Bytes value);
  void add_range_delete(const RangeDelete& range, CommitStamp stamp);  // REQUIRES: not frozen
  // A commit, though it may have no entries.
  void add_commit(CommitStamp stamp) { note_stamp(stamp); }
  // No more writes: what was handed to a flush stays as it is.
  void freeze() { frozen_ = true; }
  bool frozen() const { return frozen_; }

  Iterator iterator() const;

  bool empty() const { return entries() == 0 && ranges_.empty(); }
  bool has_commits() const { return min_stamp_ <= max_stamp_; }
  size_t entries() const { return tree_.size(); }
  size_t deletes() const { return deletes_; }  // of them: of rows, families and columns
  // Memory taken, the tree's included, 256 KiB steps of the arena included.
  size_t bytes() const { return arena_.bytes() + range_bytes_; }
  // Of keys and values alone: what a flush will write, before compression.
  size_t content_bytes() const { return content_bytes_; }
  // Over all commits; max < min while there are none.
  CommitStamp min_stamp() const { return min_stamp_; }
  CommitStamp max_stamp() const { return max_stamp_; }
  const TimeBounds& time_bounds() const { return bounds_; }
  // Of the cells with an expiry of their own; INT64_MAX: there are none.
  int64_t earliest_expiry_us() const { return earliest_expiry_us_; }
  // Cells that took the place of another cell of the memtable, at its very timestamp.
  size_t overwrites() const { return overwrites_; }
  const std::vector<StampedRange>& range_deletes() const { return ranges_; }
  // At the end of its life: its memory, for who frees it in slices. Nothing else may be asked of it
  // afterwards.
  std::vector<std::unique_ptr<char[]>> release() { return arena_.release(); }

 private:
  // key size: u32, value size: u32, key, value; anywhere in the arena.
  struct Slot {
    mutable uint64_t head;  // made anew at a cut, which does not touch the order
    const char* record;
    Bytes key() const { return {record + 8, load_le<uint32_t>(record)}; }
    Bytes value() const {
      return {record + 8 + load_le<uint32_t>(record), load_le<uint32_t>(record + 4)};
    }
  };
  struct Probe {
    Probe(Bytes k, size_t shared) : head(key_head(k.substr(shared))), bytes(k) {}
    Bytes key() const { return bytes; }
    uint64_t head;
    Bytes bytes;
  };
  struct Less {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return a.head != b.head ? a.head < b.head : a.key() < b.key();
    }
  };
  // Of the arena, which frees all of it together.
  template <class T>
  struct NodeAllocator {
    using value_type = T;
    explicit NodeAllocator(Arena& from) : arena(&from) {}
    template <class U>
    NodeAllocator(const NodeAllocator<U>& o) : arena(o.arena) {}  // NOLINT(*-explicit-*)
    T* allocate(size_t n) {
      return reinterpret_cast<T*>(arena->allocate_aligned(n * sizeof(T), alignof(T)));
    }
    void deallocate(T*, size_t) {}
    template <class U>
    bool operator==(const NodeAllocator<U>& o) const {
      return arena == o.arena;
    }
    Arena* arena;
  };
  using Tree = absl::btree_set<Slot, Less, NodeAllocator<Slot>>;

  // A cut of a memtable with fewer entries costs little.
  static constexpr size_t kCheapCutEntries = 1024;

  // The first entry whose key is not less.
  Tree::const_iterator lower_bound(Bytes key) const;
  // Cuts shared_ to what `key` begins with too.
  void share(Bytes key);
  void note_stamp(CommitStamp stamp);
  void note_cell(Bytes value);
  // `place`: where a key with that head comes to stand. True: what stands there differs by its
  // stamp alone.
  bool overwrites_at(Tree::const_iterator place, uint64_t head, Bytes key) const;

  Arena arena_;
  union {
    Tree tree_;  // never destroyed, which would walk over all of it
  };
  std::string shared_;         // every key in tree_ begins with it
  size_t entries_at_cut_ = 0;  // of the last time that it was cut
  uint64_t inserts_ = 0;       // iterators compare it to know whether their place is stale
  size_t content_bytes_ = 0;
  size_t deletes_ = 0;
  size_t overwrites_ = 0;
  int64_t earliest_expiry_us_ = INT64_MAX;
  size_t range_bytes_ = 0;
  CommitStamp min_stamp_ = kMaxStamp;
  CommitStamp max_stamp_;
  TimeBounds bounds_;
  std::vector<StampedRange> ranges_;
  std::multimap<CommitStamp, size_t> range_places_;  // in ranges_
  bool frozen_ = false;
};

// Never blocks, never fails. REQUIRES: the memtable outlives it.
class Memtable::Iterator final : public EntryIterator {
 public:
  explicit Iterator(const Memtable& memtable) : memtable_(&memtable) {}

  Step seek(Bytes key) override;
  Step seek_before(Bytes key) override;
  Step next() override;
  Step resume() override;
  void collect(std::vector<BlockWant*>& wants) override;
  Bytes key() const override { return slot_.key(); }
  Bytes value() const override { return slot_.value(); }
  const Error& error() const override;

 private:
  Step stand();

  const Memtable* memtable_;
  Tree::const_iterator place_;
  uint64_t inserts_seen_ = 0;
  Slot slot_{};
};

inline Memtable::Iterator Memtable::iterator() const { return Iterator(*this); }

}  // namespace cellar::engine
