// MergingIterator: merges several sources.
//
// Sources are given newest first. If several have the same key (a commit both in a table and
// replayed from the log), the newest source's entry is shown and the others are skipped.
//
// Every source is in one of three states: in the heap (at an entry not yet shown), in `moving_`
// (its move is blocked), or exhausted. A move of the merge first moves all sources concerned, so
// that their missing blocks are requested together; only when none is blocked is the heap's top the
// result. resume() therefore needs no record of the interrupted move.
//
// seek_before turns all sources back and shows the greatest of their entries. The others are then
// before it, and the next entry of every source is at or after the bound; so the first next()
// afterwards moves every source forward once (`turned_`), and from then on the merge is an ordinary
// one.
//
// Heads (key_head.h) are cached in the heap. One shard. Allocates for more than a few sources and
// for the bound of seek_before; not per move.
#pragma once

#include <absl/container/inlined_vector.h>
#include <absl/functional/function_ref.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/iter/entry_iterator.h"

namespace cellar::engine {

class MergingIterator final : public EntryIterator {
 public:
  MergingIterator() = default;

  // Add sources from newest to oldest. A seek must follow.
  void add(std::unique_ptr<EntryIterator> source);
  void add_borrowed(EntryIterator& source);  // REQUIRES: outlives the merge, or clear()
  void clear();                              // removes the sources, keeps the memory
  size_t sources() const { return sources_.size(); }

  Step seek(Bytes key) override;
  Step seek_before(Bytes key) override;
  // Like seek, for a key not before the current one: sources at or after it do not move, nor do
  // exhausted ones. `key` must outlive the move. REQUIRES: ready.
  Step advance_to(Bytes key);
  // Some of the sources, by the order in which they were added.
  using Which = absl::FunctionRef<bool(size_t source)>;
  // Whether one of them is at an entry before `key`. REQUIRES: ready, not after seek_before.
  bool any_before(Bytes key, Which which) const;
  // Like advance_to, but of these sources only: the others stay, at entries that may be before
  // `key`. REQUIRES: ready, not after seek_before.
  Step advance_some_to(Bytes key, Which which);
  // The counterparts after seek_before. REQUIRES: ready, after seek_before or recede_some_to; after
  // recede_some_to no next().
  bool any_from(Bytes key, Which which) const;  // at an entry at or after `key`
  // Moves those sources to their last entries before `key`; the others stay.
  Step recede_some_to(Bytes key, Which which);
  Step next() override {
    if (only_ == nullptr) return next_of_many();
    const Step step = only_->next();
    if (step != Step::ready) return leave_only(step);
    key_ = only_->key();
    return step;
  }
  Step resume() override;
  void collect(std::vector<BlockRequest*>& requests) override;
  Bytes key() const override { return key_; }
  Bytes value() const override { return shown_->value(); }
  const Error& error() const override { return sources_[failed_]->error(); }

 private:
  struct Node {
    uint64_t head;
    Bytes key;  // of the source's current entry
    uint32_t source;
  };
  static constexpr size_t kNone = SIZE_MAX;

  // True if a is shown before b.
  static bool before(const Node& a, const Node& b);
  static bool same_key(const Node& a, const Node& b);

  Step restart(Step (*move)(EntryIterator&, Bytes), Bytes key);
  Step take(uint32_t source, Step step);
  Step finish();
  Step show();
  Step next_of_many();
  Step leave_only(Step step);
  Step turn_forward();
  Step next_with_duplicates();
  void push(uint32_t source);
  void pop();
  void sift_down(size_t i);

  // Enough for most reads.
  static constexpr size_t kFewSources = 8;

  absl::InlinedVector<EntryIterator*, kFewSources> sources_;
  std::vector<std::unique_ptr<EntryIterator>> owned_;
  // Unless turned_: least key first; among equal keys the newest source first.
  absl::InlinedVector<Node, kFewSources> heap_;
  absl::InlinedVector<uint32_t, kFewSources> moving_;
  absl::InlinedVector<uint32_t, kFewSources> scratch_;
  // The current entry: heap_[0]'s key and source. `only_` is set while all others are exhausted,
  // until the next seek; then heap_[0] is not maintained.
  Bytes key_;
  EntryIterator* shown_ = nullptr;
  EntryIterator* only_ = nullptr;
  std::string bound_;  // for seek_before
  // The last move was seek_before: heap_ has the sources that found an entry, the shown one first.
  bool turned_ = false;
  size_t failed_ = kNone;
};

}  // namespace cellar::engine
