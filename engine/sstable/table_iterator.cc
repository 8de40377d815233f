#include "engine/sstable/table_iterator.h"

#include <algorithm>
#include <utility>

#include "io/base/check.h"

namespace cellar::engine {

TableIterator::TableIterator(TableReader& table, TableIteratorOptions options)
    : table_(&table),
      options_(options),
      index_(table, {options.io_class, options.cache, options.whole_table, options.prefetch}) {
  if (options_.whole_table) ahead_bytes_ = options_.read_ahead_bytes;
}

Step TableIterator::seek(Bytes key) {
  if (options_.window != nullptr && nothing_wanted(key)) return leave_window();
  target_.assign(key);
  goal_ = Goal::at_or_after;
  begin_seek(table_->marks().find(key));
  return walk();
}

Step TableIterator::seek_before(Bytes key) {
  target_.assign(key);
  goal_ = Goal::before;
  begin_seek(table_->marks().find_before(key));
  return walk();
}

void TableIterator::begin_seek(size_t mark) {
  walked_ = false;
  unplaced_ = index_.parts() != nullptr;
  if (unplaced_) {
    part_no_ = mark;
  } else {
    block_no_ = mark;
    drop_ahead_unless_near();
  }
}

void TableIterator::drop_ahead_unless_near() {
  if (next_ && !covers_ahead(block_no_)) next_.reset();
}

// It lies between the current block and the last one in flight.
bool TableIterator::covers_ahead(size_t block) const {
  const size_t first = std::min(open_block_, next_->first_block());
  return block >= first && (block < next_->first_block() || next_->covers(block));
}

// Nothing at or after `key` is wanted.
bool TableIterator::nothing_wanted(Bytes key) const {
  const ReadWindow& window = *options_.window;
  return window.ends_before(key) ||
         (window.row() != nullptr && !table_->may_contain(*window.row()));
}

Step TableIterator::leave_window() {
  error_.reset();
  blocked_ = false;
  options_.window->leave();
  return Step::end;
}

// After the last entry of a block, or at an invalid entry.
Step TableIterator::leave_block(BlockReader::Move move) {
  if (move == BlockReader::Move::corrupt) return damaged();
  ++block_no_;
  goal_ = Goal::first;
  walked_ = true;
  return walk();
}

Step TableIterator::resume() {
  CHECK(blocked_ && !pending_.under_way, "resume of an iterator whose block has not come");
  std::optional<Error> error = std::exchange(pending_.error, std::nullopt);
  const bool came_part = std::exchange(wants_part_, false);
  if (came_part) error = index_.parts()->arrive();
  if (error) {
    error_ = std::move(error);
    table_->note_damage(*error_);
    blocked_ = false;
    return Step::failed;
  }
  if (came_part) return walk();
  if (next_ && next_->covers(block_no_)) return walk();
  CHECK(!pending_.blocks.empty(), "resume of an iterator whose block was not loaded");
  ahead_.swap(pending_.blocks);
  pending_.blocks.clear();
  ahead_no_ = block_no_;
  if (walked_) overlap(ahead_no_ + ahead_.size());
  return walk();
}

// Continues with goal_ from block_no_ until there is a result.
Step TableIterator::walk() {
  error_.reset();
  blocked_ = wants_part_ = false;
  while (unplaced_ || block_no_ < index_.blocks()) {
    Step stopped = Step::failed;
    if ((unplaced_ || !index_.stands_on(block_no_)) && !stand_on_part(&stopped)) return stopped;
    if (goal_ == Goal::first && is_behind_window(block_no_)) return leave_window();
    if (is_passed_over(block_no_)) {
      if (!pass_over()) break;
      continue;
    }
    if (!stand_on_block(&stopped)) return stopped;
    BlockReader::Move move = BlockReader::Move::corrupt;
    if (goal_ == Goal::first) move = cursor_.seek_first();
    if (goal_ == Goal::at_or_after) move = cursor_.seek(target_.view());
    if (goal_ == Goal::before) move = cursor_.seek_before(target_.view());
    if (move == BlockReader::Move::ready) return Step::ready;
    if (move == BlockReader::Move::corrupt) return damaged();
    if (!pass_over()) break;
  }
  return Step::end;
}

bool TableIterator::pass_over() {
  if (goal_ == Goal::before) {
    if (block_no_ == 0) return false;
    --block_no_;
    return true;
  }
  goal_ = Goal::first;
  return ++block_no_ < index_.blocks();
}

bool TableIterator::stand_on_part(Step* stopped) {
  PartWalk& parts = *index_.parts();
  while (true) {
    *stopped = Step::end;
    if (table_->top_index()->parts() == 0) {
      unplaced_ = false;
      return false;
    }
    const size_t part = unplaced_ ? part_no_ : table_->top_index()->part_of(block_no_);
    if (!unplaced_ && goal_ == Goal::first && options_.window != nullptr &&
        options_.window->ends_before(table_->marks().separator(part))) {
      *stopped = leave_window();
      return false;
    }
    if (!options_.times.everything() && options_.times.excludes(table_->marks().bounds(part))) {
      if (!pass_over_part(part)) return false;
      continue;
    }
    const PartWalk::Step step = parts.stand_on(part);
    if (step == PartWalk::Step::malformed) {
      *stopped = damaged(table_->top_index()->handle(part).offset);
      return false;
    }
    if (step == PartWalk::Step::absent) {
      blocked_ = wants_part_ = true;
      *stopped = Step::blocked;
      return false;
    }
    return !unplaced_ || place(stopped);
  }
}

// Skips a part without wanted entries; false if there is nothing after it in this move's direction.
bool TableIterator::pass_over_part(size_t part) {
  const TopLevelIndex& top_index = *table_->top_index();
  unplaced_ = false;
  if (goal_ == Goal::before) {
    if (part == 0) return false;
    block_no_ = top_index.first_block(part) - 1;
    return true;
  }
  goal_ = Goal::first;
  block_no_ = part + 1 < top_index.parts() ? top_index.first_block(part + 1) : top_index.blocks();
  return block_no_ < top_index.blocks();
}

// The part for a seek is loaded: determines the block, or that the row is absent.
bool TableIterator::place(Step* stopped) {
  const PartWalk& parts = *index_.parts();
  const IndexPartition& part = parts.part();
  unplaced_ = false;
  const bool in_window = options_.window != nullptr && options_.window->row() != nullptr;
  const RowProbe* probe = in_window ? options_.window->row() : options_.probe;
  if (goal_ == Goal::at_or_after && probe != nullptr &&
      !table_->may_contain(*probe, part, part_no_)) {
    *stopped = in_window ? leave_window() : Step::end;
    return false;
  }
  const size_t i =
      goal_ == Goal::before ? part.find_before(target_.view()) : part.find(target_.view());
  block_no_ = parts.first_block() + i;
  drop_ahead_unless_near();
  return true;
}

bool TableIterator::stand_on_block(Step* stopped) {
  if (open_block_ == block_no_) return true;
  open_block_ = SIZE_MAX;
  const BlockHandle handle = index_.handle(block_no_);
  if (handle.size == 0) {
    *stopped = damaged();
    return false;
  }
  if (next_ && next_->done() && next_->covers(block_no_)) arrive();
  block_ = take_ahead();
  if (!block_) {
    block_ = table_->cached_block(block_no_, handle.offset);
    // Only for blocks that are used again: many newly loaded ones never are.
    if (block_ && options_.one_search && goal_ == Goal::at_or_after) need_heads(block_);
  }
  if (!block_ && options_.prefetch != nullptr) {
    block_ = options_.prefetch->take(*table_, handle.offset);
  }
  if (!block_) {
    blocked_ = true;
    *stopped = Step::blocked;
    return false;
  }
  if (!cursor_.open(block_->contents(), &block_->heads())) {
    *stopped = damaged();
    return false;
  }
  open_block_ = block_no_;
  if (goal_ == Goal::first) expect_next_block();
  return true;
}

// Loads the next block of a forward walk ahead, if the walk will read it.
void TableIterator::expect_next_block() {
  const size_t next = block_no_ + 1;
  if (next >= index_.blocks() || !index_.reaches(next)) return;
  if (!is_behind_window(next) && !is_passed_over(next)) table_->expect_walk(next);
}

BlockRef TableIterator::take_ahead() {
  if (ahead_.empty()) return {};
  if (block_no_ < ahead_no_ || block_no_ - ahead_no_ >= ahead_.size()) {
    ahead_.clear();
    return {};
  }
  BlockRef taken = std::move(ahead_[block_no_ - ahead_no_]);
  if (!taken || block_no_ - ahead_no_ + 1 == ahead_.size()) ahead_.clear();
  return taken;
}

void TableIterator::collect(std::vector<BlockRequest*>& requests) {
  CHECK(blocked_);
  requests.push_back(this);
}

void TableIterator::plan_run(size_t block) {
  run_.clear();
  run_.push_back(index_.handle(block));
  size_t bytes = run_.front().size;
  size_t unpacked = index_.raw_bytes(block);
  while (++block < index_.blocks() && index_.reaches(block) && !is_behind_window(block) &&
         !is_passed_over(block)) {
    const BlockHandle handle = index_.handle(block);
    bytes += handle.size;
    unpacked += index_.raw_bytes(block);
    if (handle.size == 0 || bytes > ahead_bytes_ ||
        unpacked > kMaxUnpackedRatio * options_.read_ahead_bytes) {
      break;
    }
    run_.push_back(handle);
  }
}

void TableIterator::grow_ahead() {
  if (options_.whole_table) return;
  ahead_bytes_ = std::clamp(ahead_bytes_ * 2, kFirstAheadBytes,
                            std::max(options_.read_ahead_bytes, kFirstAheadBytes));
}

void TableIterator::load(BlockWaiter& waiter) {
  if (wants_part_) return index_.parts()->load(waiter);
  if (next_ && next_->covers(block_no_)) {
    if (!next_->done()) return next_->wait(waiter);
    next_.reset();  // loaded since the iterator looked; it is in the cache or read again
  }
  if (walked_) {
    grow_ahead();
  } else if (!options_.whole_table) {
    ahead_bytes_ = 0;
  }
  plan_run(block_no_);
  if (goal_ == Goal::before) run_.resize(1);
  table_->loader().start(table_->blob(), run_, options_.io_class, options_.cache, pending_, waiter);
}

void TableIterator::arrive() {
  const AheadLoad::Ptr came = std::move(next_);
  if (came->failed()) return;  // the iterator requests it again and gets the error
  const size_t passed = block_no_ - came->first_block();
  ahead_ = came->take();
  ahead_no_ = came->first_block();
  if (passed < ahead_.size()) overlap(ahead_no_ + ahead_.size());
}

void TableIterator::overlap(size_t next_block) {
  if (options_.whole_table || ahead_bytes_ < kOverlapBytes) return;
  if (next_block >= index_.blocks() || !index_.reaches(next_block)) return;
  if (next_ && next_->covers(next_block)) return;
  if (is_behind_window(next_block) || is_passed_over(next_block)) return;
  const BlockHandle handle = index_.handle(next_block);
  if (handle.size == 0 || table_->has_cached(handle.offset)) return;
  // A large cell is a block of its own: one is enough.
  if (index_.raw_bytes(next_block) > options_.read_ahead_bytes) return;
  grow_ahead();
  plan_run(next_block);
  next_ = AheadLoad::start(*table_, next_block, run_, options_.io_class, options_.cache);
}

// The bytes passed their checksum but are not a valid block.
Step TableIterator::damaged(uint64_t offset) {
  error_ = table_->is_lost()
               ? *table_->damage()
               : Error(Errc::data_loss,
                       fmt::format("{} is malformed", block_name(table_->id(), offset)));
  table_->note_damage(*error_);
  open_block_ = SIZE_MAX;
  return Step::failed;
}

}  // namespace cellar::engine
