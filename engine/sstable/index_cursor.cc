#include "engine/sstable/index_cursor.h"

#include <algorithm>

#include "io/base/check.h"

namespace cellar::engine {

// The part if it is loaded, else null.
BlockRef PartWalk::find(size_t number) {
  if (ahead_ && ahead_->done() && ahead_->covers(number)) {
    // After a failure the iterator requests the part again and gets the error.
    if (!ahead_->failed()) {
      loaded_first_ = ahead_->first_block();
      loaded_ = ahead_->take();
    }
    ahead_.reset();
  }
  if (number - loaded_first_ < loaded_.size()) return loaded_[number - loaded_first_];
  if (BlockRef cached = table_.cached_part(number)) return cached;
  if (options_.prefetch == nullptr) return {};
  return options_.prefetch->take(table_, table_.top_index()->handle(number).offset);
}

PartWalk::Step PartWalk::open(size_t number, Open& into) {
  into = Open();
  into.ref = find(number);
  if (!into.ref) return Step::absent;
  if (!table_.open_part(into.ref, number, into.part)) return Step::malformed;
  into.number = number;
  into.first = table_.top_index()->first_block(number);
  return Step::ready;
}

PartWalk::Step PartWalk::stand_on(size_t part) {
  if (here_.number == part) return Step::ready;
  walking_ = stood_on_ != SIZE_MAX && part == stood_on_ + 1;
  if (next_.number == part) {
    here_ = std::exchange(next_, Open());
  } else {
    next_ = Open();
    const Step step = open(part, here_);
    if (step == Step::absent) wanted_ = part;
    if (step != Step::ready) return step;
  }
  stood_on_ = part;
  look_ahead();
  return Step::ready;
}

// An iterator that came from the previous part will continue to the next one.
void PartWalk::look_ahead() {
  const size_t number = here_.number + 1;
  if ((!walking_ && !options_.whole_table) || number >= table_.top_index()->parts()) return;
  if (open(number, next_) != Step::absent || (ahead_ && ahead_->covers(number))) return;
  const std::vector<BlockHandle> parts =
      run(number, options_.whole_table ? kPartsAtOnce : kWalkParts);
  ahead_ = AheadLoad::start(table_, number, parts, options_.io_class, options_.cache);
}

bool PartWalk::reaches(size_t block) {
  if (covers(block)) return true;
  const size_t number = here_.number + 1;
  if (here_.number == SIZE_MAX || next_.number != SIZE_MAX ||
      number >= table_.top_index()->parts() || block != table_.top_index()->first_block(number)) {
    return false;
  }
  return open(number, next_) == Step::ready;
}

std::vector<BlockHandle> PartWalk::run(size_t first, size_t most) const {
  std::vector<BlockHandle> handles;
  const size_t end = std::min(first + most, table_.top_index()->parts());
  for (size_t part = first; part < end; ++part) handles.push_back(table_.top_index()->handle(part));
  return handles;
}

Bytes PartWalk::separator(size_t block) {
  const Open& in = of(block);
  const size_t i = block - in.first;
  if (i == 0) return table_.marks().separator(in.number);
  separator_.assign(in.part.prefix());
  separator_.append(in.part.separator_rest(i));
  return separator_;
}

void PartWalk::load(BlockWaiter& waiter) {
  if (ahead_ && ahead_->covers(wanted_)) {
    if (!ahead_->done()) return ahead_->wait(waiter);
    ahead_.reset();  // loaded meanwhile, so not needed; it is in the cache or read again
  }
  size_t most = walking_ ? kWalkParts : 1;
  if (options_.whole_table) most = kPartsAtOnce;
  table_.loader().start(table_.blob(), run(wanted_, most), options_.io_class, options_.cache,
                        pending_, waiter);
}

std::optional<Error> PartWalk::arrive() {
  CHECK(!pending_.under_way, "a part has not come");
  if (pending_.error) return std::exchange(pending_.error, std::nullopt);
  if (!pending_.blocks.empty()) {
    loaded_.swap(pending_.blocks);
    pending_.blocks.clear();
    loaded_first_ = wanted_;
  }
  return std::nullopt;
}

}  // namespace cellar::engine
