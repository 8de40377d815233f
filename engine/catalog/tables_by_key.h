// TablesByKey: tables in the order of a key, for TableMap: a value whose copies share everything. A
// change copies the list of leaves and one leaf, so with 10,000 tables it costs a few hundred
// pointers, not a tree of 10,000 nodes.
//
// Invariants: leaves are sorted and not empty, and hold at most kLeafItems items; the items of a
// leaf are before those of the next one. Leaves are never changed after they were made, because
// other shards may share them.
//
// Example: two leaves [a c] [f k m]; put(d) makes [a c d] and shares [f k m].
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace cellar::engine {

struct TableEntry;  // table_map.h

template <class Key>
class TablesByKey {
 public:
  using Table = std::shared_ptr<const TableEntry>;
  using Item = std::pair<Key, Table>;
  static constexpr size_t kLeafItems = 64;

 private:
  using Leaf = std::vector<Item>;
  using Leaves = std::vector<std::shared_ptr<const Leaf>>;

 public:
  // Ascending. Valid as long as the index is not changed.
  class Iterator {
   public:
    Iterator(const Leaves* leaves, size_t leaf) : leaves_(leaves), leaf_(leaf) {}
    const Item& operator*() const { return (*(*leaves_)[leaf_])[item_]; }
    Iterator& operator++() {
      if (++item_ == (*leaves_)[leaf_]->size()) {
        ++leaf_;
        item_ = 0;
      }
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Leaves* leaves_;
    size_t leaf_;
    size_t item_ = 0;
  };

  TablesByKey() : leaves_(std::make_shared<const Leaves>()) {}

  Iterator begin() const { return {leaves_.get(), 0}; }
  Iterator end() const { return {leaves_.get(), leaves_->size()}; }
  size_t size() const { return size_; }

  // null: absent.
  template <class Sought>
  const TableEntry* find(const Sought& key) const {
    const size_t leaf = leaf_of(key);
    if (leaf == leaves_->size()) return nullptr;
    const Leaf& items = *(*leaves_)[leaf];
    const auto at = place_in(items, key);
    return at == items.end() || key < at->first ? nullptr : at->second.get();
  }
  // Replaces or adds.
  void put(Key key, Table table) {
    Leaves leaves = *leaves_;
    if (leaves.empty()) leaves.push_back(std::make_shared<const Leaf>());
    const size_t number = std::min(leaf_of(key), leaves.size() - 1);
    Leaf items = *leaves[number];
    const auto at = items.begin() + (place_in(items, key) - items.cbegin());
    if (at != items.end() && !(key < at->first)) {
      at->second = std::move(table);
    } else {
      items.insert(at, {std::move(key), std::move(table)});
      ++size_;
    }
    replace(leaves, number, std::move(items));
  }
  // REQUIRES: sorted by key, no key twice; the index is empty.
  void fill(std::vector<Item> items) {
    Leaves leaves;
    size_ = items.size();
    for (size_t at = 0; at < items.size(); at += kFilledItems) {
      const auto first = items.begin() + static_cast<ptrdiff_t>(at);
      const size_t count = std::min(kFilledItems, items.size() - at);
      leaves.push_back(std::make_shared<const Leaf>(
          std::make_move_iterator(first),
          std::make_move_iterator(first + static_cast<ptrdiff_t>(count))));
    }
    leaves_ = std::make_shared<const Leaves>(std::move(leaves));
  }
  template <class Sought>
  void erase(const Sought& key) {
    if (find(key) == nullptr) return;
    Leaves leaves = *leaves_;
    const size_t number = leaf_of(key);
    Leaf items = *leaves[number];
    items.erase(items.begin() + (place_in(items, key) - items.cbegin()));
    --size_;
    replace(leaves, number, std::move(items));
  }

 private:
  static constexpr size_t kFilledItems = kLeafItems / 2;

  // The first leaf that ends at the key or after it.
  template <class Sought>
  size_t leaf_of(const Sought& key) const {
    const auto it = std::partition_point(
        leaves_->begin(), leaves_->end(),
        [&key](const std::shared_ptr<const Leaf>& leaf) { return leaf->back().first < key; });
    return static_cast<size_t>(it - leaves_->begin());
  }
  template <class Sought>
  static Leaf::const_iterator place_in(const Leaf& items, const Sought& key) {
    return std::partition_point(items.begin(), items.end(),
                                [&key](const Item& item) { return item.first < key; });
  }
  // Puts the items in place of leaf `number`: as one leaf, two or none.
  void replace(Leaves& leaves, size_t number, Leaf items) {
    const auto at = leaves.begin() + static_cast<ptrdiff_t>(number);
    if (items.size() > kLeafItems) {
      const auto middle = items.begin() + static_cast<ptrdiff_t>(items.size() / 2);
      auto upper = std::make_shared<const Leaf>(std::make_move_iterator(middle),
                                                std::make_move_iterator(items.end()));
      items.erase(middle, items.end());
      *at = std::make_shared<const Leaf>(std::move(items));
      leaves.insert(leaves.begin() + static_cast<ptrdiff_t>(number) + 1, std::move(upper));
    } else if (items.empty()) {
      leaves.erase(at);
    } else {
      *at = std::make_shared<const Leaf>(std::move(items));
    }
    leaves_ = std::make_shared<const Leaves>(std::move(leaves));
  }

  std::shared_ptr<const Leaves> leaves_;
  size_t size_ = 0;
};

}  // namespace cellar::engine
