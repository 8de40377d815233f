#include "engine/memtable/entry_tree.h"

#include <algorithm>

#include "io/base/check.h"

namespace cellar::engine {

EntryTree::Place EntryTree::find(Bytes key) {
  share(key);
  const Probe probe(key, shared_.size());
  Place place;
  place.next_ = tree_.lower_bound(probe);
  place.end_ = tree_.end();
  place.head_ = probe.head;
  return place;
}

EntryTree::Record EntryTree::insert(const Place& place, Bytes key, Bytes value) {
  char* record = arena_.allocate(8 + key.size() + value.size());
  store_le(record, static_cast<uint32_t>(key.size()));
  store_le(record + 4, static_cast<uint32_t>(value.size()));
  std::memcpy(record + 8, key.data(), key.size());
  if (!value.empty()) std::memcpy(record + 8 + key.size(), value.data(), value.size());
  tree_.insert(place.next_, Slot{place.head_, {record}});
  ++inserts_;
  return {record};
}

// If the tail lies after the part covered by a head, unequal heads decide without reading the key.
bool EntryTree::next_differs_in_tail(const Place& place, Bytes key, size_t tail) const {
  if (place.next_ == tree_.end()) return false;
  const size_t same = key.size() - tail;
  if (place.next_->head != place.head_ && same >= shared_.size() + sizeof place.head_) return false;
  const Bytes next = place.next_->key();
  return next.size() == key.size() && next.substr(0, same) == key.substr(0, same);
}

void EntryTree::share(Bytes key) {
  if (tree_.empty()) shared_.assign(key);
  size_t common = common_prefix(key, shared_);
  if (common == shared_.size()) return;
  const bool cheap = size() < kCheapCutEntries || size() >= 2 * entries_at_cut_;
  if (!cheap) common = std::min(common, shared_.size() / 2);
  shared_.resize(common);
  entries_at_cut_ = size();
  for (const Slot& slot : tree_) slot.head = key_head(slot.key().substr(common));
}

EntryTree::Tree::const_iterator EntryTree::lower_bound(Bytes key) const {
  if (key.starts_with(shared_)) return tree_.lower_bound(Probe(key, shared_.size()));
  // The key then sorts before or after all others.
  return key < shared_ ? tree_.begin() : tree_.end();
}

Step EntryTree::Iterator::stand() {
  inserts_seen_ = tree_->inserts_;
  if (place_ == tree_->tree_.end()) return Step::end;
  slot_ = *place_;
  return Step::ready;
}

Step EntryTree::Iterator::seek(Bytes key) {
  place_ = tree_->lower_bound(key);
  return stand();
}

Step EntryTree::Iterator::seek_before(Bytes key) {
  place_ = tree_->lower_bound(key);
  if (place_ == tree_->tree_.begin()) return Step::end;
  --place_;
  return stand();
}

Step EntryTree::Iterator::next() {
  if (inserts_seen_ != tree_->inserts_) {
    place_ = tree_->tree_.upper_bound(Probe(slot_.key(), tree_->shared_.size()));
  } else {
    ++place_;
  }
  return stand();
}

Step EntryTree::Iterator::resume() { UNREACHABLE("a memtable never blocks"); }
void EntryTree::Iterator::collect(std::vector<BlockRequest*>& /*requests*/) {
  UNREACHABLE("a memtable never blocks");
}
const Error& EntryTree::Iterator::error() const { UNREACHABLE("a memtable never fails"); }

}  // namespace cellar::engine
