// Memtable: the newest entries of one tablet, sorted, in memory.
//
// Keys and values are in an arena that is freed with the memtable. A B-tree of (head, pointer)
// pairs, whose nodes are in the arena too, orders them. Only the blocks of the arena have to be
// freed, which a caller can do in slices (release()). One thread: writer and readers are on the
// same shard.
//
// Comparing heads usually avoids reading the key, which is a cache miss. Keys of a tablet often
// have a common prefix longer than a head, so heads are taken after shared_, the common prefix of
// all keys. A key without that prefix cuts shared_, and all heads are recomputed; the order does
// not change. A cut removes only what is necessary while the memtable is small or has doubled since
// the last cut; otherwise it removes half of the rest too, so all cuts together cost a constant per
// entry plus a few rounds.
//
//   keys user0017, user0018                shared_ "user001", heads of "7", "8"
//   add  user0420                          shared_ "user0",   heads of "017", "018", "420"
//
// Iterators may be kept across add(). The bytes of key() and value() live as long as the memtable.
// An insert invalidates the position in the tree, so the next move searches for the last key again.
// An iterator sees entries added ahead of it and not those added before its position; a reader that
// wants a fixed set limits itself by stamp.
#pragma once

#include <absl/container/btree_set.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/iter/column_list.h"
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

  // Copies. Returns false without a change if the key exists (a commit replayed twice). REQUIRES:
  // not frozen; a well-formed key.
  bool add(Bytes key, Bytes value);
  void add_range_delete(const RangeDelete& range, CommitStamp stamp);  // REQUIRES: not frozen
  // Records a commit, possibly without entries.
  void add_commit(CommitStamp stamp) { note_stamp(stamp); }
  // Ends writes: the contents for a flush are fixed.
  void freeze() { frozen_ = true; }
  bool frozen() const { return frozen_; }

  Iterator iterator() const;

  bool empty() const { return entries() == 0 && ranges_.empty(); }
  bool has_commits() const { return min_stamp_ <= max_stamp_; }
  size_t entries() const { return tree_.size(); }
  size_t deletes() const { return deletes_; }  // of these: deletes of rows, families and columns
  // Memory in use, including the tree and the unused part of arena blocks.
  size_t bytes() const { return arena_.bytes() + range_bytes_; }
  // Bytes of keys and values: the uncompressed size of a flush.
  size_t content_bytes() const { return content_bytes_; }
  // Over all commits; max < min if there are none.
  CommitStamp min_stamp() const { return min_stamp_; }
  CommitStamp max_stamp() const { return max_stamp_; }
  const TimeBounds& time_bounds() const { return bounds_; }
  const ColumnList& columns() const { return columns_; }
  // Of cells with their own expiry; INT64_MAX: none.
  int64_t earliest_expiry_us() const { return earliest_expiry_us_; }
  // Cells that replaced another cell of the memtable at the same timestamp.
  size_t overwrites() const { return overwrites_; }
  const std::vector<RangeTombstone>& range_deletes() const { return ranges_; }
  // Releases the memory at the end, for a caller that frees it in slices. No other method may be
  // called afterwards.
  std::vector<Arena::Block> release() { return arena_.release(); }

 private:
  // key size: u32, value size: u32, key, value; anywhere in the arena.
  struct Slot {
    mutable uint64_t head;  // recomputed at a cut, which does not change the order
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
  // Allocates from the arena, which is freed as a whole.
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

  // Cutting a memtable with fewer entries is cheap.
  static constexpr size_t kCheapCutEntries = 1024;

  // The first entry whose key is not less than `key`.
  Tree::const_iterator lower_bound(Bytes key) const;
  // Cuts shared_ to its common prefix with `key`.
  void share(Bytes key);
  void note_stamp(CommitStamp stamp);
  void note_cell(Bytes value);
  // `place`: the position for a key with that head. True if the entry there differs only in its
  // stamp.
  bool overwrites_at(Tree::const_iterator place, uint64_t head, Bytes key) const;

  Arena arena_;
  union {
    Tree tree_;  // never destroyed, which would visit all nodes
  };
  std::string shared_;         // common prefix of all keys in tree_
  size_t entries_at_cut_ = 0;  // number of entries at the last cut
  uint64_t inserts_ = 0;       // iterators compare it to detect a stale position
  size_t content_bytes_ = 0;
  size_t deletes_ = 0;
  size_t overwrites_ = 0;
  int64_t earliest_expiry_us_ = INT64_MAX;
  size_t range_bytes_ = 0;
  CommitStamp min_stamp_ = kMaxStamp;
  CommitStamp max_stamp_;
  TimeBounds bounds_;
  ColumnList columns_;
  std::vector<RangeTombstone> ranges_;
  std::multimap<CommitStamp, size_t> range_places_;  // index into ranges_
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
  void collect(std::vector<BlockRequest*>& requests) override;
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
