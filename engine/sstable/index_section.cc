#include "engine/sstable/index_section.h"

#include <algorithm>
#include <utility>

#include "io/base/check.h"
#include "io/base/crc32c.h"

namespace cellar::engine {

SectionWriter::SectionWriter(const Options& options, std::string& out, uint64_t& offset)
    : options_(options), out_(out), offset_(offset), levels_(1) {
  section_.offset = offset;
}

void SectionWriter::add(Bytes key, Bytes value) {
  ++section_.entries;
  add_to(0, key, value);
}

void SectionWriter::add_to(size_t level, Bytes key, Bytes value) {
  const BlockWriter& block = levels_[level].block;
  // With fewer entries in a node, long keys would make a tree that does not become narrower.
  const size_t least = level == 0 ? 1 : kLeastNodeEntries;
  if (block.entries() >= least && block.bytes() + key.size() + value.size() > options_.block_bytes)
    cut(level);
  levels_[level].block.add(key, value);
  levels_[level].last_key.assign(key);
}

BlockHandle SectionWriter::cut(size_t level) {
  BlockHandle handle;
  handle.offset = offset_;
  const size_t begin = out_.size();
  handle.size =
      append_block(out_, levels_[level].block.finish(), options_.compress, options_.blob, offset_);
  offset_ += handle.size;
  section_.checksum = crc32c(Bytes(out_).substr(begin), section_.checksum);
  levels_[level].block.reset();
  ++levels_[level].blocks;
  std::string place;
  put_varint(place, handle.offset);
  put_varint(place, handle.size);
  if (level + 1 == levels_.size()) levels_.emplace_back();
  const std::string last_key = levels_[level].last_key;  // adding may move levels_
  add_to(level + 1, last_key, place);
  return handle;
}

IndexSection SectionWriter::finish() {
  if (section_.entries == 0) return {};
  // The lowest level that has one block in all is the root.
  for (size_t level = 0;; ++level) {
    const bool is_root = levels_[level].blocks == 0;
    const BlockHandle last = cut(level);
    if (!is_root) continue;
    section_.root = last;
    section_.levels = static_cast<uint32_t>(level + 1);
    return section_;
  }
}

SectionIterator::SectionIterator(TableReader& table, const IndexSection& section)
    : table_(&table), root_(section.root), begin_(section.offset), levels_(section.levels) {
  CHECK(section.root.size != 0, "a section without entries is read");
}

Step SectionIterator::seek(Bytes key) {
  goal_ = Goal::at_or_after;
  target_.assign(key);
  walking_ = false;
  return move();
}

Step SectionIterator::seek_before(Bytes key) {
  goal_ = Goal::before;
  target_.assign(key);
  walking_ = false;
  return move();
}

Step SectionIterator::next() {
  BlockReader& leaf = levels_.back().cursor;
  const BlockReader::Move moved = leaf.next();
  if (moved == BlockReader::Move::ready) return Step::ready;
  if (moved == BlockReader::Move::corrupt) return damaged(levels_.size() - 1);
  goal_ = Goal::at_or_after;
  target_.assign(leaf.key());
  target_.push_back('\0');
  walking_ = true;
  return move();
}

Step SectionIterator::resume() {
  CHECK(!pending_.under_way, "resume of an iterator whose block has not come");
  if (pending_.error) {
    error_ = std::exchange(pending_.error, std::nullopt);
    if (error_->code == Errc::data_loss) table_->note_section_damage();
    return Step::failed;
  }
  std::ranges::move(pending_.blocks, std::back_inserter(loaded_));
  pending_.blocks.clear();
  return move();
}

void SectionIterator::collect(std::vector<BlockRequest*>& requests) { requests.push_back(this); }

Step SectionIterator::move() {
  error_.reset();
  const Step step = goal_ == Goal::at_or_after ? seek_forwards() : seek_backwards();
  if (step != Step::blocked) loaded_.clear();
  return step;
}

Step SectionIterator::seek_forwards() {
  if (auto stopped = open(0, root_)) return *stopped;
  for (size_t level = 0;; ++level) {
    const BlockReader::Move moved = levels_[level].cursor.seek(target_);
    if (moved == BlockReader::Move::corrupt) return damaged(level);
    if (moved == BlockReader::Move::end) return level == 0 ? Step::end : damaged(level);
    if (level + 1 == levels_.size()) return Step::ready;
    const auto child = child_of(level);
    if (!child) return damaged(level);
    if (auto stopped = open(level + 1, *child)) return *stopped;
  }
}

// The leaf that would have the target has the entry before it, or is the leaf after it.
Step SectionIterator::seek_backwards() {
  if (auto stopped = open(0, root_)) return *stopped;
  size_t level = 0;
  while (true) {
    BlockReader& cursor = levels_[level].cursor;
    const bool leaf = level + 1 == levels_.size();
    BlockReader::Move moved = leaf ? cursor.seek_before(target_) : cursor.seek(target_);
    // Everything below is before the target.
    if (!leaf && moved == BlockReader::Move::end) moved = cursor.seek_before(target_);
    if (moved == BlockReader::Move::corrupt) return damaged(level);
    if (moved == BlockReader::Move::end) {
      if (auto stopped = step_back(level)) return *stopped;
      return Step::ready;
    }
    if (leaf) return Step::ready;
    const auto child = child_of(level);
    if (!child) return damaged(level);
    if (auto stopped = open(++level, *child)) return *stopped;
  }
}

// Nothing at or below this level is before the target: moves to the last entry before its block.
std::optional<Step> SectionIterator::step_back(size_t level) {
  while (level > 0) {
    BlockReader& above = levels_[--level].cursor;
    const std::string at(above.key());
    const BlockReader::Move moved = above.seek_before(at);
    if (moved == BlockReader::Move::corrupt) return damaged(level);
    if (moved == BlockReader::Move::ready) return descend(level, above.key());
  }
  return Step::end;
}

// To the entry `key`, the last one below the present entry of the level. Another one might not be
// before the target.
std::optional<Step> SectionIterator::descend(size_t level, Bytes key) {
  const std::string last(key);
  while (level + 1 < levels_.size()) {
    const auto child = child_of(level);
    if (!child) return damaged(level);
    if (auto stopped = open(++level, *child)) return stopped;
    BlockReader& cursor = levels_[level].cursor;
    if (cursor.seek(last) != BlockReader::Move::ready || cursor.key() != last)
      return damaged(level);
  }
  return std::nullopt;
}

std::optional<BlockHandle> SectionIterator::child_of(size_t level) const {
  return child_at(levels_[level].cursor.value(), levels_[level].handle.offset);
}

// Children lie before their parents.
std::optional<BlockHandle> SectionIterator::child_at(Bytes place, uint64_t parent_offset) const {
  Reader in(place);
  BlockHandle handle;
  handle.offset = in.varint();
  const uint64_t size = in.varint();
  if (!in.ok() || !in.at_end() || handle.offset < begin_ || handle.offset >= parent_offset ||
      size <= kBlockTrailerBytes || size > parent_offset - handle.offset) {
    return std::nullopt;
  }
  handle.size = static_cast<uint32_t>(size);
  return handle;
}

std::optional<Step> SectionIterator::open(size_t level, const BlockHandle& handle) {
  Level& at = levels_[level];
  if (at.ref && at.handle == handle) return std::nullopt;
  at.ref = find(handle);
  at.handle = handle;
  if (!at.ref) {
    wanted_ = handle;
    wanted_level_ = level;
    return Step::blocked;
  }
  need_heads(at.ref);
  if (at.cursor.open(at.ref->contents(), &at.ref->heads())) return std::nullopt;
  at.ref.reset();  // the next move tries again
  return damaged(level);
}

BlockRef SectionIterator::find(const BlockHandle& handle) {
  const auto came = std::ranges::find_if(
      loaded_, [&handle](const BlockRef& block) { return block->key().offset == handle.offset; });
  if (came != loaded_.end()) return *came;
  return table_->loader().cache().find({table_->id(), handle.offset});
}

// A walk loads the next leaves too, as far as they are neighbours.
void SectionIterator::load(BlockWaiter& waiter) {
  std::vector<BlockHandle> run{wanted_};
  if (walking_ && wanted_level_ > 0 && wanted_level_ + 1 == levels_.size()) add_next_leaves(run);
  table_->loader().start(table_->blob(), run, IoClass::read, CacheUse::keep, pending_, waiter);
}

void SectionIterator::add_next_leaves(std::vector<BlockHandle>& run) const {
  const Level& parent = levels_[wanted_level_ - 1];
  BlockReader ahead;
  if (!ahead.open(parent.ref->contents())) return;
  BlockReader::Move moved = ahead.seek(parent.cursor.key());
  while (moved == BlockReader::Move::ready && run.size() < kLeavesAtOnce) {
    moved = ahead.next();
    if (moved != BlockReader::Move::ready) return;
    const auto leaf = child_at(ahead.value(), parent.handle.offset);
    if (!leaf || leaf->offset != run.back().end()) return;
    run.push_back(*leaf);
  }
}

Step SectionIterator::damaged(size_t level) {
  error_ =
      Error(Errc::data_loss, fmt::format("{}: an index section is malformed",
                                         block_name(table_->id(), levels_[level].handle.offset)));
  table_->note_section_damage();
  return Step::failed;
}

}  // namespace cellar::engine
