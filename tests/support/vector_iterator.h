// VectorIterator: an EntryIterator over sorted pairs that may block at random, for tests.
//
// Keys and values are in memory that is freed by the next move, so that a sanitizer reports uses of
// an old view. A violation of the contract aborts.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/iter/entry_iterator.h"
#include "io/base/check.h"
#include "io/base/random.h"

namespace cellar::engine {

using EntryVector = std::vector<std::pair<std::string, std::string>>;

class VectorIterator final : public EntryIterator, private BlockRequest {
 public:
  // `entries` sorted, no key twice. With `random` one move in `block_one_in` blocks.
  explicit VectorIterator(EntryVector entries, Random* random = nullptr, uint64_t block_one_in = 3)
      : entries_(std::move(entries)), random_(random), block_one_in_(block_one_in) {}

  // The next move fails with this error.
  void fail_next(Error error) { failure_ = std::move(error); }

  Step seek(Bytes key) override { return move(lower_bound(key)); }
  Step seek_before(Bytes key) override {
    const size_t at = lower_bound(key);
    return move(at == 0 ? entries_.size() : at - 1);
  }
  Step next() override {
    CHECK(state_ == Step::ready);
    return move(at_ + 1);
  }
  Step resume() override {
    CHECK(state_ == Step::blocked && loaded_, "resume before the request was loaded");
    return arrive();
  }
  void collect(std::vector<BlockRequest*>& requests) override {
    CHECK(state_ == Step::blocked);
    requests.push_back(this);
  }
  Bytes key() const override {
    CHECK(state_ == Step::ready);
    return shown_->first;
  }
  Bytes value() const override { return shown_->second; }
  const Error& error() const override { return *failure_; }

 private:
  void load(BlockWaiter& waiter) override {
    loaded_ = true;
    waiter.block_done();
  }
  size_t lower_bound(Bytes key) const {
    return static_cast<size_t>(
        std::lower_bound(entries_.begin(), entries_.end(), key,
                         [](const auto& entry, Bytes k) { return entry.first < k; }) -
        entries_.begin());
  }
  Step move(size_t to) {
    shown_.reset();
    at_ = to;
    loaded_ = false;
    if (failure_) return state_ = Step::failed;
    if (random_ != nullptr && random_->one_in(block_one_in_)) return state_ = Step::blocked;
    return arrive();
  }
  Step arrive() {
    if (random_ != nullptr && random_->one_in(block_one_in_ * 4)) {
      loaded_ = false;
      return state_ = Step::blocked;
    }
    if (at_ >= entries_.size()) return state_ = Step::end;
    shown_ = std::make_unique<std::pair<std::string, std::string>>(entries_[at_]);
    return state_ = Step::ready;
  }

  EntryVector entries_;
  Random* random_;
  uint64_t block_one_in_;
  size_t at_ = 0;
  Step state_ = Step::end;
  bool loaded_ = false;
  std::unique_ptr<std::pair<std::string, std::string>> shown_;
  std::optional<Error> failure_;
};

// Completes a blocked iterator by loading everything it wants at once; counts the loads.
struct InstantLoader final : BlockWaiter {
  size_t started = 0;
  size_t done = 0;
  size_t rounds = 0;
  void block_done() override { ++done; }

  Step finish(EntryIterator& it, Step step) {
    while (step == Step::blocked) {
      std::vector<BlockRequest*> requests;
      it.collect(requests);
      CHECK(!requests.empty(), "blocked, but nothing wanted");
      ++rounds;
      for (BlockRequest* request : requests) {
        ++started;
        request->load(*this);
      }
      CHECK(done == started);
      step = it.resume();
    }
    return step;
  }
};

}  // namespace cellar::engine
