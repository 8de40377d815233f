#include "engine/iter/merging_iterator.h"

#include <algorithm>

#include "engine/iter/key_head.h"
#include "io/base/check.h"

namespace cellar::engine {

void MergingIterator::add(std::unique_ptr<EntryIterator> source) {
  add_borrowed(*source);
  owned_.push_back(std::move(source));
}

void MergingIterator::add_borrowed(EntryIterator& source) {
  sources_.push_back(&source);
  only_ = nullptr;
  heap_.clear();
  moving_.clear();
}

void MergingIterator::clear() {
  heap_.clear();
  moving_.clear();
  sources_.clear();
  owned_.clear();
  only_ = nullptr;
  failed_ = kNone;
  turned_ = false;
}

bool MergingIterator::before(const Node& a, const Node& b) {
  if (a.head != b.head) return a.head < b.head;
  const int order = a.key.compare(b.key);
  return order != 0 ? order < 0 : a.source < b.source;
}

bool MergingIterator::same_key(const Node& a, const Node& b) {
  return a.head == b.head && a.key == b.key;
}

Step MergingIterator::seek(Bytes key) {
  turned_ = false;
  return restart([](EntryIterator& it, Bytes k) { return it.seek(k); }, key);
}

Step MergingIterator::seek_before(Bytes key) {
  turned_ = true;
  bound_.assign(key);
  return restart([](EntryIterator& it, Bytes k) { return it.seek_before(k); }, key);
}

Step MergingIterator::restart(Step (*move)(EntryIterator&, Bytes), Bytes key) {
  only_ = nullptr;
  heap_.clear();
  moving_.clear();
  failed_ = kNone;
  for (uint32_t i = 0; i < sources_.size(); ++i) {
    if (take(i, move(*sources_[i], key)) == Step::failed) return Step::failed;
  }
  return finish();
}

Step MergingIterator::advance_to(Bytes key) {
  if (turned_) return seek(key);
  if (only_ != nullptr) heap_[0].key = key_;
  only_ = nullptr;
  while (!heap_.empty() && heap_[0].key < key) {
    const uint32_t source = heap_[0].source;
    const Step step = sources_[source]->seek(key);
    if (step == Step::ready) {
      heap_[0].key = sources_[source]->key();
      heap_[0].head = key_head(heap_[0].key);
      sift_down(0);
      continue;
    }
    pop();
    if (take(source, step) == Step::failed) return Step::failed;
  }
  return finish();
}

bool MergingIterator::any_before(Bytes key, Which which) const {
  if (only_ != nullptr) return key_ < key && which(heap_[0].source);
  return std::any_of(heap_.begin(), heap_.end(),
                     [&](const Node& node) { return node.key < key && which(node.source); });
}

Step MergingIterator::advance_some_to(Bytes key, Which which) {
  DCHECK(!turned_);
  if (only_ != nullptr) heap_[0] = {key_head(key_), key_, heap_[0].source};
  only_ = nullptr;
  scratch_.clear();
  size_t kept = 0;
  for (const Node& node : heap_) {
    if (node.key < key && which(node.source)) {
      scratch_.push_back(node.source);
    } else {
      heap_[kept++] = node;
    }
  }
  heap_.resize(kept);
  for (size_t i = kept / 2; i > 0; --i) sift_down(i - 1);
  for (const uint32_t source : scratch_) {
    if (take(source, sources_[source]->seek(key)) == Step::failed) return Step::failed;
  }
  return finish();
}

bool MergingIterator::any_from(Bytes key, Which which) const {
  DCHECK(turned_);
  return std::any_of(heap_.begin(), heap_.end(),
                     [&](const Node& node) { return node.key >= key && which(node.source); });
}

Step MergingIterator::recede_some_to(Bytes key, Which which) {
  DCHECK(turned_);
  scratch_.clear();
  size_t kept = 0;
  for (const Node& node : heap_) {
    if (node.key >= key && which(node.source)) {
      scratch_.push_back(node.source);
    } else {
      heap_[kept++] = node;
    }
  }
  heap_.resize(kept);
  for (const uint32_t source : scratch_) {
    if (take(source, sources_[source]->seek_before(key)) == Step::failed) return Step::failed;
  }
  return finish();
}

Step MergingIterator::next_of_many() {
  DCHECK(!heap_.empty() && moving_.empty());
  if (turned_) return turn_forward();
  const size_t n = heap_.size();
  if ((n > 1 && same_key(heap_[0], heap_[1])) || (n > 2 && same_key(heap_[0], heap_[2]))) {
    return next_with_duplicates();
  }
  // The common case moves the top source in place.
  EntryIterator& source = *sources_[heap_[0].source];
  const Step step = source.next();
  if (step == Step::ready) {
    heap_[0].key = source.key();
    heap_[0].head = key_head(heap_[0].key);
    sift_down(0);
    return show();
  }
  const uint32_t moved = heap_[0].source;
  pop();
  if (take(moved, step) == Step::failed) return Step::failed;
  return finish();
}

// The only source that had entries left cannot continue.
Step MergingIterator::leave_only(Step step) {
  const uint32_t moved = heap_[0].source;
  only_ = nullptr;
  heap_.clear();
  if (take(moved, step) == Step::failed) return Step::failed;
  return finish();
}

Step MergingIterator::next_with_duplicates() {
  // The sources with the same key must be determined before any of them moves, because that
  // invalidates its key.
  scratch_.clear();
  const Node shown = heap_[0];
  while (!heap_.empty() && same_key(heap_[0], shown)) {
    scratch_.push_back(heap_[0].source);
    pop();
  }
  for (uint32_t source : scratch_) {
    if (take(source, sources_[source]->next()) == Step::failed) return Step::failed;
  }
  return finish();
}

// Every source is at its last entry before bound_, or has none.
Step MergingIterator::turn_forward() {
  turned_ = false;
  scratch_.assign(sources_.size(), 0);
  for (const Node& node : heap_) scratch_[node.source] = 1;
  heap_.clear();
  for (uint32_t i = 0; i < sources_.size(); ++i) {
    const Step step = scratch_[i] != 0 ? sources_[i]->next() : sources_[i]->seek(bound_);
    if (take(i, step) == Step::failed) return Step::failed;
  }
  return finish();
}

Step MergingIterator::resume() {
  DCHECK(!moving_.empty());
  scratch_.swap(moving_);
  moving_.clear();
  for (uint32_t source : scratch_) {
    if (take(source, sources_[source]->resume()) == Step::failed) return Step::failed;
  }
  return finish();
}

void MergingIterator::collect(std::vector<BlockRequest*>& requests) {
  for (uint32_t source : moving_) sources_[source]->collect(requests);
}

// Stores a source according to the result of its move.
Step MergingIterator::take(uint32_t source, Step step) {
  if (step == Step::ready) push(source);
  if (step == Step::blocked) moving_.push_back(source);
  if (step == Step::failed) failed_ = source;
  return step;
}

Step MergingIterator::finish() {
  if (!moving_.empty()) return Step::blocked;
  if (heap_.empty()) return Step::end;
  if (turned_) {
    // before() orders equal keys newest first: that one is shown.
    auto shown = heap_.begin();
    for (auto it = heap_.begin() + 1; it != heap_.end(); ++it) {
      if (same_key(*shown, *it) ? before(*it, *shown) : before(*shown, *it)) shown = it;
    }
    std::iter_swap(heap_.begin(), shown);
  }
  return show();
}

// The heap's top is the current entry.
Step MergingIterator::show() {
  key_ = heap_[0].key;
  shown_ = sources_[heap_[0].source];
  only_ = heap_.size() == 1 && !turned_ ? shown_ : nullptr;
  return Step::ready;
}

void MergingIterator::push(uint32_t source) {
  const Bytes key = sources_[source]->key();
  heap_.push_back(Node{key_head(key), key, source});
  size_t i = heap_.size() - 1;
  while (i > 0) {
    const size_t parent = (i - 1) / 2;
    if (!before(heap_[i], heap_[parent])) return;
    std::swap(heap_[i], heap_[parent]);
    i = parent;
  }
}

void MergingIterator::pop() {
  heap_.front() = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sift_down(0);
}

void MergingIterator::sift_down(size_t i) {
  const size_t n = heap_.size();
  while (true) {
    size_t least = i;
    for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; ++child) {
      if (before(heap_[child], heap_[least])) least = child;
    }
    if (least == i) return;
    std::swap(heap_[i], heap_[least]);
    i = least;
  }
}

}  // namespace cellar::engine
