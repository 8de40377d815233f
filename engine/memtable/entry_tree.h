// EntryTree: sorted entries in memory, of a memtable or of one of its indexes.
//
// Keys and values are in an arena that is freed with the memtable. A B+ tree of (head, record)
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
// Invariants
//   1. Entries are in the leaves, which are linked in order; no leaf is empty. Heads and records of
//      a node are arrays of their own: a search reads the heads, and records only where heads
//      equal.
//   2. Separator i of an inner node is greater than every key below child i and not greater than
//      any below child i + 1. It is the record of an entry.
//   3. A full node is split in half; the last leaf, by an append, behind its last entry, so keys
//      that ascend fill their leaves.
//
// Iterators may be kept across insert(). The bytes of key() and value() live as long as the arena.
// An insert invalidates the position in the tree, so the next move searches for the last key again.
// An iterator sees entries added ahead of it and not those added before its position.
#pragma once

#include <array>
#include <cstdint>
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
    const char* bytes = nullptr;
    Bytes key() const { return {bytes + 8, load_le<uint32_t>(bytes)}; }
    Bytes value() const {
      return {bytes + 8 + load_le<uint32_t>(bytes), load_le<uint32_t>(bytes + 4)};
    }
  };

 private:
  // A leaf has less than 512 bytes, so the first one takes no block of the arena for itself.
  static constexpr uint32_t kSlots = 28;
  // Levels above the leaves. All nodes but the root have at least 14 children.
  static constexpr size_t kMostInners = 8;
  struct Node {
    uint32_t count = 0;
    std::array<uint64_t, kSlots> heads{};
    std::array<Record, kSlots> records{};
  };
  struct Leaf : Node {
    Leaf* next = nullptr;
    Leaf* previous = nullptr;
  };
  struct Inner : Node {  // `count` separators
    std::array<Node*, kSlots + 1> children{};
  };
  // An entry, or one behind the last entry of a leaf; no leaf: behind the last one of all.
  struct Spot {
    Leaf* leaf = nullptr;
    uint32_t index = 0;
    Record record() const { return leaf->records[index]; }
    uint64_t head() const { return leaf->heads[index]; }
  };
  // The separator of a new node, which belongs behind another one.
  struct Split {
    uint64_t head = 0;
    Record first;
    Node* node = nullptr;
  };
  struct Branch {
    Inner* node = nullptr;
    uint32_t child = 0;
  };
  using Path = std::array<Branch, kMostInners>;

 public:
  class Iterator;

  // The arena must outlive it.
  explicit EntryTree(Arena& arena) : arena_(arena) {}
  EntryTree(const EntryTree&) = delete;
  EntryTree& operator=(const EntryTree&) = delete;

  // Where a key belongs; valid until the next find() or insert().
  class Place {
   public:
    // The key is there.
    bool holds(Bytes key) const {
      return next_.leaf != nullptr && next_.head() == head_ && next_.record().key() == key;
    }

   private:
    friend class EntryTree;
    Path path_;  // to at_.leaf, from the root
    Spot at_;    // the index may be one behind the leaf's last entry
    Spot next_;  // the first entry not before the key
    uint64_t head_ = 0;
  };
  // May cut the shared prefix.
  Place find(Bytes key);
  // Copies. REQUIRES: the place of this key, which does not hold it.
  Record insert(const Place& place, Bytes key, Bytes value);
  // The entry after the place differs from `key` only in its last `tail` bytes.
  bool next_differs_in_tail(const Place& place, Bytes key, size_t tail) const;

  // A find() of a key with this prefix follows soon: loads what it will look at into the
  // processor's cache, step by step. Each step needs what the one before it has begun to load, so
  // the steps of several searches should alternate. Changes nothing. No find() or insert() between
  // the steps.
  class Expected {
   private:
    friend class EntryTree;
    const Node* node_ = nullptr;
    size_t inners_ = 0;  // levels of inner nodes, from the node on
    uint64_t head_ = 0;
    uint64_t known_ = 0;  // bits of the head that the prefix decides
  };
  Expected expect(Bytes prefix) const;
  // False: that was the last step.
  static bool expect_next(Expected& expected);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Iterator iterator() const;

 private:
  // A cut of a tree with fewer entries is cheap.
  static constexpr size_t kCheapCutEntries = 1024;
  // What goes before a key: smaller ones, or the key itself too.
  enum class Before : uint8_t { smaller, not_greater };

  static uint32_t search(const Node& node, uint64_t head, Bytes key, Before before);
  static Spot entry_at(Spot spot);
  // The spot of the first entry that does not go before `key`, possibly one behind the last entry
  // of a leaf. REQUIRES: a tree that is not empty.
  Spot descend(uint64_t head, Bytes key, Before before, Path* path) const;
  Spot bound(Bytes key, Before before) const;
  template <class T>
  T* make();
  static void put(Node& node, uint32_t index, uint64_t head, Record record);
  static void move_tail(Node& from, uint32_t at, Node& to);
  Spot split(Spot full, Split& split);
  void add_to_parent(const Path& path, Split split);
  Split split_inner(Inner& full, uint32_t child, const Split& split);
  // Cuts shared_ to its common prefix with `key`.
  void share(Bytes key);
  void renew_heads(Node& node, size_t inners);

  Arena& arena_;
  Node* root_ = nullptr;  // null: the tree is empty
  Leaf* first_ = nullptr;
  Leaf* last_ = nullptr;
  size_t inners_ = 0;  // levels above the leaves
  size_t size_ = 0;
  std::string shared_;         // common prefix of all keys
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
  Bytes key() const override { return record_.key(); }
  Bytes value() const override { return record_.value(); }
  const Error& error() const override;

 private:
  Step stand();
  void load_ahead() const;

  const EntryTree* tree_;
  Spot spot_;
  uint64_t inserts_seen_ = 0;
  size_t moves_ = 0;  // since the last seek
  Record record_;
};

inline EntryTree::Iterator EntryTree::iterator() const { return Iterator(*this); }

}  // namespace cellar::engine
