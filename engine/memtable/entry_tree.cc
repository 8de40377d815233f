#include "engine/memtable/entry_tree.h"

#include <algorithm>
#include <new>

#include "io/base/check.h"

namespace cellar::engine {
namespace {

constexpr size_t kLineBytes = 64;

template <class T>
void prefetch(const T& object) {
  const auto* at = reinterpret_cast<const char*>(&object);
  for (size_t line = 0; line < sizeof object; line += kLineBytes) __builtin_prefetch(at + line);
}

// After kMovesOfScan moves an iterator prefetches the entry kEntriesAhead positions ahead:
// neighbours in key order lie at random places of the arena, and each would be a cache miss.
constexpr size_t kMovesOfScan = 3;
constexpr uint32_t kEntriesAhead = 8;
// Prefetched behind a new entry, because the next one is written there, mostly to lines that are
// in no cache.
constexpr size_t kNextEntryBytes = 4 * kLineBytes;

// Prefetches the sizes of an entry and most of its key. While a value is copied, the hardware
// prefetcher loads the rest of it.
void load_begin(const char* entry) {
  __builtin_prefetch(entry);
  __builtin_prefetch(entry + kLineBytes);
}

// Number of the first `count` that are less than `head`. Without branches, which nothing predicts.
uint32_t count_less(const uint64_t* heads, uint32_t count, uint64_t head) {
  const uint64_t* from = heads;
  while (count > 1) {
    const uint32_t half = count / 2;
    from += from[half - 1] < head ? half : 0;
    count -= half;
  }
  return static_cast<uint32_t>(from - heads) + (count == 1 && *from < head ? 1 : 0);
}

}  // namespace

// ---- searching

// The first entry or separator of the node that does not go before `key`.
uint32_t EntryTree::search(const Node& node, uint64_t head, Bytes key, Before before) {
  prefetch(node.heads);
  const auto goes_before = [&](uint32_t i) {
    const Bytes other = node.records[i].key();
    return before == Before::smaller ? other < key : other <= key;
  };
  uint32_t at = count_less(node.heads.data(), node.count, head);
  // Equal heads do not decide. The first one often does: a new version goes before the older ones.
  if (at == node.count || node.heads[at] != head || !goes_before(at)) return at;
  ++at;
  uint32_t end = at;
  while (end < node.count && node.heads[end] == head) ++end;
  while (at < end) {
    const uint32_t middle = (at + end) / 2;
    if (goes_before(middle)) {
      at = middle + 1;
    } else {
      end = middle;
    }
  }
  return at;
}

EntryTree::Spot EntryTree::entry_at(Spot spot) {
  if (spot.leaf != nullptr && spot.index == spot.leaf->count) return {spot.leaf->next, 0};
  return spot;
}

EntryTree::Spot EntryTree::descend(uint64_t head, Bytes key, Before before, Path* path) const {
  Node* node = root_;
  for (size_t level = 0; level < inners_; ++level) {
    auto* inner = static_cast<Inner*>(node);
    const uint32_t child = search(*inner, head, key, Before::not_greater);
    if (path != nullptr) (*path)[level] = {inner, child};
    node = inner->children[child];
  }
  auto* leaf = static_cast<Leaf*>(node);
  return {leaf, search(*leaf, head, key, before)};
}

EntryTree::Spot EntryTree::bound(Bytes key, Before before) const {
  if (empty()) return {};
  if (key.starts_with(shared_)) {
    return descend(key_head(key.substr(shared_.size())), key, before, nullptr);
  }
  // The key then sorts before or after all others.
  return key < shared_ ? Spot{first_, 0} : Spot{last_, last_->count};
}

EntryTree::Place EntryTree::find(Bytes key) {
  share(key);
  Place place;
  place.head_ = key_head(key.substr(shared_.size()));
  if (!empty()) place.at_ = descend(place.head_, key, Before::smaller, &place.path_);
  place.next_ = entry_at(place.at_);
  return place;
}

EntryTree::Expected EntryTree::expect(Bytes prefix) const {
  Expected expected;
  if (empty() || !prefix.starts_with(shared_)) return expected;
  expected.node_ = root_;
  expected.inners_ = inners_;
  const Bytes rest = prefix.substr(shared_.size());
  expected.head_ = key_head(rest);
  const size_t unknown = sizeof expected.head_ - std::min(sizeof expected.head_, rest.size());
  expected.known_ = unknown == sizeof expected.head_ ? 0 : ~uint64_t{0} << 8 * unknown;
  return expected;
}

// By heads alone: to the leaf of the first key that may have the prefix, and to this entry.
bool EntryTree::expect_next(Expected& expected) {
  if (expected.node_ == nullptr) return false;
  const Node& node = *expected.node_;
  const uint32_t at = count_less(node.heads.data(), node.count, expected.head_);
  // The search will read the key where heads are equal.
  const bool leaf = expected.inners_ == 0;
  if (at < node.count && ((node.heads[at] ^ expected.head_) & expected.known_) == 0)
    load_begin(node.records[at].bytes);
  if (leaf) {
    expected.node_ = nullptr;
    return false;
  }
  expected.node_ = static_cast<const Inner&>(node).children[at];
  prefetch(expected.node_->heads);
  if (--expected.inners_ == 0) prefetch(expected.node_->records);
  return true;
}

// If the tail lies after the part covered by a head, unequal heads decide without reading the key.
bool EntryTree::next_differs_in_tail(const Place& place, Bytes key, size_t tail) const {
  if (place.next_.leaf == nullptr) return false;
  const size_t same = key.size() - tail;
  if (place.next_.head() != place.head_ && same >= shared_.size() + sizeof place.head_)
    return false;
  const Bytes next = place.next_.record().key();
  return next.size() == key.size() && next.substr(0, same) == key.substr(0, same);
}

// ---- inserting

template <class T>
T* EntryTree::make() {
  return new (arena_.allocate_aligned(sizeof(T), alignof(T))) T;
}

EntryTree::Record EntryTree::insert(const Place& place, Bytes key, Bytes value) {
  char* bytes = arena_.allocate(8 + key.size() + value.size());
  store_le(bytes, static_cast<uint32_t>(key.size()));
  store_le(bytes + 4, static_cast<uint32_t>(value.size()));
  std::memcpy(bytes + 8, key.data(), key.size());
  char* const end = bytes + 8 + key.size() + value.size();
  if (!value.empty()) std::memcpy(bytes + 8 + key.size(), value.data(), value.size());
  for (size_t line = 0; line < kNextEntryBytes; line += kLineBytes)
    __builtin_prefetch(end + line, 1);
  const Record record{bytes};
  Spot at = place.at_;
  if (empty()) {
    at.leaf = first_ = last_ = make<Leaf>();
    root_ = at.leaf;
  }
  ++size_;
  ++inserts_;
  if (at.leaf->count < kSlots) {
    put(*at.leaf, at.index, place.head_, record);
    return record;
  }
  Split new_leaf;
  at = split(at, new_leaf);
  put(*at.leaf, at.index, place.head_, record);
  new_leaf.head = new_leaf.node->heads[0];
  new_leaf.first = new_leaf.node->records[0];
  add_to_parent(place.path_, new_leaf);
  return record;
}

// Into a node that is not full; the children of an inner node are the caller's.
void EntryTree::put(Node& node, uint32_t index, uint64_t head, Record record) {
  std::move_backward(node.heads.begin() + index, node.heads.begin() + node.count,
                     node.heads.begin() + node.count + 1);
  std::move_backward(node.records.begin() + index, node.records.begin() + node.count,
                     node.records.begin() + node.count + 1);
  node.heads[index] = head;
  node.records[index] = record;
  ++node.count;
}

// To an empty node.
void EntryTree::move_tail(Node& from, uint32_t at, Node& to) {
  std::copy(from.heads.begin() + at, from.heads.begin() + from.count, to.heads.begin());
  std::copy(from.records.begin() + at, from.records.begin() + from.count, to.records.begin());
  to.count = from.count - at;
  from.count = at;
}

// Splits a full leaf. Returns where the entry that belongs at that spot goes; the new leaf, whose
// separator is not known yet, may have this one alone.
EntryTree::Spot EntryTree::split(Spot full, Split& split) {
  Leaf* const leaf = full.leaf;
  auto* const right = make<Leaf>();
  const bool append = leaf == last_ && full.index == leaf->count;
  move_tail(*leaf, append ? leaf->count : kSlots / 2, *right);
  right->next = leaf->next;
  right->previous = leaf;
  (leaf->next != nullptr ? leaf->next->previous : last_) = right;
  leaf->next = right;
  split.node = right;
  if (full.index < leaf->count || (full.index == leaf->count && !append)) return full;
  return {right, full.index - leaf->count};
}

// From the lowest inner node up to one that has room.
void EntryTree::add_to_parent(const Path& path, Split split) {
  for (size_t level = inners_; level > 0; --level) {
    const auto [node, child] = path[level - 1];
    if (node->count < kSlots) {
      std::move_backward(node->children.begin() + child + 1,
                         node->children.begin() + node->count + 1,
                         node->children.begin() + node->count + 2);
      node->children[child + 1] = split.node;
      put(*node, child, split.head, split.first);
      return;
    }
    split = split_inner(*node, child, split);
  }
  CHECK(inners_ < kMostInners, "a tree of {} entries has {} levels", size_, inners_ + 1);
  auto* const root = make<Inner>();
  put(*root, 0, split.head, split.first);
  root->children[0] = root_;
  root->children[1] = split.node;
  root_ = root;
  ++inners_;
}

// Adds a node behind a child of a full node, which gives its upper half to a new one.
EntryTree::Split EntryTree::split_inner(Inner& full, uint32_t child, const Split& split) {
  auto* const right = make<Inner>();
  constexpr uint32_t kHalf = kSlots / 2;
  // The separator between the halves goes up.
  move_tail(full, kHalf, *right);
  const Split up{right->heads[0], right->records[0], right};
  std::move(right->heads.begin() + 1, right->heads.begin() + right->count, right->heads.begin());
  std::move(right->records.begin() + 1, right->records.begin() + right->count,
            right->records.begin());
  --right->count;
  std::copy(full.children.begin() + kHalf + 1, full.children.end(), right->children.begin());
  Inner& to = child <= kHalf ? full : *right;
  const uint32_t behind = child <= kHalf ? child : child - kHalf - 1;
  std::move_backward(to.children.begin() + behind + 1, to.children.begin() + to.count + 1,
                     to.children.begin() + to.count + 2);
  to.children[behind + 1] = split.node;
  put(to, behind, split.head, split.first);
  return up;
}

void EntryTree::share(Bytes key) {
  if (empty()) shared_.assign(key);
  size_t common = common_prefix(key, shared_);
  if (common == shared_.size()) return;
  const bool cheap = size() < kCheapCutEntries || size() >= 2 * entries_at_cut_;
  if (!cheap) common = std::min(common, shared_.size() / 2);
  shared_.resize(common);
  entries_at_cut_ = size();
  if (!empty()) renew_heads(*root_, inners_);
}

void EntryTree::renew_heads(Node& node, size_t inners) {
  for (uint32_t i = 0; i < node.count; ++i) {
    node.heads[i] = key_head(node.records[i].key().substr(shared_.size()));
  }
  if (inners == 0) return;
  auto& inner = static_cast<Inner&>(node);
  for (uint32_t i = 0; i <= inner.count; ++i) renew_heads(*inner.children[i], inners - 1);
}

// ---- iterators

Step EntryTree::Iterator::stand() {
  inserts_seen_ = tree_->inserts_;
  spot_ = entry_at(spot_);
  if (spot_.leaf == nullptr) return Step::end;
  record_ = spot_.record();
  return Step::ready;
}

void EntryTree::Iterator::load_ahead() const {
  const Leaf* leaf = spot_.leaf;
  if (spot_.index == 0 && leaf->next != nullptr) prefetch(*leaf->next);
  uint32_t ahead = spot_.index + kEntriesAhead;
  if (ahead >= leaf->count) {
    ahead -= leaf->count;
    leaf = leaf->next;
    if (leaf == nullptr || ahead >= leaf->count) return;
  }
  load_begin(leaf->records[ahead].bytes);
}

Step EntryTree::Iterator::seek(Bytes key) {
  moves_ = 0;
  spot_ = tree_->bound(key, Before::smaller);
  return stand();
}

Step EntryTree::Iterator::seek_before(Bytes key) {
  moves_ = 0;
  spot_ = tree_->bound(key, Before::smaller);
  if (spot_.leaf != nullptr && spot_.index == 0) {
    Leaf* const leaf = spot_.leaf->previous;
    spot_ = leaf == nullptr ? Spot{} : Spot{leaf, leaf->count};
  }
  if (spot_.leaf == nullptr) return Step::end;
  --spot_.index;
  return stand();
}

Step EntryTree::Iterator::next() {
  if (inserts_seen_ != tree_->inserts_) {
    spot_ = tree_->bound(record_.key(), Before::not_greater);
  } else {
    ++spot_.index;
  }
  const Step step = stand();
  if (step == Step::ready && ++moves_ >= kMovesOfScan) load_ahead();
  return step;
}

Step EntryTree::Iterator::resume() { UNREACHABLE("a memtable never blocks"); }
void EntryTree::Iterator::collect(std::vector<BlockRequest*>& /*requests*/) {
  UNREACHABLE("a memtable never blocks");
}
const Error& EntryTree::Iterator::error() const { UNREACHABLE("a memtable never fails"); }

}  // namespace cellar::engine
