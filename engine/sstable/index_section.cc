#include "engine/sstable/index_section.h"

#include <algorithm>
#include <utility>

#include "engine/index/index_key.h"
#include "io/base/check.h"
#include "io/base/crc32c.h"

namespace cellar::engine {

SectionWriter::SectionWriter(const Options& options, std::string& out, uint64_t& offset)
    : options_(options), out_(out), offset_(offset), levels_(1) {
  section_.offset = offset;
}

void SectionWriter::add(Bytes key, Bytes value) {
  const size_t common = section_.entries == 0 ? 0 : common_prefix(last_key_, key) + 1;
  ++section_.entries;
  add_to(0, key.substr(0, common), key, value);
  last_key_.assign(key);
}

// `separator` is that of a block that begins with the entry.
void SectionWriter::add_to(size_t level, Bytes separator, Bytes key, Bytes value) {
  if (is_full(level, key.size() + value.size())) cut(level);
  if (levels_[level].block.empty()) levels_[level].separator.assign(separator);
  levels_[level].block.add(key, value);
}

// With fewer entries in a node, long separators would make a tree that does not become narrower.
bool SectionWriter::is_full(size_t level, size_t entry_bytes) const {
  const BlockWriter& block = levels_[level].block;
  if (level == 0) return !block.empty() && block.bytes() + entry_bytes > options_.block_bytes;
  return block.entries() >= kLeastNodeEntries &&
         block.bytes() + entry_bytes > kNodeBlocks * options_.block_bytes;
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
  const std::string separator = levels_[level].separator;
  add_to(level + 1, separator, separator, place);
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
    // Everything in a section can be made again from the table's cells.
    if (error_->code == Errc::data_loss) table_->note_tail_damage();
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

// Opens the way to the last leaf whose separator is before `key`; if it is the first one, to that.
std::optional<Step> SectionIterator::find_leaf(Bytes key) {
  if (auto stopped = open(0, root_)) return stopped;
  for (size_t level = 0; level + 1 < levels_.size(); ++level) {
    BlockReader& node = levels_[level].cursor;
    BlockReader::Move moved = node.seek_before(key);
    if (moved == BlockReader::Move::end) moved = node.seek_first();
    if (moved != BlockReader::Move::ready) return damaged(level);
    if (auto stopped = open_child(level)) return stopped;
  }
  return std::nullopt;
}

// The target is in the last leaf whose separator is not after it, or begins the next one.
Step SectionIterator::seek_forwards() {
  bound_.assign(target_);
  bound_.push_back('\0');
  if (auto stopped = find_leaf(bound_)) return *stopped;
  const BlockReader::Move moved = levels_.back().cursor.seek(target_);
  if (moved == BlockReader::Move::corrupt) return damaged(levels_.size() - 1);
  return moved == BlockReader::Move::ready ? Step::ready : step_forward();
}

Step SectionIterator::seek_backwards() {
  if (auto stopped = find_leaf(target_)) return *stopped;
  const BlockReader::Move moved = levels_.back().cursor.seek_before(target_);
  if (moved == BlockReader::Move::corrupt) return damaged(levels_.size() - 1);
  return moved == BlockReader::Move::ready ? Step::ready : step_back();
}

// To the first entry after the present leaf.
Step SectionIterator::step_forward() {
  for (size_t level = levels_.size() - 1; level > 0; --level) {
    const BlockReader::Move moved = levels_[level - 1].cursor.next();
    if (moved == BlockReader::Move::corrupt) return damaged(level - 1);
    if (moved == BlockReader::Move::end) continue;
    for (; level < levels_.size(); ++level) {
      if (auto stopped = open_child(level - 1)) return *stopped;
      if (levels_[level].cursor.seek_first() != BlockReader::Move::ready) return damaged(level);
    }
    return Step::ready;
  }
  return Step::end;
}

// To the last entry before the present leaf.
Step SectionIterator::step_back() {
  for (size_t level = levels_.size() - 1; level > 0; --level) {
    BlockReader& node = levels_[level - 1].cursor;
    bound_.assign(node.key());
    const BlockReader::Move moved = node.seek_before(bound_);
    if (moved == BlockReader::Move::corrupt) return damaged(level - 1);
    if (moved == BlockReader::Move::end) continue;
    for (; level < levels_.size(); ++level) {
      if (auto stopped = open_child(level - 1)) return *stopped;
      BlockReader& below = levels_[level].cursor;
      if (below.seek_before(end_of_index_keys()) != BlockReader::Move::ready) return damaged(level);
    }
    return Step::ready;
  }
  return Step::end;
}

// Opens the block below the node's present entry.
std::optional<Step> SectionIterator::open_child(size_t level) {
  const auto child = child_at(levels_[level].cursor.value(), levels_[level].handle.offset);
  if (!child) return damaged(level);
  return open(level + 1, *child);
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
  at.ref.reset();
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
  return Step::failed;
}

}  // namespace cellar::engine
