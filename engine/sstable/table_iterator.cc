#include "engine/sstable/table_iterator.h"

#include <algorithm>

#include "io/base/check.h"

namespace cellar::engine {
namespace {

constexpr size_t kFirstReadAheadBytes = 16 * 1024;

}  // namespace

TableIterator::TableIterator(TableReader& table, TableIteratorOptions options)
    : table_(&table), options_(options) {
  if (options_.whole_table) ahead_bytes_ = options_.read_ahead_bytes;
}

Step TableIterator::seek(Bytes key) {
  if (options_.window != nullptr && nothing_wanted(key)) return leave_window();
  target_.assign(key);
  goal_ = Goal::at_or_after;
  walked_ = false;
  block_no_ = table_->index().find(key);
  return walk();
}

Step TableIterator::seek_before(Bytes key) {
  target_.assign(key);
  goal_ = Goal::before;
  walked_ = false;
  block_no_ = table_->index().find_before(key);
  return walk();
}

// From `key` on.
bool TableIterator::nothing_wanted(Bytes key) const {
  const ReadWindow& window = *options_.window;
  return window.ends_before(key) || (window.row() && !table_->may_contain_row(*window.row()));
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
  CHECK(!ticket_.blocks.empty(), "resume of an iterator whose block was not loaded");
  ahead_.swap(ticket_.blocks);
  ticket_.blocks.clear();
  ahead_no_ = block_no_;
  return walk();
}

// Goes on with goal_ from block_no_ until there is an answer.
Step TableIterator::walk() {
  error_.reset();
  blocked_ = false;
  while (block_no_ < table_->index().blocks()) {
    if (goal_ == Goal::first && is_behind_window(block_no_)) return leave_window();
    Step stopped = Step::failed;
    if (!stand_on_block(&stopped)) return stopped;
    BlockReader::Move move = BlockReader::Move::corrupt;
    if (goal_ == Goal::first) move = cursor_.seek_first();
    if (goal_ == Goal::at_or_after) move = cursor_.seek(target_.view());
    if (goal_ == Goal::before) move = cursor_.seek_before(target_.view());
    if (move == BlockReader::Move::ready) return Step::ready;
    if (move == BlockReader::Move::corrupt) return damaged();
    if (goal_ == Goal::before) {
      if (block_no_ == 0) break;
      --block_no_;
    } else {
      ++block_no_;
      goal_ = Goal::first;
    }
  }
  return Step::end;
}

bool TableIterator::stand_on_block(Step* stopped) {
  if (open_block_ == block_no_) return true;
  open_block_ = SIZE_MAX;
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

// How many blocks the next device read takes.
size_t TableIterator::run_length() const {
  if (ahead_bytes_ == 0) return 1;
  const TableIndex& index = table_->index();
  size_t n = 1;
  size_t bytes = index.handle(block_no_).size;
  while (block_no_ + n < index.blocks() && !is_behind_window(block_no_ + n)) {
    bytes += index.handle(block_no_ + n).size;
    if (bytes > ahead_bytes_) break;
    ++n;
  }
  return n;
}

void TableIterator::load(BlockWaiter& waiter) {
  if (!options_.whole_table) {
    ahead_bytes_ = walked_ ? std::clamp(ahead_bytes_ * 2, kFirstReadAheadBytes,
                                        std::max(options_.read_ahead_bytes, kFirstReadAheadBytes))
                           : 0;
  }
  run_.clear();
  const size_t n = goal_ == Goal::before ? 1 : run_length();
  for (size_t i = 0; i < n; ++i) run_.push_back(table_->index().handle(block_no_ + i));
  table_->loader().start(table_->blob(), run_, options_.io_class, options_.cache, ticket_, waiter);
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
