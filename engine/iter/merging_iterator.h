// MergingIterator: many sources as one.
//
// Sources are given newest first. Where several hold the same key (a commit that is both in a table
// and replayed from the log), the newest source's entry is shown and the others are skipped.
//
// Every source is in one of three places: in the heap (it stands on an entry not yet shown), in
// `moving_` (its move is blocked), or nowhere (at its end). A move of the merge first moves the
// sources it concerns, all of them, so that the blocks they lack are wanted together; only when
// none is blocked is the heap's top the answer. So resume() needs no memory of which move it
// finishes.
//
// seek_before turns all sources back and shows the greatest of their entries. The others then lie
// behind it, and whatever any source holds next is at or after the bound; so the first next() after
// it moves every source forward once (`turned_`), and from there on the merge is an ordinary one.
//
// Heads (key_head.h) are cached in the heap. Belongs to one shard. Allocates when it gets more than
// a few sources, and for the bound of seek_before; not per move.
#pragma once

#include <absl/container/inlined_vector.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/iter/entry_iterator.h"

namespace cellar::engine {

class MergingIterator final : public EntryIterator {
 public:
  MergingIterator() = default;

  // Each source is older than those before it. The merge must be moved by a seek afterwards.
  void add(std::unique_ptr<EntryIterator> source);
  void add_borrowed(EntryIterator& source);  // REQUIRES: outlives the merge, or clear()
  void clear();                              // forgets the sources, keeps the memory
  size_t sources() const { return sources_.size(); }

  Step seek(Bytes key) override;
  Step seek_before(Bytes key) override;
  // As seek, for a key that is not before the one shown: sources that stand at or behind it stay
  // there, and those at their ends stay there, too. `key` outlives the move. REQUIRES: ready.
  Step advance_to(Bytes key);
  Step next() override {
    if (only_ == nullptr) return next_of_many();
    const Step step = only_->next();
    if (step != Step::ready) return leave_only(step);
    key_ = only_->key();
    return step;
  }
  Step resume() override;
  void collect(std::vector<BlockWant*>& wants) override;
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

  // True when a is shown before b.
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

  // Room for the sources of most reads.
  static constexpr size_t kFewSources = 8;

  absl::InlinedVector<EntryIterator*, kFewSources> sources_;
  std::vector<std::unique_ptr<EntryIterator>> owned_;
  // Unless turned_: least key first; of equal keys the newest source first.
  absl::InlinedVector<Node, kFewSources> heap_;
  absl::InlinedVector<uint32_t, kFewSources> moving_;
  absl::InlinedVector<uint32_t, kFewSources> scratch_;
  // Where the merge stands: heap_[0]'s key and source. `only_` is set while all others are at their
  // ends, until the next seek; then heap_[0] is not kept up.
  Bytes key_;
  EntryIterator* shown_ = nullptr;
  EntryIterator* only_ = nullptr;
  std::string bound_;  // of seek_before
  // The last move was seek_before: heap_ holds the sources that found an entry, the shown one
  // first.
  bool turned_ = false;
  size_t failed_ = kNone;
};

}  // namespace cellar::engine
