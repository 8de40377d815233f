#include "engine/sstable/table_iterator.h"

#include <algorithm>

#include "io/base/check.h"

namespace cellar::engine {

TableIterator::TableIterator(TableReader& table, TableIteratorOptions options)
    : table_(&table), options_(options) {
  if (options_.whole_table) ahead_bytes_ = options_.read_ahead_bytes;
}

Step TableIterator::seek(Bytes key) {
  if (options_.window != nullptr && nothing_wanted(key)) return leave_window();
  target_.assign(key);
  goal_ = Goal::at_or_after;
  begin_seek(table_->index().find(key));
  return walk();
}

Step TableIterator::seek_before(Bytes key) {
  target_.assign(key);
  goal_ = Goal::before;
  begin_seek(table_->index().find_before(key));
  return walk();
}

void TableIterator::begin_seek(size_t block) {
  walked_ = false;
  block_no_ = block;
  if (next_ && !covers_ahead(block)) next_.reset();
}

// It lies between the block at hand and the last that is on its way.
bool TableIterator::covers_ahead(size_t block) const {
  const size_t first = std::min(open_block_, next_->first_block());
  return block >= first && (block < next_->first_block() || next_->covers(block));
}

// From `key` on.
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

// Behind the last entry of a block, or an entry that is none.
Step TableIterator::leave_block(BlockReader::Move move) {
  if (move == BlockReader::Move::corrupt) return damaged();
  ++block_no_;
  goal_ = Goal::first;
  walked_ = true;
  return walk();
}

Step TableIterator::resume() {
  CHECK(blocked_ && !ticket_.under_way, "resume of an iterator whose block has not come");
  if (ticket_.error) {
    error_ = std::move(ticket_.error);
    table_->note_damage(*error_);
    ticket_.error.reset();
    blocked_ = false;
    return Step::failed;
  }
  if (next_ && next_->covers(block_no_)) return walk();
  CHECK(!ticket_.blocks.empty(), "resume of an iterator whose block was not loaded");
  ahead_.swap(ticket_.blocks);
  ticket_.blocks.clear();
  ahead_no_ = block_no_;
  if (walked_) overlap(ahead_no_ + ahead_.size());
  return walk();
}

// Goes on with goal_ from block_no_ until there is an answer.
Step TableIterator::walk() {
  error_.reset();
  blocked_ = false;
  while (block_no_ < table_->index().blocks()) {
    if (goal_ == Goal::first && is_behind_window(block_no_)) return leave_window();
    if (is_passed_over(block_no_)) {
      if (!pass_over()) break;
      continue;
    }
    Step stopped = Step::failed;
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
  return ++block_no_ < table_->index().blocks();
}

bool TableIterator::stand_on_block(Step* stopped) {
  if (open_block_ == block_no_) return true;
  open_block_ = SIZE_MAX;
  if (next_ && next_->done() && next_->covers(block_no_)) arrive();
  block_ = take_ahead();
  if (!block_) {
    block_ = table_->cached_block(block_no_);
    // Only of blocks that are met again: many of those just loaded never are.
    if (block_ && options_.one_search && goal_ == Goal::at_or_after) need_heads(block_);
  }
  if (!block_ && options_.prefetch != nullptr) {
    block_ = options_.prefetch->take(*table_, block_no_);
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
  return true;
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

void TableIterator::collect(std::vector<BlockWant*>& wants) {
  CHECK(blocked_);
  wants.push_back(this);
}

void TableIterator::plan_run(size_t block) {
  const TableIndex& index = table_->index();
  run_.clear();
  run_.push_back(index.handle(block));
  size_t bytes = run_.front().size;
  size_t unpacked = index.raw_bytes(block);
  while (++block < index.blocks() && !is_behind_window(block) && !is_passed_over(block)) {
    bytes += index.handle(block).size;
    unpacked += index.raw_bytes(block);
    if (bytes > ahead_bytes_ || unpacked > kMaxUnpackedRatio * options_.read_ahead_bytes) break;
    run_.push_back(index.handle(block));
  }
}

void TableIterator::grow_ahead() {
  if (options_.whole_table) return;
  ahead_bytes_ = std::clamp(ahead_bytes_ * 2, kFirstAheadBytes,
                            std::max(options_.read_ahead_bytes, kFirstAheadBytes));
}

void TableIterator::load(BlockWaiter& waiter) {
  if (next_ && next_->covers(block_no_)) {
    if (!next_->done()) return next_->wait(waiter);
    next_.reset();  // it came since the iterator looked; the cache has it, or it is read again
  }
  if (walked_) {
    grow_ahead();
  } else if (!options_.whole_table) {
    ahead_bytes_ = 0;
  }
  plan_run(block_no_);
  if (goal_ == Goal::before) run_.resize(1);
  table_->loader().start(table_->blob(), run_, options_.io_class, options_.cache, ticket_, waiter);
}

void TableIterator::arrive() {
  const AheadLoad::Ptr came = std::move(next_);
  if (came->failed()) return;  // whoever comes there asks again, and is told why
  const size_t passed = block_no_ - came->first_block();
  ahead_ = came->take();
  ahead_no_ = came->first_block();
  if (passed < ahead_.size()) overlap(ahead_no_ + ahead_.size());
}

void TableIterator::overlap(size_t next_block) {
  const TableIndex& index = table_->index();
  if (options_.whole_table || ahead_bytes_ < kOverlapBytes || next_block >= index.blocks()) return;
  if (next_ && next_->covers(next_block)) return;
  if (is_behind_window(next_block) || is_passed_over(next_block)) return;
  if (table_->has_cached_block(next_block)) return;
  // A large cell is a block: one of them is enough.
  if (index.raw_bytes(next_block) > options_.read_ahead_bytes) return;
  grow_ahead();
  plan_run(next_block);
  next_ = AheadLoad::start(*table_, next_block, run_, options_.io_class, options_.cache);
}

// The bytes passed their checksum and are still no block.
Step TableIterator::damaged() {
  const uint64_t offset = table_->index().handle(block_no_).offset;
  error_ = Error(Errc::data_loss, fmt::format("{} is malformed", block_name(table_->id(), offset)));
  table_->note_damage(*error_);
  open_block_ = SIZE_MAX;
  return Step::failed;
}

}  // namespace cellar::engine
