// EntryTree: sorted entries in memory, of a memtable or of one of its indexes.
//
// Keys and values are in an arena that is freed with the memtable. A B-tree of (head, pointer)
// pairs, whose nodes are in the arena too, orders them. Only the blocks of the arena have to be
// freed, which a caller can do in slices. One thread: writer and readers are on the same shard.
//
// Comparing heads usually avoids reading the key, which is a cache miss. Keys of a tablet often
// have a common prefix longer than a head, so heads are taken after shared_, the common prefix of
// all keys. A key without that prefix cuts shared_, and all heads are recomputed; the order does
// not change. A cut removes only what is necessary while the tree is small or has doubled since
// the last cut; otherwise it removes half of the rest too, so all cuts together cost a constant per
// entry plus a few rounds.
//
//   keys user0017, user0018                shared_ "user001", heads of "7", "8"
//   add  user0420                          shared_ "user0",   heads of "017", "018", "420"
//
// Iterators may be kept across insert(). The bytes of key() and value() live as long as the arena.
// An insert invalidates the position in the tree, so the next move searches for the last key again.
// An iterator sees entries added ahead of it and not those added before its position.
#pragma once

#include <absl/container/btree_set.h>

#include <string>
#include <vector>

#include "engine/iter/entry_iterator.h"
#include "engine/iter/key_head.h"
#include "io/base/arena.h"

namespace cellar::engine {

class EntryTree {
 public:
  // An entry: key size: u32, value size: u32, key, value; anywhere in the arena.
  struct Record {
    const char* bytes;
    Bytes key() const { return {bytes + 8, load_le<uint32_t>(bytes)}; }
    Bytes value() const {
      return {bytes + 8 + load_le<uint32_t>(bytes), load_le<uint32_t>(bytes + 4)};
    }
  };

 private:
  struct Slot {
    mutable uint64_t head;  // recomputed at a cut, which does not change the order
    Record record;
    Bytes key() const { return record.key(); }
    Bytes value() const { return record.value(); }
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

 public:
  class Iterator;

  // The arena must outlive it.
  explicit EntryTree(Arena& arena) : arena_(arena), tree_(Less(), NodeAllocator<Slot>(arena)) {}
  ~EntryTree() {}  // NOLINT(modernize-use-equals-default): of the tree nothing is left to free
  EntryTree(const EntryTree&) = delete;
  EntryTree& operator=(const EntryTree&) = delete;

  // Where a key belongs; valid until the next insert.
  class Place {
   public:
    // The key is there.
    bool holds(Bytes key) const {
      return next_ != end_ && next_->head == head_ && next_->key() == key;
    }

   private:
    friend class EntryTree;
    Tree::const_iterator next_;  // the first entry not before the key
    Tree::const_iterator end_;
    uint64_t head_ = 0;
  };
  // May cut the shared prefix.
  Place find(Bytes key);
  // Copies. REQUIRES: the place of this key, which does not hold it.
  Record insert(const Place& place, Bytes key, Bytes value);
  // The entry after the place differs from `key` only in its last `tail` bytes.
  bool next_differs_in_tail(const Place& place, Bytes key, size_t tail) const;

  size_t size() const { return tree_.size(); }
  bool empty() const { return tree_.empty(); }
  Iterator iterator() const;

 private:
  // A cut of a tree with fewer entries is cheap.
  static constexpr size_t kCheapCutEntries = 1024;

  // The first entry whose key is not less than `key`.
  Tree::const_iterator lower_bound(Bytes key) const;
  // Cuts shared_ to its common prefix with `key`.
  void share(Bytes key);

  Arena& arena_;
  union {
    Tree tree_;  // never destroyed, which would visit all nodes
  };
  std::string shared_;         // common prefix of all keys in tree_
  size_t entries_at_cut_ = 0;  // number of entries at the last cut
  uint64_t inserts_ = 0;       // iterators compare it to detect a stale position
};

// Never blocks, never fails. REQUIRES: the tree outlives it.
class EntryTree::Iterator final : public EntryIterator {
 public:
  explicit Iterator(const EntryTree& tree) : tree_(&tree) {}

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

  const EntryTree* tree_;
  Tree::const_iterator place_;
  uint64_t inserts_seen_ = 0;
  Slot slot_{};
};

inline EntryTree::Iterator EntryTree::iterator() const { return Iterator(*this); }

}  // namespace cellar::engine
